"""Folders and files that only their owner may read: mode 0700 and 0600, whatever the umask of the process."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path


def make_private_folder(path: Path) -> None:
    """Make a folder and its parents, those that are missing with mode 0700; what is there stays as it is.

    Raises:
        OSError: The system refuses, or something else than a folder stands there.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_private_folder(path.parent)
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102 - the same, and shows that nothing else is done
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    else:
        path.chmod(0o700)  # a umask may take away what the owner needs


def open_private(path: Path, flags: int) -> int:
    """Return a descriptor of a file, which is made with mode 0600 if it is not there; one that is there keeps its mode.

    Args:
        path: The file.
        flags: As `os.open` takes them; whether it may be made (`O_CREAT`) is among them.

    Raises:
        OSError: The system refuses.
    """
    flags |= os.O_CLOEXEC
    if flags & os.O_CREAT and not flags & os.O_EXCL:
        with suppress(FileExistsError):
            return _made(path, flags | os.O_EXCL)
        return os.open(path, flags, 0o600)
    return _made(path, flags) if flags & os.O_CREAT else os.open(path, flags)


def _made(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
