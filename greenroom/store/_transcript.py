"""Transcripts: an append-only log of a conversation, one JSON object a line.

Rule 1: a line is never changed. Rule 2: who writes and when it is durable is the caller's: bytes go out through a
function. Rule 3: what a crash tore is closed with a newline, and readers leave it out. The line format keeps the stable
core of the leading coding agent's transcripts, so that tools which read those read these.
Must not know: models, agents, Trio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core import Ids
from greenroom.store._shared import FORK_REF, SharedPrefix

Line: TypeAlias = dict[str, Any]

DEEPEST: Final = 200
"""What is nested more deeply is written as text; orjson gives up at 254 levels."""


@attrs.frozen(kw_only=True)
class TranscriptHeader:
    """What every line of one transcript says."""

    session_id: str
    agent_id: str
    is_sidechain: bool
    """False for the main agent's conversation."""
    cwd: str
    """The folder in which the agent works at first; see `Transcript.move`."""
    version: str
    branch: str = ""
    """The branch of git that the session began on; empty where it is not known, and then no line has one."""


@final
class Transcript:
    """Appends the lines of one conversation, each linked to the one before.

    Args:
        path: The file; it is named after an id of ours.
        header: What every line says.
        write: Takes the file's path and the bytes of a line; it may only store them, and wake a writer.
        ids: Where the ids of the lines come from.
        wall: Reads the date and time, in UTC.
    """

    def __init__(
        self,
        path: Path,
        header: TranscriptHeader,
        *,
        write: Callable[[Path, bytes], None],
        ids: Ids,
        wall: Callable[[], datetime],
        last_uuid: str | None = None,
    ) -> None:
        self.path = path
        self.header = header
        self._base: Final[Line] = {
            "parentUuid": None,
            "isSidechain": header.is_sidechain,
            "userType": "external",
            "cwd": header.cwd,
            "sessionId": header.session_id,
            "version": header.version,
            **({"gitBranch": header.branch} if header.branch else {}),
            "agentId": header.agent_id,
        }
        self._write = write
        self._ids = ids
        self._wall = wall
        self._last_uuid = last_uuid
        self._is_torn = False
        self._second: tuple[datetime, datetime, str] | None = None
        """Beginning, end and text of the second of the line before: to write a time out is a third of what a line costs."""

    def __repr__(self) -> str:
        return f"<Transcript {self.path.name!r}>"

    @property
    def last_uuid(self) -> str | None:
        """Of the line that was appended last; None where there is none."""
        return self._last_uuid

    def new_uuid(self) -> str:
        """Return a uuid for a line that is to come; see `append`, whose `extra` takes it."""
        return new_uuid(self._ids)

    def move(self, cwd: str) -> None:
        """Let the lines from here on name another folder; away from where the transcript began, no line has a branch."""
        self._base["cwd"] = cwd
        self._base.pop("gitBranch", None)
        if self.header.branch and cwd == self.header.cwd:
            self._base["gitBranch"] = self.header.branch

    def append(self, kind: str, message: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> str:
        """Append a `user` or `assistant` line and return its uuid; never waits.

        Args:
            kind: `user` or `assistant`.
            message: Role and content, as the provider's API has them.
            extra: More fields of the line, such as `isMeta`.

        Raises:
            Exception: Whatever `write` raises; the next line is linked as if this one had never been.
        """
        line = self._line(kind, self._last_uuid)
        line["message"] = message
        if extra:
            line.update(extra)
        return self._store((line,))

    def append_compaction(
        self, message: Mapping[str, Any], *, trigger: str, pre_tokens: int, extra: Mapping[str, Any] | None = None
    ) -> str:
        """Append a boundary and the message that stands for all before it, in one piece; returns the message's uuid.

        Args:
            message: What the conversation begins with from here on.
            trigger: `auto` or `manual`.
            pre_tokens: Size of the conversation before.
            extra: More fields of the message's line.

        Raises:
            Exception: Whatever `write` raises; nothing has changed then.
        """
        boundary = self._line("system", None)
        boundary |= {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "logicalParentUuid": self._last_uuid,
            "compactMetadata": {"trigger": trigger, "preTokens": pre_tokens},
        }
        line = self._line("user", boundary["uuid"])
        line |= {"message": message, "isCompactSummary": True, **(extra or {})}
        return self._store((boundary, line))

    def note(self, kind: str, values: Mapping[str, Any]) -> None:
        """Write a line that is no message, such as `queue-operation`: readers of conversations pass it over.

        Raises:
            Exception: Whatever `write` raises.
        """
        line = {"type": kind, "timestamp": self._now(), "sessionId": self.header.session_id, **values}
        self._put(encode_line(line))

    def share(self, lines: int) -> SharedPrefix | None:
        """Return the place of the message that was appended last, for a fork that begins with all up to it; None if none was.

        Args:
            lines: How many messages that is.
        """
        if self._last_uuid is None:
            return None
        session_id = self.header.session_id
        return SharedPrefix(transcript=self.path.name, last_uuid=self._last_uuid, lines=lines, session_id=session_id)

    def begin_behind(self, shared: SharedPrefix) -> None:
        """Write the line that points to what stands in another transcript of the folder; the next line follows that.

        Raises:
            Exception: Whatever `write` raises.
        """
        header = self.header
        whose = {"isSidechain": header.is_sidechain, "agentId": header.agent_id}
        self.note(FORK_REF, {**whose, **shared.to_json()})
        self._last_uuid = shared.last_uuid

    def follow(self, last_uuid: str | None, *, is_torn: bool = False) -> None:
        """Go on behind a line of an earlier process; `is_torn` when the file does not end with a whole line."""
        self._last_uuid = last_uuid
        self._is_torn = is_torn

    def _line(self, kind: str, parent: str | None) -> Line:
        line = self._base.copy()
        line["parentUuid"] = parent
        line["type"] = kind
        line["uuid"] = new_uuid(self._ids)
        line["timestamp"] = self._now()
        return line

    def _now(self) -> str:
        wall = self._wall()
        second = self._second
        if second is None or not second[0] <= wall < second[1]:
            begin = wall.replace(microsecond=0)
            second = self._second = (begin, begin + _SECOND, begin.isoformat("T", "seconds")[:19])
        return f"{second[2]}.{wall.microsecond // 1000:03d}Z"

    def _store(self, lines: Sequence[Line]) -> str:
        """Write lines in one piece and return the uuid of the last."""
        self._put(b"".join(map(encode_line, lines)))
        self._last_uuid = uuid = str(lines[-1]["uuid"])
        return uuid

    def _put(self, content: bytes) -> None:
        self._write(self.path, b"\n" + content if self._is_torn else content)
        self._is_torn = False


_SECOND: Final = timedelta(seconds=1)
_FREE_BITS: Final = (1 << 128) - 1 & ~(0xF000 << 64) & ~(0xC000 << 48)
_FIXED_BITS: Final = (0x4000 << 64) | (0x8000 << 48)
"""Version 4, variant 1."""


def new_uuid(ids: Ids) -> str:
    """Return a version 4 UUID from the run's own ids."""
    text = (ids.bits(128) & _FREE_BITS | _FIXED_BITS).to_bytes(16, "big").hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def encode_line(line: Line) -> bytes:
    """Return a line as bytes; it never fails.

    What JSON writers refuse (a lone surrogate, an integer of 65 bits, what is nested more than 200 levels deep) is written
    as text.
    """
    import orjson

    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return orjson.dumps(_writable(line, DEEPEST), option=orjson.OPT_APPEND_NEWLINE)


def _writable(value: Any, levels: int) -> Any:
    """Return what a JSON writer takes, in at most so many levels."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else _as_text(value)
    if levels > 0 and isinstance(value, Mapping):
        return {_key(key): _writable(one, levels - 1) for key, one in value.items()}
    if levels > 0 and isinstance(value, list | tuple):
        return [_writable(one, levels - 1) for one in value]
    return _as_text(value)


def _key(key: Any) -> str:
    return str(_writable(key, 0))


def _as_text(value: Any) -> str:
    """Return JSON text where there is some, else what Python shows; at worst the name of the type."""
    for show in (json.dumps, repr, hex):  # Python shows no integer of thousands of digits, except in hex
        try:
            return str(_writable(show(value), 0))
        except Exception:  # noqa: BLE001, S112 - a foreign object may raise anything, and the next way is tried
            continue
    return f"<{type(value).__name__}>"
