"""Reading of transcripts of any origin and ending, in bounded memory.

A file is read in pieces and never changed. Lines that are not JSON objects are skipped and counted; a crash tears the
last line, and a later process continues after it. The order is the chain of `parentUuid` from the newest line; links
into another agent's lines are ignored, except the one at the beginning of a fork. Lines before a compaction are not
read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, Generic, NamedTuple, Self, TypeVar, final

import attrs

from greenroom.core import UsageError
from greenroom.store._shared import FORK_REF, SharedPrefix, not_there, read_shared
from greenroom.store._transcript import Line

T = TypeVar("T")

CHUNK_BYTES: Final = 256 * 1024
RESUMED_BYTES: Final = 16 * 1024 * 1024
"""Maximum number of bytes, from the end of a file, that a conversation is read from: more than the largest models take.
"""

_SUMMARY: Final = b'"isCompactSummary":true'


@final
class TranscriptLines:
    """The lines of a transcript file; problems are reported while and after they are read.

    Attributes:
        damaged: Number of lines so far that are not JSON objects.
        torn_bytes: Bytes after the last whole line, known at the end: cut off by a crash. A line that only lacks its
            newline is whole: the next writer adds the newline, and later readers see the line.
    """

    def __init__(self, path: Path, start: int = 0, end: int | None = None) -> None:
        self.path = path
        self.damaged = 0
        self.torn_bytes = 0
        self._start = start
        self._end = end
        self._lines = self._read()

    def __repr__(self) -> str:
        return f"<TranscriptLines of {self.path.name!r}>"

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Line:
        return next(self._lines)

    def _read(self) -> Iterator[Line]:
        import orjson

        loads = orjson.loads
        at, end = self._start, self._end
        with _opened(self.path) as file:
            file.seek(at)
            for raw in file:
                if end is not None and at >= end:
                    return
                at += len(raw)
                try:
                    line = loads(raw)
                except orjson.JSONDecodeError:
                    line = None
                if isinstance(line, dict):
                    yield line
                elif raw[-1] != 10:  # only possible for the last line
                    self.torn_bytes = len(raw)
                else:
                    self.damaged += raw != b"\n"


def read_transcript(path: Path, *, start: int = 0, end: int | None = None) -> TranscriptLines:
    """Return an iterator over the lines of a file, each a JSON object.

    Args:
        path: The file. One line at a time is held in memory.
        start: Byte to begin at, the beginning of a line.
        end: Byte to stop at, the end of a line; None for the end of the file.

    Raises:
        UsageError: The file cannot be read; raised by the first step.
    """
    return TranscriptLines(path, start, end)


@final
@attrs.frozen(kw_only=True)
class StoredConversation(Generic[T]):
    """The stored state from which a conversation is resumed."""

    lines: tuple[T, ...]
    """Values made of the `user` and `assistant` lines of one agent, oldest first, from the last compaction on; a fork's
    begin with the shared lines of its parent.
    """
    newest: Line
    """The last of these lines; empty if there is none."""
    last_uuid: str | None
    """Parent of the next line."""
    kinds_after: frozenset[str]
    """The types of the lines behind that one, which are no messages."""
    agent_id: str
    """Empty if the lines do not name it, as in main transcripts of other products."""
    session_id: str
    is_torn: bool
    """True if the file does not end with a whole line."""
    is_cut: bool
    """True if the beginning was omitted because of the limit."""
    notes: tuple[str, ...]
    """Omissions, each in one sentence."""


def read_conversation(
    path: Path, make: Callable[[Line], T], *, limit_bytes: int = RESUMED_BYTES, follows: bool = True
) -> StoredConversation[T]:
    """Return the conversation at the end of a transcript.

    Time and memory depend on the conversation, not on the file: reading begins at the last compaction, and at most
    `limit_bytes` before the end. For the shared part of a fork, the parent's file is searched backwards from its end.

    Args:
        path: The file; the lines of a file named `agent-*` are a sidechain, those of others are not.
        make: Returns the kept value of a line; the line itself is dropped.
        limit_bytes: Maximum number of bytes read of this file.
        follows: True to read the part that a fork shares with its parent, too.

    Raises:
        UsageError: The file cannot be read, or the shared part is missing or has changed.
    """
    own = _read_own(path, make, limit_bytes)
    chained = own.chained
    newest = own.newest
    if follows and own.shared is not None:
        before, last = _read_shared(path, own.shared, make)
        chained = before + chained
        newest = newest or last
    notes = []
    if own.left_out:
        notes.append(
            f"the first {own.left_out:,} bytes were left out: a conversation is taken from the last {limit_bytes:,}"
        )
    if own.damaged:
        notes.append(f"{own.damaged} damaged lines were left out")
    if own.torn_bytes:
        notes.append(f"the last line was cut off after {own.torn_bytes:,} bytes and was left out")
    return StoredConversation(
        lines=tuple(chained),
        newest=newest,
        last_uuid=_text(own.newest, "uuid") or (own.shared.last_uuid if own.shared is not None else None),
        kinds_after=own.kinds_after,
        agent_id=_text(own.newest or own.pointer, "agentId"),
        session_id=_text(own.newest or own.pointer, "sessionId"),
        is_torn=own.is_torn,
        is_cut=own.left_out > 0,
        notes=tuple(notes),
    )


@attrs.frozen(kw_only=True)
class _Part(Generic[T]):
    """The part of a conversation that stands in one file."""

    chained: list[T]
    newest: Line
    pointer: Line
    """The line that points to the shared beginning; empty if the file has none."""
    shared: SharedPrefix | None
    kinds_after: frozenset[str] = frozenset()
    left_out: int = 0
    damaged: int = 0
    torn_bytes: int = 0
    is_torn: bool = False


def _read_own(path: Path, make: Callable[[Line], T], limit_bytes: int) -> _Part[T]:
    """Read the part at the end of a file."""
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        is_torn = file.read(1) not in {b"", b"\n"}
        start, left_out = _start_of(file, size, limit_bytes, is_sidechain=_is_sidechain(path))
    return attrs.evolve(_read_part(path, make, start), left_out=left_out, is_torn=is_torn)


def _read_shared(path: Path, shared: SharedPrefix, make: Callable[[Line], T]) -> tuple[list[T], Line]:
    """Read the shared beginning of a fork, through the files of its ancestors; return its last line too.

    Raises:
        UsageError: It is missing or has changed.
    """
    seen = {path.name}
    pointers: list[tuple[str, SharedPrefix]] = []
    parts: list[_Part[T]] = []
    source, pointer = path, shared
    while True:
        if pointer.transcript in seen:
            raise not_there(source.name, pointer, "that one leads in a circle")
        seen.add(pointer.transcript)
        pointers.append((source.name, pointer))
        place = path.parent / pointer.transcript
        try:
            with _opened(place) as file:
                span = _span_to(file, pointer.last_uuid, is_sidechain=_is_sidechain(place))
        except UsageError as error:
            raise not_there(source.name, pointer, str(error)) from None
        if span is None:
            raise not_there(source.name, pointer, f"that one has no message {pointer.last_uuid!r}")
        part = _read_part(place, make, *span)
        parts.append(part)
        if part.shared is None:
            break
        source, pointer = place, part.shared
    lines: list[T] = []
    for part, (name, shared_part) in zip(reversed(parts), reversed(pointers), strict=True):
        lines += part.chained
        if len(lines) != shared_part.lines:
            raise not_there(name, shared_part, f"{len(lines)} of {shared_part.lines} can be read")
    return lines, next((part.newest for part in parts if part.newest), {})


def _read_part(path: Path, make: Callable[[Line], T], start: int, end: int | None = None) -> _Part[T]:
    """Read the lines of a file between two bytes, and its pointer to a shared beginning, if any."""
    is_sidechain = _is_sidechain(path)
    reader = read_transcript(path, start=start, end=end)
    links: list[TranscriptLink] = []
    made: list[T] = []
    newest: Line = {}
    pointer: Line = {}
    kinds_after: set[str] = set()
    for line in reader:
        if _is_message_of(line, is_sidechain=is_sidechain):
            newest = line
            kinds_after.clear()
            links.append(link_of(line))
            made.append(make(line))
        elif not links and line.get("type") == FORK_REF:
            pointer = line
        else:
            kinds_after.add(_text(line, "type"))
    return _Part(
        chained=[made[place] for place in chain(links)],
        newest=newest,
        pointer=pointer,
        shared=read_shared(pointer, source=path.name) if pointer else None,
        kinds_after=frozenset(kinds_after),
        damaged=reader.damaged,
        torn_bytes=reader.torn_bytes,
    )


class TranscriptLink(NamedTuple):
    """Position of a line in the conversation."""

    uuid: object
    parent: object
    agent: object
    is_summary: bool


def link_of(line: Line) -> TranscriptLink:
    """Return the position of a line."""
    get = line.get
    return TranscriptLink(get("uuid"), get("parentUuid"), get("agentId"), get("isCompactSummary") is True)


def chain(links: Sequence[TranscriptLink]) -> list[int]:
    """Return the indices of the last line and its ancestors, oldest first, without rewound branches.

    A missing parent was damaged or is in another file; the line before then counts as the parent. Lines of other agents
    are skipped.
    """
    if not links:
        return []
    agent = links[-1].agent
    own = [place for place, link in enumerate(links) if link.agent == agent]
    if all(links[place].parent == links[before].uuid for before, place in pairwise(own)):
        return own
    numbers: dict[object, int] = {}
    for number, place in enumerate(own):
        uuid = links[place].uuid
        if isinstance(uuid, str):
            numbers.setdefault(uuid, number)
    chained: list[int] = []
    number = len(own) - 1
    while number >= 0:
        link = links[own[number]]
        chained.append(own[number])
        if link.is_summary or link.parent is None:
            break
        before = numbers.get(link.parent, number) if isinstance(link.parent, str) else number
        # Parents come first: a forward link, or a loop, is damage.
        number = before if before < number else number - 1
    chained.reverse()
    return chained


def _start_of(file: BinaryIO, end: int, limit_bytes: int, *, is_sidechain: bool) -> tuple[int, int]:
    """Return the beginning of the conversation that ends at a byte, and the number of bytes omitted because of the
    limit.
    """
    lowest = max(0, end - limit_bytes)
    for place in _lines_with(file, _SUMMARY, lowest, end):
        line = _line_at(file, place)
        if line.get("isCompactSummary") is True and _is_message_of(line, is_sidechain=is_sidechain):
            return place, 0
    if not lowest:
        return 0, 0
    file.seek(lowest)
    return lowest + len(file.readline()), lowest


def _span_to(file: BinaryIO, uuid: str, *, is_sidechain: bool) -> tuple[int, int] | None:
    """Return the beginning and end of the conversation up to a message; None if the message does not exist."""
    size = file.seek(0, os.SEEK_END)
    for place in _lines_with(file, uuid.encode(), 0, size):
        line = _line_at(file, place)
        is_it = line.get("uuid") == uuid and _is_message_of(line, is_sidechain=is_sidechain)
        # A fork of a fork without messages of its own ends where that one's own lines would begin.
        if is_it or (line.get("type") == FORK_REF and line.get("parentLastUuid") == uuid):
            file.seek(place)
            end = place + len(file.readline())
            return _start_of(file, end, end, is_sidechain=is_sidechain)[0], end
    return None


def _lines_with(file: BinaryIO, mark: bytes, lowest: int, end: int) -> Iterator[int]:
    """Yield the beginnings of the lines between two bytes that contain a mark, the last first."""
    later = b""
    while end > lowest:
        begin = max(lowest, end - CHUNK_BYTES)
        file.seek(begin)
        piece = file.read(end - begin)
        at = (piece + later).rfind(mark)
        while at >= 0:
            place = _line_start(file, begin + at, lowest)
            if place is not None:
                yield place
            at = (piece + later).rfind(mark, 0, at)
        end, later = begin, piece[: len(mark) - 1]


def _line_start(file: BinaryIO, inside: int, lowest: int) -> int | None:
    """Return the beginning of the line around a byte, or None if it is before `lowest`."""
    end = inside
    while end > lowest:
        begin = max(lowest, end - CHUNK_BYTES)
        file.seek(begin)
        at = file.read(end - begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0 if lowest == 0 else None


def _line_at(file: BinaryIO, place: int) -> Line:
    """Return the line that begins at a byte; empty if it is not one: a tool may have shown another one's."""
    import orjson

    file.seek(place)
    try:
        line = orjson.loads(file.readline())
    except orjson.JSONDecodeError:
        return {}
    return line if isinstance(line, dict) else {}


def _is_sidechain(path: Path) -> bool:
    return path.name.startswith("agent-")


def _is_message_of(line: Line, *, is_sidechain: bool) -> bool:
    return _is_message(line) and bool(line.get("isSidechain")) == is_sidechain


def _is_message(line: Line) -> bool:
    return line.get("type") in {"user", "assistant"} and isinstance(line.get("message"), dict)


def _text(line: Line, key: str) -> str:
    value = line.get(key)
    return value if isinstance(value, str) else ""


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=CHUNK_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read the transcript {str(path)!r}: {error.strerror or error}") from None
