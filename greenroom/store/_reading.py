"""Reading transcripts: any file, whoever wrote it and however it ended, in bounded memory.

Rule 1: a file is read in pieces and never changed. Rule 2: what is no JSON object is left out and counted; a crash tears
the last line, and a later process goes on behind it. Rule 3: order is the chain of `parentUuid` from the newest line, and
no link leads into another agent's lines. Rule 4: what a compaction stands for is not read again.
Must not know: models, agents, Trio.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, Generic, NamedTuple, Self, TypeVar, final

import attrs

from greenroom.core import UsageError
from greenroom.store._transcript import Line

T = TypeVar("T")

CHUNK_BYTES: Final = 256 * 1024
RESUMED_BYTES: Final = 16 * 1024 * 1024
"""The most of a file's end that a conversation is taken from: more than the largest models take in."""

_SUMMARY: Final = b'"isCompactSummary":true'


@final
class TranscriptLines:
    """The lines of a transcript file, one by one; what could not be read is told while and after they are read.

    Attributes:
        damaged: Lines so far that are no JSON objects.
        torn_bytes: Bytes after the last whole line, known at the end: what a crash cut. A line of which only the newline
            is missing is whole: whoever writes behind it gives it one, and every later reader sees it.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self.damaged = 0
        self.torn_bytes = 0
        self._start = start
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
        with _opened(self.path) as file:
            file.seek(self._start)
            for raw in file:
                try:
                    line = loads(raw)
                except orjson.JSONDecodeError:
                    line = None
                if isinstance(line, dict):
                    yield line
                elif raw[-1] != 10:  # only the last one
                    self.torn_bytes = len(raw)
                else:
                    self.damaged += raw != b"\n"


def read_transcript(path: Path, *, start: int = 0) -> TranscriptLines:
    """Return an iterator over the lines of a file, each a JSON object, whatever it says.

    Args:
        path: The file. One line of it at a time is held in memory.
        start: Byte to begin at, where a line begins.

    Raises:
        UsageError: The file cannot be read; raised by the first step.
    """
    return TranscriptLines(path, start)


@final
@attrs.frozen(kw_only=True)
class StoredConversation(Generic[T]):
    """What a conversation is gone on with from."""

    lines: tuple[T, ...]
    """What was made of the `user` and `assistant` lines of one agent, oldest first, from the last compaction on."""
    last_uuid: str | None
    """What the next line follows."""
    agent_id: str
    """Empty where the lines do not say it, as in main transcripts of other products."""
    session_id: str
    is_torn: bool
    """Whether the file does not end with a whole line."""
    notes: tuple[str, ...]
    """What was left out, each in one sentence."""


def read_conversation(
    path: Path, make: Callable[[Line], T], *, limit_bytes: int = RESUMED_BYTES
) -> StoredConversation[T]:
    """Read the conversation that a transcript ends with.

    Time and memory depend on what there is to go on with, not on the file: reading begins at the last compaction, and at
    most `limit_bytes` before the end.

    Args:
        path: The file; the lines of a file called `agent-*` are a sidechain, those of others are not.
        make: Makes of a line what is kept of it; the line itself is not.
        limit_bytes: The most that is read.

    Raises:
        UsageError: The file cannot be read.
    """
    is_sidechain = path.name.startswith("agent-")
    start, left_out, is_torn = _start_of(path, limit_bytes, is_sidechain=is_sidechain)
    reader = read_transcript(path, start=start)
    links: list[Link] = []
    made: list[T] = []
    last: Line = {}
    for line in reader:
        if _is_message(line) and bool(line.get("isSidechain")) == is_sidechain:
            last = line
            links.append(link_of(line))
            made.append(make(line))
    notes = []
    if left_out:
        notes.append(
            f"the first {left_out:,} bytes were left out: a conversation is taken from the last {limit_bytes:,}"
        )
    if reader.damaged:
        notes.append(f"{reader.damaged} damaged lines were left out")
    if reader.torn_bytes:
        notes.append(f"the last line was cut off after {reader.torn_bytes:,} bytes and was left out")
    return StoredConversation(
        lines=tuple([made[place] for place in chain(links)]),
        last_uuid=_text(last, "uuid") or None,
        agent_id=_text(last, "agentId"),
        session_id=_text(last, "sessionId"),
        is_torn=is_torn,
        notes=tuple(notes),
    )


class Link(NamedTuple):
    """What a line says about its place."""

    uuid: object
    parent: object
    agent: object
    is_summary: bool


def link_of(line: Line) -> Link:
    """Return what a line says about its place."""
    get = line.get
    return Link(get("uuid"), get("parentUuid"), get("agentId"), get("isCompactSummary") is True)


def chain(links: Sequence[Link]) -> list[int]:
    """Return the places of the lines that the last one follows, oldest first: a rewound branch is not among them.

    A parent that is missing was damaged or is in another file; then the line before counts as the parent. Lines of another
    agent are passed over.
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
        # Parents come first: a link forwards, or a loop, is damage.
        number = before if before < number else number - 1
    chained.reverse()
    return chained


def _start_of(path: Path, limit_bytes: int, *, is_sidechain: bool) -> tuple[int, int, bool]:
    """Return where the conversation begins in a file, how many bytes were left out for their number, and if it is torn."""
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        is_torn = file.read(1) not in {b"", b"\n"}
        lowest = max(0, size - limit_bytes)
        end, later = size, b""
        while end > lowest:
            begin = max(lowest, end - CHUNK_BYTES)
            file.seek(begin)
            piece = file.read(end - begin)
            at = (piece + later).rfind(_SUMMARY)
            while at >= 0:
                place = _line_start(file, begin + at, lowest)
                if place is not None and _is_summary(file, place, is_sidechain=is_sidechain):
                    return place, 0, is_torn
                at = (piece + later).rfind(_SUMMARY, 0, at)
            end, later = begin, piece[: len(_SUMMARY) - 1]
        if not lowest:
            return 0, 0, is_torn
        file.seek(lowest)
        return lowest + len(file.readline()), lowest, is_torn


def _line_start(file: BinaryIO, inside: int, lowest: int) -> int | None:
    """Return where the line around a byte begins, or None where that is before `lowest`."""
    end = inside
    while end > lowest:
        begin = max(lowest, end - CHUNK_BYTES)
        file.seek(begin)
        at = file.read(end - begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0 if lowest == 0 else None


def _is_summary(file: BinaryIO, place: int, *, is_sidechain: bool) -> bool:
    """Whether a whole line begins at `place` that says so itself: a tool may have shown another one's."""
    import orjson

    file.seek(place)
    try:
        line = orjson.loads(file.readline())
    except orjson.JSONDecodeError:
        return False
    if not isinstance(line, dict) or bool(line.get("isSidechain")) != is_sidechain:
        return False
    return line.get("isCompactSummary") is True and _is_message(line)


def _is_message(line: Line) -> bool:
    return line.get("type") in {"user", "assistant"} and isinstance(line.get("message"), dict)


def _text(line: Line, key: str) -> str:
    value = line.get(key)
    return value if isinstance(value, str) else ""


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=CHUNK_BYTES)
    except OSError as error:
        raise UsageError(f"the transcript {str(path)!r} cannot be read: {error.strerror or error}") from None
