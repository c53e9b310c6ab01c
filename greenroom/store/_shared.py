"""The shared beginning of a fork: a reference into another transcript of the same folder, in place of copied lines.

A fork's transcript begins with one line that names the file, the last shared message in it, and the number of messages
up to that; its own lines follow. Files are only appended to, so the shared part stays as it is, whatever the parent
says or compacts later. The line has the format of the leading coding agent's forks, plus the file name.
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
    """The beginning of a conversation, in another agent's transcript."""

    transcript: str
    """Name of the file, in the same folder."""
    last_uuid: str
    """Uuid of the last shared message."""
    lines: int
    """Number of messages, from the parent's last compaction before it; messages that the parent itself shares count."""
    session_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the line."""
        return {
            "parentSessionId": self.session_id,
            "parentTranscript": self.transcript,
            "parentLastUuid": self.last_uuid,
            "contextLength": self.lines,
        }


def read_shared(line: Mapping[str, Any], *, source: str) -> SharedPrefix:
    """Return the reference of a line.

    Args:
        line: A line of type `fork-context-ref`.
        source: Name of its file.

    Raises:
        UsageError: A field is missing or invalid, or leads out of the folder.
    """
    name, last, lines = line.get("parentTranscript"), line.get("parentLastUuid"), line.get("contextLength")
    if not isinstance(name, str) or not name.endswith(".jsonl") or "/" in name or "\\" in name or "\0" in name:
        raise _unreadable(source, f"parentTranscript must be the name of a file beside it, got {name!r}")
    if not isinstance(last, str) or not last:
        raise _unreadable(source, f"parentLastUuid must be the uuid of a message, got {last!r}")
    if type(lines) is not int or lines < 1:
        raise _unreadable(source, f"contextLength must be a number of messages, got {lines!r}")
    return SharedPrefix(transcript=name, last_uuid=last, lines=lines, session_id=str(line.get("parentSessionId") or ""))


def not_there(source: str, shared: SharedPrefix, why: str) -> UsageError:
    """Return the error for a fork whose beginning cannot be read."""
    return UsageError(
        f"the fork in {source!r} begins with {shared.lines} messages of {shared.transcript!r}, but {why}; "
        "restore that file, or start another fork"
    )


def _unreadable(source: str, why: str) -> UsageError:
    return UsageError(f"the fork in {source!r} has an invalid beginning: {why}")
