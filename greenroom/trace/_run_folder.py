"""Opening of a run folder for writing: a new journal, or an existing one with its torn tail cut off."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import final

import attrs

from greenroom.core import JournalError
from greenroom.core.ports import Disk, Ports
from greenroom.trace._codec import VERSION, Codec, Header
from greenroom.trace._journal_files import JournalFiles
from greenroom.trace._journal_reader import parse_header, parse_line, whole_lines


@final
@attrs.frozen(kw_only=True)
class OpenedJournal:
    """A journal file that is ready for appending."""

    files: JournalFiles
    header: Header
    last_seq: int
    was_reopened: bool
    cut_bytes: int
    """Bytes of the torn tail that were cut off."""


def make_folder(disk: Disk, folder: Path) -> None:
    """Create the run folder.

    Raises:
        JournalError: The disk refuses.
    """
    try:
        disk.make_folder(folder)
    except OSError as error:
        raise JournalError(str(folder), error.strerror or str(error)) from None


def open_files(ports: Ports, path: Path, codec: Codec, header: Header) -> OpenedJournal:
    """Begin a journal with `header`, or resume the existing one.

    Times continue from the last event: by the wall clock, and never backwards.

    Raises:
        JournalError: It cannot be read or written, is not a journal, is damaged, or has another format.
    """
    disk = ports.disk
    try:
        content = disk.read(path)
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    lines, torn_bytes = whole_lines(content)
    try:
        if not lines:  # new, or its first process did not live long enough to write the header
            return _begin(disk, path, codec, header, cut_bytes=torn_bytes)
        old = parse_header(path, lines)
        if old.v != VERSION:
            raise JournalError(str(path), f"cannot resume: its format is {old.v}, expected {VERSION}")
        if torn_bytes:
            disk.close()
            disk.write(path, content[: len(content) - torn_bytes])
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    last_seq, last_t = _last(path, lines)
    now = header.clock
    files = JournalFiles(disk, path, codec, base_t=now - max(last_t, _wall_s(old, header)))
    return OpenedJournal(files=files, header=old, last_seq=last_seq, was_reopened=True, cut_bytes=torn_bytes)


def _begin(disk: Disk, path: Path, codec: Codec, header: Header, *, cut_bytes: int) -> OpenedJournal:
    line = codec.encode_header(header)
    disk.write(path, line)
    files = JournalFiles(disk, path, codec, base_t=header.clock)
    return OpenedJournal(files=files, header=header, last_seq=0, was_reopened=False, cut_bytes=cut_bytes)


def _last(path: Path, lines: list[bytes]) -> tuple[int, float]:
    """Return the number and time of the last event."""
    if len(lines) == 1:
        return 0, 0.0
    try:
        raw = parse_line(lines[-1])
        seq, t = raw["seq"], raw["t"]
    except (ValueError, KeyError):
        seq = t = None
    if type(seq) is not int or not isinstance(t, int | float):
        raise JournalError(str(path), f"line {len(lines)} is damaged")
    return seq, float(t)


def _wall_s(old: Header, new: Header) -> float:
    """Return the seconds between the beginning of the run and now, by the wall clock."""
    if old.started is None or new.started is None:
        return 0.0
    try:
        return (datetime.fromisoformat(new.started) - datetime.fromisoformat(old.started)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
