"""Transcripts: an append-only log of a conversation, one JSON object per line.

A line is never changed. The caller writes, and decides when a line is durable: bytes leave through a function. A line
that a crash tore is closed with a newline, and readers skip it. The format keeps the stable core of the leading coding
agent's transcripts, so that tools for those work here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core.ports import Ids
from greenroom.store._shared import FORK_REF, SharedPrefix

Line: TypeAlias = dict[str, Any]

DEEPEST: Final = 200
"""Deeper nesting is written as text; orjson gives up at 254 levels."""


@attrs.frozen(kw_only=True)
class TranscriptHeader:
    """Fields of every line of one transcript."""

    session_id: str
    agent_id: str
    is_sidechain: bool
    """False for the main agent's conversation."""
    cwd: str
    """The agent's initial working folder; see `Transcript.move`."""
    version: str
    branch: str = ""
    """The git branch at the start of the session; if empty, lines have no branch."""


@final
class Transcript:
    """Appends the lines of one conversation, each linked to the one before.

    Args:
        path: The file; it is named after a generated id.
        header: Fields of every line.
        write: Takes the file's path and the bytes of a line; it may only store them, and wake a writer.
        ids: Source of the lines' ids.
        wall: Reads the date and time, in UTC.

    Attributes:
        last_uuid: Uuid of the last appended line; None if there is none.
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
        self.last_uuid = last_uuid
        self._is_torn = False
        self._second: tuple[datetime, datetime, str] | None = None
        """Beginning, end and text of the previous line's second: formatting a time is a third of the cost of a line."""

    def __repr__(self) -> str:
        return f"<Transcript {self.path.name!r}>"

    def new_uuid(self) -> str:
        """Return a uuid for a future line; see `append`, whose `extra` takes it."""
        return new_uuid(self._ids)

    def move(self, cwd: str) -> None:
        """Set the folder of later lines; outside the transcript's initial folder, lines have no branch."""
        self._base["cwd"] = cwd
        self._base.pop("gitBranch", None)
        if self.header.branch and cwd == self.header.cwd:
            self._base["gitBranch"] = self.header.branch

    def append(self, kind: str, message: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> str:
        """Append a `user` or `assistant` line and return its uuid; never waits.

        Args:
            kind: `user` or `assistant`.
            message: Role and content, as in the provider's API.
            extra: Further fields of the line, such as `isMeta`.

        Raises:
            Exception: Any error of `write`; the next line is linked as if this one did not exist.
        """
        line = self._line(kind, self.last_uuid)
        line["message"] = message
        if extra:
            line.update(extra)
        self._put(encode_line(line))
        self.last_uuid = uuid = str(line["uuid"])
        return uuid

    def append_compaction(
        self, message: Mapping[str, Any], *, trigger: str, pre_tokens: int, extra: Mapping[str, Any] | None = None
    ) -> str:
        """Append a boundary and the message that replaces everything before it, in one piece; return the message's
        uuid.

        Args:
            message: The new beginning of the conversation.
            trigger: `auto` or `manual`.
            pre_tokens: Size of the conversation before.
            extra: Further fields of the message's line.

        Raises:
            Exception: Any error of `write`; then nothing has changed.
        """
        boundary = self._line("system", None)
        boundary |= {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "logicalParentUuid": self.last_uuid,
            "compactMetadata": {"trigger": trigger, "preTokens": pre_tokens},
        }
        line = self._line("user", boundary["uuid"])
        line |= {"message": message, "isCompactSummary": True, **(extra or {})}
        self._put(encode_line(boundary) + encode_line(line))
        self.last_uuid = uuid = str(line["uuid"])
        return uuid

    def note(self, kind: str, values: Mapping[str, Any]) -> None:
        """Write a line that is not a message, such as `queue-operation`: readers of conversations skip it.

        Raises:
            Exception: Any error of `write`.
        """
        line = {"type": kind, "timestamp": self._now(), "sessionId": self.header.session_id, **values}
        self._put(encode_line(line))

    def share(self, lines: int) -> SharedPrefix | None:
        """Return a reference to the conversation so far, for a fork; None if there is no message.

        Args:
            lines: Number of its messages.
        """
        if self.last_uuid is None:
            return None
        session_id = self.header.session_id
        return SharedPrefix(transcript=self.path.name, last_uuid=self.last_uuid, lines=lines, session_id=session_id)

    def begin_behind(self, shared: SharedPrefix) -> None:
        """Write the line that points to a shared beginning; the next line follows that.

        Raises:
            Exception: Any error of `write`.
        """
        header = self.header
        whose = {"isSidechain": header.is_sidechain, "agentId": header.agent_id}
        self.note(FORK_REF, {**whose, **shared.to_json()})
        self.last_uuid = shared.last_uuid

    def begin_anew(self) -> None:
        """Begin another conversation with the next line: readers of the newest conversation stop there."""
        self.last_uuid = None

    def follow(self, last_uuid: str | None, *, is_torn: bool = False) -> None:
        """Continue after a line of an earlier process; `is_torn` if the file does not end with a whole line."""
        self.last_uuid = last_uuid
        self._is_torn = is_torn

    def _line(self, kind: str, parent: str | None) -> Line:
        uuid = new_uuid(self._ids)
        return {**self._base, "parentUuid": parent, "type": kind, "uuid": uuid, "timestamp": self._now()}

    def _now(self) -> str:
        wall = self._wall()
        second = self._second
        if second is None or not second[0] <= wall < second[1]:
            begin = wall.replace(microsecond=0)
            second = self._second = (begin, begin + _SECOND, begin.isoformat("T", "seconds")[:19])
        return second[2] + _MILLISECONDS[wall.microsecond // 1000]

    def _put(self, content: bytes) -> None:
        self._write(self.path, b"\n" + content if self._is_torn else content)
        self._is_torn = False


_SECOND: Final = timedelta(seconds=1)
_MILLISECONDS: Final = tuple(f".{count:03d}Z" for count in range(1_000))
_FREE_BITS: Final = (1 << 128) - 1 & ~(0xF000 << 64) & ~(0xC000 << 48)
_FIXED_BITS: Final = (0x4000 << 64) | (0x8000 << 48)
"""Version 4, variant 1."""
_UUID_PARTS: Final = itemgetter(slice(8), slice(8, 12), slice(12, 16), slice(16, 20), slice(20, None))


def new_uuid(ids: Ids) -> str:
    """Return a version 4 UUID from the run's own ids."""
    return "-".join(_UUID_PARTS((ids.bits(128) & _FREE_BITS | _FIXED_BITS).to_bytes(16, "big").hex()))


def encode_line(line: Line) -> bytes:
    """Return a line as bytes; it never fails.

    Values that JSON writers refuse (a lone surrogate, an integer of 65 bits, more than 200 levels of nesting) are
    written as text.
    """
    dump = _dump()
    try:
        return dump(line)
    except TypeError:
        return dump(_writable(line, DEEPEST))


@cache
def _dump() -> Callable[[Line], bytes]:
    """Return the writer of lines: an import in `encode_line` would take as long as a third of its work."""
    import orjson

    return partial(orjson.dumps, option=orjson.OPT_APPEND_NEWLINE)


def _writable(value: Any, levels: int) -> Any:
    """Return the value in a form that a JSON writer accepts, with at most `levels` levels."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else _as_text(value)
    if levels > 0 and isinstance(value, Mapping):
        return {_key(key): _writable(item, levels - 1) for key, item in value.items()}
    if levels > 0 and isinstance(value, list | tuple):
        return [_writable(item, levels - 1) for item in value]
    return _as_text(value)


def _key(key: Any) -> str:
    return str(_writable(key, 0))


def _as_text(value: Any) -> str:
    """Return a value as JSON text, else its `repr`; at worst the name of its type."""
    for show in (json.dumps, repr, hex):  # Python formats integers of thousands of digits only in hex
        try:
            return str(_writable(show(value), 0))
        except Exception:  # noqa: BLE001, S112 - a foreign object may raise anything; the next way is tried
            continue
    return f"<{type(value).__name__}>"
