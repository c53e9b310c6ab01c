"""Names of transcripts in a run folder."""

from __future__ import annotations

from typing import Final

TRANSCRIPTS: Final = "transcripts"
MAIN_FILE: Final = "main.jsonl"
DELETED: Final = ".deleted."
"""Behind the name of a transcript that a gateway has archived; the time is behind it."""


def transcript_name(agent_id: str, *, is_main: bool) -> str:
    """Return the name of an agent's transcript in its run folder."""
    return MAIN_FILE if is_main else f"agent-{agent_id}.jsonl"
