"""Notes that one run at a time puts in order, whatever process it belongs to.

The system lets go of the lock when its process ends, however it ends. A process that finds it held retries for a
while. Its file is there while it is held, and not among the notes that people keep. What an agent notes by itself needs no lock: Write and Edit change no file that is not as it was read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, final

import trio

from greenroom.agents.memory._folders import MemoryFolder
from greenroom.core import PeerError, make_private_folder, open_private
from greenroom.core.ports import Blocking

LOCK: Final = ".lock"
WAIT_S: Final = 60.0
_RETRY_S: Final = 0.5


@final
class NotesUnavailable(PeerError):
    """The notes of an agent cannot be put in order now.

    Attributes:
        folder: Where they lie.
        why: What is in the way.
    """

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(f"the notes in {folder} cannot be put in order: {why}")
        self.folder = folder
        self.why = why


@asynccontextmanager
async def hold_notes(memory: MemoryFolder, blocking: Blocking, *, wait_s: float = WAIT_S) -> AsyncIterator[None]:
    """Hold the lock of a folder of notes, which is made if it is not there.

    Args:
        memory: The folder.
        blocking: Where the disk is looked at.
        wait_s: Seconds to wait for somebody who holds it.

    Raises:
        NotesUnavailable: Somebody held it all that time, or the folder cannot be written.
    """
    give_up_at = trio.current_time() + wait_s
    while (descriptor := await blocking.run(_take, memory.folder)) is None:
        if trio.current_time() >= give_up_at:
            raise NotesUnavailable(memory.folder, f"somebody else has been at it for {wait_s:g} s")
        await trio.sleep(_RETRY_S)
    try:
        yield
    finally:
        with trio.CancelScope(shield=True):  # two calls of the system
            await blocking.run(_release, memory.folder, descriptor)


def _take(folder: Path) -> int | None:
    """Return the descriptor of the locked file; None where somebody else has it."""
    try:
        make_private_folder(folder)
        descriptor = open_private(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    except OSError as error:
        raise NotesUnavailable(folder, error.strerror or str(error)) from error
    is_ours = False
    try:
        import fcntl  # not on every system; without it, processes have to keep apart by themselves

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its last holder may have removed the file between our two steps: then we locked what nobody will find.
        is_ours = os.fstat(descriptor).st_ino == (folder / LOCK).stat().st_ino
    except ImportError:
        is_ours = True
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError as error:
        raise NotesUnavailable(folder, error.strerror or str(error)) from error
    finally:
        if not is_ours:
            os.close(descriptor)
    return descriptor if is_ours else None


def _release(folder: Path, descriptor: int) -> None:
    with contextlib.suppress(OSError):
        (folder / LOCK).unlink()
    os.close(descriptor)
