"""The end of a journal, read from behind: its last entries and whether the run has ended, whatever its length."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, final

import attrs

from greenroom.core import Event, JournalError
from greenroom.trace._codec import Codec, Header, codec_of, upcast
from greenroom.trace._entries import Entry
from greenroom.trace._follow import RunEnding
from greenroom.trace._journal_reader import HEADER_BYTES, parse_header, parse_line, whole_lines

_FIRST_BYTES: Final = 1 << 16
_MAX_BYTES: Final = 1 << 24
"""Bytes read from behind at most; a longer last line is not shown."""


@final
@attrs.frozen(kw_only=True)
class JournalEnd:
    """The beginning and the end of a journal."""

    header: Header
    entries: list[Entry]
    """The last ones, oldest first; without damaged lines."""
    has_ended: bool
    """True if the last session, else the last root supervisor, has ended."""
    size_bytes: int
    torn_bytes: int
    """Bytes after the last newline."""


def read_end(path: Path, events: Iterable[type[Event]], *, count: int = 200) -> JournalEnd:
    """Return the end of a journal, without reading what is between its beginning and its end.

    Args:
        path: The journal.
        events: The known event classes.
        count: Number of last entries.

    Raises:
        JournalError: It cannot be read, is not a journal, or is of a newer format.
    """
    try:
        with path.open("rb") as file:
            return _read_end(path, file, codec_of(tuple(events)), count)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None


def _read_end(path: Path, file: BinaryIO, codec: Codec, count: int) -> JournalEnd:
    size = os.fstat(file.fileno()).st_size
    line = file.readline(HEADER_BYTES)
    header, begin = parse_header(path, whole_lines(line)[0]), len(line)
    ending = RunEnding()
    head, _ = whole_lines(file.read(_FIRST_BYTES))
    for entry in _entries(head, header, codec):
        _look(ending, entry)
    span = _FIRST_BYTES
    while True:
        place = max(begin, size - span)
        file.seek(place)
        lines, torn_bytes = whole_lines(file.read(size - place))
        if place > begin:
            lines = lines[1:]  # its beginning is missing
        if place == begin or len(lines) >= count or span >= _MAX_BYTES:
            break
        span *= 4
    entries = list(_entries(lines, header, codec))
    for entry in entries:
        _look(ending, entry)
    return JournalEnd(
        header=header,
        entries=entries[-count:] if count else [],
        has_ended=ending.has_ended,
        size_bytes=size,
        torn_bytes=torn_bytes,
    )


def _entries(lines: Iterable[bytes], header: Header, codec: Codec) -> Iterator[Entry]:
    for line in lines:
        try:
            yield codec.decode(upcast(parse_line(line), header.v))
        except ValueError:
            continue


def _look(ending: RunEnding, entry: Entry) -> None:
    ending.look(entry.kind, entry.event.actor, is_supervised=bool(entry.get("supervisor", "?")))
