"""Helpers for the tests of checkpoints."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from greenroom.core.ports import Disk, SystemDisk


def appending(path: Path, content: bytes) -> None:
    """Write what a journal would write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(content)


class FillingDisk:
    """A disk on which there is room for a file, or is not.

    Args:
        has_room: Says it of each file that is written.
    """

    append_all = Disk.append_all

    def __init__(self, has_room: Callable[[Path], bool]) -> None:
        disk = SystemDisk()
        self._has_room = has_room
        self._write = disk.write
        self.make_folder = disk.make_folder
        self.append = disk.append
        self.read = disk.read
        self.size = disk.size
        self.sync = disk.sync
        self.close = disk.close

    def write(self, path: Path, content: bytes) -> None:
        if not self._has_room(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        self._write(path, content)
