"""What a person may call by `/name` in a headless run: the skills, the prompts of MCP servers, and `/compact` (agents 4.41, 13.30).

Must not know: how any of them is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, final

import attrs

from greenroom.session import Session

COMPACT: Final = "compact"
_CALL: Final = re.compile(rf"/{COMPACT}(?:\s(?P<focus>.*))?", re.DOTALL)


@final
@attrs.frozen
class Command:
    """Something that may be called."""

    name: str
    description: str
    argument_hint: str = ""


def commands_of(session: Session) -> Iterator[Command]:
    """Return what may be called in a session now; nothing where there are no slash commands."""
    if not session.has_commands:
        return
    if COMPACT not in session.skills:
        yield Command(COMPACT, "Put a summary in the place of the conversation.", "[what to look at]")
    for skill in session.skills.values():
        if skill.for_users:
            yield Command(skill.name, skill.description, skill.argument_hint)
    for prompt in session.servers.prompts:
        yield Command(prompt.name, prompt.description, prompt.argument_hint)


def focus_of(text: str, session: Session) -> str | None:
    """Return what a prompt `/compact [focus]` asks a summary to look at, empty for nothing; None for any other prompt."""
    found = _CALL.fullmatch(text.strip())
    if found is None or not session.has_commands or COMPACT in session.skills:
        return None
    return (found["focus"] or "").strip()
