"""Reading a journal: the header, the entries, and how many bytes of a torn tail were left out.

    journal = read_journal(folder / "journal.jsonl", EVENTS)
    journal.header.run, journal.torn_bytes
    for entry in journal.entries: entry.seq, entry.t, entry.kind, entry.event

Rule 1: what follows the last newline is a torn tail: reported, never an error. Rule 2: a line that is whole and makes no
sense is damage: one `JournalError` that names the line. Rule 3: readers need no lock and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, final

import attrs
import cattrs

from greenroom.core import Disk, Event, JournalError, SystemDisk
from greenroom.trace._codec import VERSION, Codec, Header, upcast
from greenroom.trace._entries import Entry

JOURNAL: Final = "journal.jsonl"
HEADER_BYTES: Final = 1_000_000
"""A first line that is longer is no header."""


@final
@attrs.frozen(kw_only=True)
class JournalText:
    """A journal that was read."""

    path: Path
    header: Header
    entries: list[Entry]
    torn_bytes: int
    """Bytes after the last newline, left out: the process ended, or is still going, in the middle of a line."""


def read_journal(path: Path, events: Iterable[type[Event]], *, disk: Disk | None = None) -> JournalText:
    """Read a journal file.

    Args:
        path: The file.
        events: The event classes to make; what is of no such kind becomes an `UnknownEvent`.
        disk: Where it lies; by default the file system.

    Raises:
        JournalError: It cannot be read, is no journal, is of a newer format, or is damaged.
    """
    content = read_bytes(path, disk or SystemDisk())
    lines, torn_bytes = whole_lines(content)
    header = parse_header(path, lines)
    return JournalText(
        path=path,
        header=header,
        entries=list(_entries(path, lines, header.v, _codec(tuple(events)))),
        torn_bytes=torn_bytes,
    )


@cache
def _codec(events: tuple[type[Event], ...]) -> Codec:
    """Make the codec of a catalogue once; it learns each class as it meets it."""
    return Codec(events)


def read_bytes(path: Path, disk: Disk) -> bytes:
    """Return the content of a journal file.

    Raises:
        JournalError: It cannot be read.
    """
    try:
        return disk.read(path)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None


def whole_lines(content: bytes) -> tuple[list[bytes], int]:
    """Part a file into its whole lines and the number of bytes after the last newline."""
    *lines, tail = content.split(b"\n")
    return lines, len(tail)


def read_header(path: Path) -> Header:
    """Read the first line of a journal file and nothing else.

    Raises:
        JournalError: The file cannot be read, or its first line is no whole header.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(HEADER_BYTES)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    return parse_header(path, whole_lines(line)[0])


def parse_header(path: Path, lines: list[bytes]) -> Header:
    """Read the first line.

    Raises:
        JournalError: There is none, it is no header of a journal, or it is of a newer format.
    """
    if not lines:
        raise JournalError(str(path), "no journal: it has no whole header line")
    try:
        raw = parse_line(lines[0])
        version = raw["v"]
    except (ValueError, KeyError):
        raise JournalError(str(path), "no journal: the first line is no header") from None
    if type(version) is not int or version < 1 or not isinstance(raw.get("run"), str):
        raise JournalError(str(path), "no journal: the first line is no header")
    if version > VERSION:
        why = f"written by a newer greenroom (format {version}); this one reads up to format {VERSION}"
        raise JournalError(str(path), why)
    try:
        return _converter.structure(raw, Header)
    except Exception as error:  # noqa: BLE001 - whatever a converter raises, the header is what is wrong
        raise JournalError(str(path), f"the header is damaged: {error}") from None


def parse_line(line: bytes) -> dict[str, Any]:
    """Read one line as a JSON object.

    Raises:
        ValueError: It is none.
    """
    import orjson

    raw = orjson.loads(line)
    if not isinstance(raw, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - the line is what is wrong, not a type of ours
    return raw


def _entries(path: Path, lines: list[bytes], version: int, codec: Codec) -> Iterator[Entry]:
    for number, line in enumerate(lines[1:], start=2):
        try:
            yield codec.decode(upcast(parse_line(line), version))
        except ValueError as error:
            raise JournalError(str(path), f"line {number} is damaged: {error}") from None


_converter: Final = cattrs.Converter(detailed_validation=False)
