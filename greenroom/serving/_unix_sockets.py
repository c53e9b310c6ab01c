"""Unix sockets of one user: a file of mode 0600 in a folder of that user that nobody else can write."""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path
from typing import Final

import trio

from greenroom.core import UsageError

MAX_PATH: Final = 100
"""Maximum length of the path of a socket, in bytes; systems allow 104 to 108."""


async def open_unix_listener(path: Path, *, backlog: int) -> trio.SocketListener:
    """Listen on a Unix socket. What a process that has ended left there is replaced; who closes the listener removes the file.

    Args:
        path: The socket; its folder has to be there.
        backlog: Number of connections that may wait to be accepted.

    Raises:
        UsageError: The path is not one of `check_path`, or somebody listens there.
        OSError: The socket cannot be made.
    """
    check_path(path)
    await _remove_stale(path)
    listening = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        await listening.bind(str(path))
    except BaseException:
        listening.close()
        raise
    finally:
        os.umask(before)
    listening.listen(backlog)
    return trio.SocketListener(listening)


def check_path(path: Path) -> None:
    """Refuse a path at which no socket of this user's can be trusted. It looks at the disk.

    Raises:
        UsageError: It is too long or not absolute, its folder is not there, is another user's or can be written by others, or a
            link or something else lies there.
    """
    if not path.is_absolute():
        raise UsageError(f"the path of a socket must be absolute, got {str(path)!r}")
    if len(os.fsencode(path)) > MAX_PATH:
        raise UsageError(f"the path of a socket must have at most {MAX_PATH} bytes, {str(path)!r} has more")
    try:
        folder = path.parent.stat()
    except OSError as error:
        raise UsageError(f"the folder of the socket {str(path)!r} cannot be read: {error.strerror}") from None
    if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid() or folder.st_mode & 0o022:
        raise UsageError(f"{str(path.parent)!r} must be a folder of yours that nobody else can write: chmod 700 it")
    try:
        there = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"the socket {str(path)!r} cannot be read: {error.strerror}") from None
    if not stat.S_ISSOCK(there.st_mode):
        raise UsageError(f"{str(path)!r} is no socket; remove it, or choose another path")
    if there.st_uid != os.getuid():
        raise UsageError(f"the socket {str(path)!r} is another user's")


async def _remove_stale(path: Path) -> None:
    """Remove a socket on which nobody listens any more.

    Raises:
        UsageError: Somebody listens there.
    """
    try:
        stream = await connect_unix(path)
    except FileNotFoundError:
        return
    except ConnectionRefusedError:  # any other error may come from a listener that is only busy
        path.unlink(missing_ok=True)  # noqa: ASYNC240 - one quick call
        return
    except OSError as error:
        raise UsageError(f"cannot listen on {str(path)!r}: {error.strerror}") from None
    await trio.aclose_forcefully(stream)
    raise UsageError(f"another process listens on {str(path)!r}")


async def connect_unix(path: Path) -> trio.SocketStream:
    """Connect to a Unix socket.

    Raises:
        OSError: That is impossible; `ConnectionRefusedError` if nobody listens there.
    """
    made = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        await made.connect(str(path))
    except BaseException:
        made.close()
        raise
    return trio.SocketStream(made)


def is_same_user(stream: trio.SocketStream) -> bool:
    """Return False if the process on the other end is another user's; where the system does not say, the modes of the files count."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", stream.socket.getsockopt(socket.SOL_SOCKET, option, size))
    return bool(user == os.getuid())
