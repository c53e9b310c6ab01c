"""What a fork shares with its parent: a place in another transcript of the same folder, instead of the same lines again.

Rule 1: a fork's transcript begins with one line that names the file, the last message in it that is shared, and how many
messages there are up to it; its own lines follow. Rule 2: files are only ever appended to, so that what is pointed to stays
as it is, whatever the parent says or compacts later. The line is that of the leading coding agent's forks, and names the file
besides.
Must not know: how files are read, models, agents, Trio.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError

FORK_REF: Final = "fork-context-ref"
"""The `type` of the line."""


@final
@attrs.frozen(kw_only=True)
class SharedPrefix:
    """The beginning of a conversation that stands in another agent's transcript."""

    transcript: str
    """Name of the file, in the same folder."""
    last_uuid: str
    """Of the last message that belongs to it."""
    lines: int
    """How many messages it has, from the parent's last compaction before that one on; those that the parent shares itself count."""
    session_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return what the line says of it."""
        return {
            "parentSessionId": self.session_id,
            "parentTranscript": self.transcript,
            "parentLastUuid": self.last_uuid,
            "contextLength": self.lines,
        }


def read_shared(line: Mapping[str, Any], *, source: str) -> SharedPrefix:
    """Return what a line points to.

    Args:
        line: Of the type `fork-context-ref`.
        source: The name of its file.

    Raises:
        UsageError: It does not say it, or leads out of the folder.
    """
    name, last, lines = line.get("parentTranscript"), line.get("parentLastUuid"), line.get("contextLength")
    if not isinstance(name, str) or not name.endswith(".jsonl") or "/" in name or "\\" in name or "\0" in name:
        raise _unreadable(source, f"parentTranscript is {name!r}, and has to be the name of a file beside it")
    if not isinstance(last, str) or not last:
        raise _unreadable(source, f"parentLastUuid is {last!r}, and has to be the uuid of a message")
    if type(lines) is not int or lines < 1:
        raise _unreadable(source, f"contextLength is {lines!r}, and has to be a number of messages")
    return SharedPrefix(transcript=name, last_uuid=last, lines=lines, session_id=str(line.get("parentSessionId") or ""))


def not_there(source: str, shared: SharedPrefix, why: str) -> UsageError:
    """Return the error of a fork whose beginning cannot be read."""
    return UsageError(
        f"the fork in {source!r} begins with {shared.lines} messages of {shared.transcript!r}, and {why}; "
        "put that file back as it was, or start another fork"
    )


def _unreadable(source: str, why: str) -> UsageError:
    return UsageError(f"the fork in {source!r} does not say what it begins with: {why}")
