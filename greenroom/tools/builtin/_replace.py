"""Replacing a file in one step: readers see the old content or the new, never a part, and a failure leaves the old one.

Rule 1: the new content is written beside the file and renamed over it. Rule 2: the rename happens only if the file is
still the one that was looked at; within this process that is one step. Rule 3: mode and owner stay; hard links to the
old content keep the old content.
"""

from __future__ import annotations

import os
import stat
import threading
from itertools import count
from pathlib import Path
from typing import Final

from greenroom.tools._workspace import Stamp
from greenroom.tools.builtin._file_reader import Unreadable

_NEW_FILE_MODE: Final = 0o666
# Two agents may save the same file in two threads: the one that comes second has to see that it was changed.
_renaming: Final = threading.Lock()
_numbers: Final = count()


class Changed(Unreadable):
    """The file has changed since it was inspected."""


def replace_file(path: Path, content: bytes, before: os.stat_result | None, *, mode: int | None = None) -> Stamp:
    """Replace the content of `path`, or make it, and return the stamp of the new file.

    Args:
        path: With links resolved; its folder exists.
        content: All of the new content.
        before: What the file was when its content was read; None where there must be none.
        mode: Its permission bits from now on; None keeps them, and gives a new file those that new files get.

    Raises:
        Changed: The file changed, came or went since. Nothing was done.
        OSError: The system refused, or the disk is full. The old file is as it was, and nothing is left beside it.
    """
    descriptor, temporary = _open_beside(path, _NEW_FILE_MODE if before is None else 0o600)
    try:
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if before is not None:
                _keep_owner_and_mode(descriptor, before)
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
            stamp = Stamp.of(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        with _renaming:
            _refuse_changed(path, before)
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return stamp


def _open_beside(path: Path, mode: int) -> tuple[int, Path]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        # Named after us alone: the file's own name may already be as long as a name can be.
        temporary = path.with_name(f".greenroom-{os.getpid()}-{next(_numbers)}.new")
        try:
            return os.open(temporary, flags, mode), temporary
        except FileExistsError:
            continue  # left by a process that had our number and died: take the next name


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    now = os.fstat(descriptor)
    mode = stat.S_IMODE(before.st_mode)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except PermissionError:
            # The new file belongs to us, as with any editor that saves by renaming; then it must not run as another
            # user.
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(descriptor, mode)


def _refuse_changed(path: Path, before: os.stat_result | None) -> None:
    try:
        now: os.stat_result | None = os.lstat(path)
    except FileNotFoundError:
        now = None
    if before is None:
        if now is not None:
            raise Changed("it came into being meanwhile; read it first")
    elif now is None:
        raise Changed("it was removed meanwhile")
    elif Stamp.of(now) != Stamp.of(before):
        raise Changed("it was changed meanwhile; read it again")
