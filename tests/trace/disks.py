"""Disks for tests: one in memory, which can refuse in the ways that real ones do."""

from __future__ import annotations

import errno
from pathlib import Path

from greenroom.core.ports import Disk, SystemDisk


class MemoryDisk(Disk):
    """Files as bytes, with a list of what was done.

    Attributes:
        room_bytes: So many bytes may still be appended; the append that exceeds it is written in part and refused.
        refuses_sync: Whether `sync` fails.
    """

    def __init__(self) -> None:
        self.files: dict[Path, bytes] = {}
        self.calls: list[tuple[str, Path]] = []
        self.room_bytes: float = float("inf")
        self.refuses_sync = False

    def make_folder(self, path: Path) -> None:
        pass

    def append(self, path: Path, content: bytes) -> None:
        self.calls.append(("append", path))
        fits = content if len(content) <= self.room_bytes else content[: int(self.room_bytes)]
        self.files[path] = self.files.get(path, b"") + fits
        self.room_bytes -= len(fits)
        if len(fits) < len(content):
            raise OSError(errno.ENOSPC, "No space left on device")

    def sync(self, path: Path) -> None:
        self.calls.append(("sync", path))
        if self.refuses_sync:
            raise OSError(errno.EIO, "Input/output error")

    def write(self, path: Path, content: bytes) -> None:
        self.calls.append(("write", path))
        self.files[path] = content

    def read(self, path: Path) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path)) from None

    def size(self, path: Path) -> int:
        return len(self.read(path))

    def close(self) -> None:
        pass


class FillingDisk:
    """A disk that is full from a certain moment on."""

    append_all = Disk.append_all

    def __init__(self) -> None:
        self.is_full = False
        self._disk = SystemDisk()
        self.make_folder = self._disk.make_folder
        self.read = self._disk.read
        self.size = self._disk.size
        self.write = self._disk.write
        self.sync = self._disk.sync
        self.close = self._disk.close

    def append(self, path: Path, content: bytes) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._disk.append(path, content)
