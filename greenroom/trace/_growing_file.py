"""Whole lines of a file that another process appends to, replaces or removes.

Rule 1: a line is returned once, when its newline is there. Rule 2: a replaced file is read to its end before the new one is opened; what
the new one has in common with it is not read again. Rule 3: memory is bounded by a block and the longest line.
"""

from __future__ import annotations

import os
import stat
from enum import StrEnum
from pathlib import Path
from typing import Final, final

from greenroom.core import JournalError

BLOCK_BYTES: Final = 1 << 18
"""Bytes that are read at once."""
MAX_LINE_BYTES: Final = 1 << 26
"""Maximum length of a line, 64 MiB."""
_COMPARED_BYTES: Final = 4096


class FileState(StrEnum):
    """State of the file behind a path, as of the last read that found nothing new."""

    SAME = "same"
    """It may grow."""
    REPLACED = "replaced"
    """Another file has taken its place, or it was cut; see `GrowingFile.reopen`."""
    VANISHED = "vanished"


@final
class GrowingFile:
    """Reader of a growing file.

    Attributes:
        place: Byte place behind the last line returned.
        state: State of the file.

    Raises:
        JournalError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = _open(path)
        self._partial: list[bytes] = []
        """Beginning of a line without its newline."""
        self._partial_bytes = 0
        self._last = b""
        """The last bytes returned."""
        self.place = 0
        self.state = FileState.SAME

    def __repr__(self) -> str:
        return f"<GrowingFile {str(self._path)!r} at {self.place}, {self.state}>"

    @property
    def size(self) -> int:
        """Bytes of the file that is read, as of now; 0 if it is closed."""
        return os.fstat(self._descriptor).st_size if self._descriptor >= 0 else 0

    @property
    def torn_bytes(self) -> int:
        """Bytes after the last newline."""
        return self._partial_bytes

    def read(self) -> bytes:
        """Return the next whole lines, at most a block and one line; empty if there are none yet.

        Raises:
            JournalError: It cannot be read, or a line is longer than `MAX_LINE_BYTES`.
        """
        while True:
            block = self._next_block()
            if not block:
                self.state = self._look()
                block = self._next_block() if self.state is FileState.REPLACED else b""
                if not block:  # written between the last read and the replacement, otherwise
                    return b""
            end = block.rfind(b"\n") + 1
            if end:
                return self._take(block, end)
            self._partial.append(block)
            self._partial_bytes += len(block)
            if self._partial_bytes > MAX_LINE_BYTES:
                raise JournalError(str(self._path), f"a line is longer than {MAX_LINE_BYTES:,} bytes")

    def read_range(self, begin: int, end: int) -> bytes:
        """Return the bytes between two places that were read before; fewer if the file was cut.

        Raises:
            JournalError: It cannot be read.
        """
        try:
            return os.pread(self._descriptor, end - begin, begin)
        except OSError as error:
            raise JournalError(str(self._path), error.strerror or str(error)) from None

    def reopen(self) -> bool:
        """Open the file that has taken the place of this one.

        Returns:
            True if it begins with everything that was returned so far, and is read on from there; False if it is read from its beginning.

        Raises:
            JournalError: It cannot be opened.
        """
        former, self._descriptor = self._descriptor, _open(self._path)
        os.close(former)
        self._partial, self._partial_bytes, self.state = [], 0, FileState.SAME
        if self.read_range(self.place - len(self._last), self.place) == self._last:
            os.lseek(self._descriptor, self.place, os.SEEK_SET)
            return True
        self.place, self._last = 0, b""
        return False

    def close(self) -> None:
        """Close the file; it must not be read afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _next_block(self) -> bytes:
        try:
            return os.read(self._descriptor, BLOCK_BYTES)
        except OSError as error:
            raise JournalError(str(self._path), error.strerror or str(error)) from None

    def _take(self, block: bytes, end: int) -> bytes:
        whole = b"".join((*self._partial, block[:end]))
        self._partial = [block[end:]] if end < len(block) else []
        self._partial_bytes = len(block) - end
        self.place += len(whole)
        self._last = whole[-_COMPARED_BYTES:]
        return whole

    def _look(self) -> FileState:
        try:
            now = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return FileState.VANISHED
        except OSError as error:
            raise JournalError(str(self._path), error.strerror or str(error)) from None
        own = os.fstat(self._descriptor)
        is_same = (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino)
        is_cut = now.st_size < self.place + self._partial_bytes
        return FileState.SAME if is_same and not is_cut else FileState.REPLACED


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise JournalError(str(path), "not a regular file")
