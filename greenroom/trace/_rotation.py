"""A new beginning of a journal: the whole file is kept under another name, and the journal begins with one event.

Rule 1: the old file is copied before the new one takes its place, in one step: whenever the process ends, the journal is whole. Rule 2:
numbers and times go on. Rule 3: a damaged line is left out, and everything else is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import Event, JournalError, field_values
from greenroom.core.ports import Disk
from greenroom.trace._codec import VERSION, Header, codec_of, upcast
from greenroom.trace._entries import Entry
from greenroom.trace._journal_reader import parse_header, parse_line, whole_lines

_TRIES: Final = 1_000


@final
@attrs.frozen(kw_only=True)
class Salvage:
    """What can be read of a journal."""

    header: Header | None
    """None if the first line is damaged, or there is none."""
    entries: list[Entry]
    damaged_lines: int
    size: int
    """Bytes of the file."""
    torn_bytes: int
    """Bytes after the last newline; they count as damage of nothing."""

    @property
    def last(self) -> tuple[int, float]:
        """Number and time of the last event."""
        return (self.entries[-1].seq, self.entries[-1].t) if self.entries else (0, 0.0)


def salvage(disk: Disk, path: Path, events: Iterable[type[Event]]) -> Salvage:
    """Return what can be read of a journal; a missing one is empty.

    Raises:
        JournalError: It cannot be read, or is of another format.
    """
    try:
        content = disk.read(path)
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    lines, torn_bytes = whole_lines(content)
    try:
        header = parse_header(path, lines) if lines else None
    except JournalError:
        if _is_newer(lines[0]):
            raise
        header = None
    codec, entries, damaged = codec_of(tuple(events)), [], int(bool(lines) and header is None)
    for line in lines[1:]:
        try:
            entries.append(codec.decode(upcast(parse_line(line), VERSION if header is None else header.v)))
        except ValueError:
            damaged += 1
    return Salvage(header=header, entries=entries, damaged_lines=damaged, size=len(content), torn_bytes=torn_bytes)


def _is_newer(line: bytes) -> bool:
    try:
        version = parse_line(line).get("v")
    except ValueError:
        return False
    return isinstance(version, int) and version > VERSION


def begin_anew(
    disk: Disk,
    path: Path,
    found: Salvage,
    header: Header,
    first: Callable[[str], Event],
    *,
    kept: str,
    events: Iterable[type[Event]],
) -> str:
    """Keep a journal under another name, and begin it anew with one event. Nobody may have it open.

    Args:
        disk: Disk of the journal.
        path: The journal.
        found: What was read of it.
        header: The header if the old one is damaged.
        first: Returns the event, for the name under which the old file is kept.
        kept: That name; `-2` and so on is behind it if it is taken.
        events: The event classes of the journal.

    Returns:
        The name under which the old file is kept.

    Raises:
        JournalError: The disk refuses; the journal is as it was.
    """
    codec = codec_of(tuple(events))
    seq, t = found.last
    try:
        former = _free(disk, path.with_name(kept))
        event = first(former.name)
        line = codec.encode((seq + 1, t, type(event), *field_values(event)), 0.0)
        disk.close()
        disk.write(former, disk.read(path))
        disk.write(path, codec.encode_header(found.header or header) + line)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    return former.name


def _free(disk: Disk, path: Path) -> Path:
    for number in range(1, _TRIES):
        candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            disk.size(candidate)
        except FileNotFoundError:
            return candidate
    raise FileExistsError(17, "too many files of this name", str(path))
