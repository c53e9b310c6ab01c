"""Absolute paths, and folders and files that only their owner can read: mode 0700 and 0600, whatever the umask."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path


def whole_path(path: Path | str) -> Path:
    """Return an absolute path without `..`, so that two spellings of one file compare equal.

    A relative path is resolved against the current folder. A link before `..` is followed, as the system does; others
    are kept.
    """
    whole = Path(path).absolute()
    return whole.resolve() if ".." in whole.parts else whole


def make_private_folder(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700; existing ones keep their mode.

    Raises:
        OSError: The system refuses, or the path exists and is not a folder.
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
        path.chmod(0o700)  # a umask may remove permissions that the owner needs


def open_private(path: Path, flags: int) -> int:
    """Return a descriptor of a file; a missing file is created with mode 0600, an existing one keeps its mode.

    Args:
        path: The file.
        flags: As for `os.open`; `O_CREAT` allows creating it.

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
