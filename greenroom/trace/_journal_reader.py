"""Reading of a journal: the header, the entries, and the length of an ignored torn tail.

    journal = read_journal(folder / "journal.jsonl", EVENTS)
    journal.header.run, journal.torn_bytes
    for entry in journal.entries: entry.seq, entry.t, entry.kind, entry.event

Bytes after the last newline are a torn tail: reported, never an error. A whole line that is invalid is damage: one
`JournalError` that names the line. Readers need no lock and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, final

import attrs
import cattrs

from greenroom.core import Event, JournalError
from greenroom.core.ports import Disk, SystemDisk
from greenroom.trace._codec import VERSION, Codec, Header, codec_of, upcast
from greenroom.trace._entries import Entry

JOURNAL: Final = "journal.jsonl"
HEADER_BYTES: Final = 1_000_000
"""Maximum length of a header line."""


@final
@attrs.frozen(kw_only=True)
class JournalText:
    """A journal that was read."""

    path: Path
    header: Header
    entries: list[Entry]
    torn_bytes: int
    """Bytes after the last newline, ignored: the process ended, or is still running, in the middle of a line."""


def read_journal(path: Path, events: Iterable[type[Event]], *, disk: Disk | None = None) -> JournalText:
    """Return a journal file's content.

    Args:
        path: The file.
        events: The known event classes; an event of another kind becomes an `UnknownEvent`.
        disk: Disk of the file; by default the file system.

    Raises:
        JournalError: It cannot be read, is not a journal, is of a newer format, or is damaged.
    """
    content = read_bytes(path, disk or SystemDisk())
    lines, torn_bytes = whole_lines(content)
    header = parse_header(path, lines)
    return JournalText(
        path=path,
        header=header,
        entries=list(_entries(path, lines, header.v, codec_of(tuple(events)))),
        torn_bytes=torn_bytes,
    )


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
    """Return the whole lines of a file and the number of bytes after the last newline."""
    *lines, tail = content.split(b"\n")
    return lines, len(tail)


def read_header(path: Path) -> Header:
    """Return the header of a journal file, without reading the rest.

    Raises:
        JournalError: The file cannot be read, or its first line is not a whole header.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(HEADER_BYTES)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    return parse_header(path, whole_lines(line)[0])


def parse_header(path: Path, lines: list[bytes]) -> Header:
    """Return the header in the first line.

    Raises:
        JournalError: It is missing, is not a journal header, or is of a newer format.
    """
    if not lines:
        raise JournalError(str(path), "not a journal: it has no whole header line")
    try:
        raw = parse_line(lines[0])
        version = raw["v"]
    except (ValueError, KeyError):
        raise JournalError(str(path), "not a journal: the first line is not a header") from None
    if type(version) is not int or version < 1 or not isinstance(raw.get("run"), str):
        raise JournalError(str(path), "not a journal: the first line is not a header")
    if version > VERSION:
        why = f"written by a newer greenroom (format {version}); this one reads up to format {VERSION}"
        raise JournalError(str(path), why)
    try:
        return _converter.structure(raw, Header)
    except Exception as error:  # noqa: BLE001 - whatever a converter raises, the header is at fault
        raise JournalError(str(path), f"the header is damaged: {error}") from None


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        ValueError: The line is not a JSON object.
    """
    import orjson

    raw = orjson.loads(line)
    if not isinstance(raw, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - the line is at fault, not a type of ours
    return raw


def parse_lines(lines: list[bytes]) -> list[dict[str, Any]]:
    """Return the JSON objects of some lines.

    Raises:
        ValueError: One of them is not a JSON object.
    """
    import orjson

    raws = list(map(orjson.loads, lines))
    if not set(map(type, raws)) <= {dict}:
        raise ValueError("not a JSON object")
    return raws


def _entries(path: Path, lines: list[bytes], version: int, codec: Codec) -> Iterator[Entry]:
    for number, line in enumerate(lines[1:], start=2):
        try:
            yield codec.decode(upcast(parse_line(line), version))
        except ValueError as error:
            raise JournalError(str(path), f"line {number} is damaged: {error}") from None


_converter: Final = cattrs.Converter(detailed_validation=False)
