"""The lock of a run folder: one process writes, readers need no lock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

from greenroom.core import JournalError, open_private

LOCK: Final = "run.lock"


class RunHeld(JournalError):
    """Another process writes the run, or did until a moment ago.

    Attributes:
        has_ended: Whether the process that last wrote the run has ended: then a child that it had just forked keeps the
            lock until it runs its own program.
    """

    def __init__(self, where: str, holder: str) -> None:
        super().__init__(where, f"another process writes this run (pid {holder or 'unknown'})")
        self.has_ended = holder.isdigit() and not _is_running(int(holder))


class LockState(StrEnum):
    """State of a run's lock."""

    HELD = "held"
    FREE = "free"
    """Not locked; the system releases the lock when its process ends, however it ends."""
    UNKNOWN = "unknown"
    """The system has no such locks, or the file cannot be read."""


def read_lock(folder: Path) -> tuple[LockState, int | None]:
    """Return the state of a run's lock, and the id of the last process that wrote the run, as far as recorded.

    It changes nothing: the lock is shared for an instant, without waiting, so that an active writer never notices.
    """
    try:
        import fcntl

        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return LockState.FREE, None
    except (ImportError, OSError):
        return LockState.UNKNOWN, None
    pid: int | None = None
    try:
        said = os.read(descriptor, 32).strip()
        pid = int(said) if said.isdigit() else None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return LockState.HELD, pid
    except OSError:
        return LockState.UNKNOWN, None
    finally:
        os.close(descriptor)
    return LockState.FREE, pid


def is_held(folder: Path) -> bool:
    """Return True if a process writes a run, or may: an unknown state counts as True. It changes nothing."""
    return read_lock(folder)[0] is not LockState.FREE


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder; the system releases it when the process ends, however it ends.

    Raises:
        RunHeld: Another process writes this run.
        JournalError: The lock cannot be written.
    """
    import fcntl  # missing on some systems, where readers still work

    path = folder / LOCK
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunHeld(str(folder), os.read(descriptor, 32).decode(errors="replace").strip()) from None
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            raise JournalError(str(path), f"it cannot be written: {(error.strerror or str(error)).lower()}") from None
        yield
    finally:
        os.close(descriptor)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True
