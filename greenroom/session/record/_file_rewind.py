"""Setting files back to how they were when a message of the user's arrived: what a session needs for it.

Rule 1: what tools change is kept by the session, whichever agent it is; side runs over the notes of an agent are left out.
Rule 2: nothing that may change a file is begun before the files that are known were looked at.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from greenroom.core import JournalError, Recorder, UsageError
from greenroom.core.ports import Ports
from greenroom.session._catalog import EVENTS
from greenroom.session._events import FilesRewound
from greenroom.tools.checkpoints import FILES, FileCheckpoints, FileRewind
from greenroom.trace import open_journal


async def open_checkpoints(
    run_folder: Path, write: Callable[[Path, bytes], None], ports: Ports, *, is_on: bool | None, is_new: bool = False
) -> FileCheckpoints | None:
    """Return the checkpoints of a run; None where it keeps none.

    Args:
        run_folder: Of the run.
        write: Takes lines for the end of a file of the run folder.
        ports: Disk and threads.
        is_on: Whether it is to keep some; None: if it has some.
        is_new: True if the run has just begun, so that it has none.

    Raises:
        JournalError: Those that there are cannot be read.
    """
    folder, run = run_folder / FILES, ports.blocking.run
    if is_on is False or (is_on is None and (is_new or not await run(folder.is_dir))):
        return None
    try:
        return await run(partial(FileCheckpoints, folder, disk=ports.disk, write=write))
    except OSError as error:
        raise JournalError(str(folder), f"what was kept of files cannot be read: {error.strerror or error}") from error


def looking_first(
    checkpoints: FileCheckpoints | None, wait_durable: Callable[[], Awaitable[None]], ports: Ports
) -> Callable[[], Awaitable[None]]:
    """Return what is awaited before a call that may change something: files are looked at, and all is recorded."""
    if checkpoints is None:
        return wait_durable

    async def wait() -> None:
        if checkpoints.must_look:
            await ports.blocking.run(checkpoints.look)
        await wait_durable()

    return wait


async def rewind_on_record(
    checkpoints: FileCheckpoints | None, message_id: str, *, dry_run: bool, recorder: Recorder, ports: Ports
) -> FileRewind:
    """Set files back, and emit that it was done.

    Raises:
        UsageError: Nothing is kept, or not of that message.
    """
    if checkpoints is None:
        raise UsageError(
            "File rewinding is not enabled: nothing was kept; set fileCheckpointingEnabled in the settings"
        )
    done = await ports.blocking.run(partial(checkpoints.rewind, message_id, is_dry_run=dry_run))
    if not dry_run:
        recorder.emit(
            FilesRewound(
                message=message_id,
                restored=len(done.restored),
                removed=len(done.removed),
                insertions=done.insertions,
                deletions=done.deletions,
                error=done.error,
            )
        )
    return done


async def rewind_run(
    run_folder: Path, message_id: str, *, dry_run: bool = False, ports: Ports | None = None
) -> FileRewind:
    """Set the files that a run has changed back to how they were when a message of the user's arrived.

    Like `session.files.rewind`, whatever the settings say now.

    Args:
        run_folder: Of the run; see `find_session`.
        message_id: The uuid of the message's line in the transcript, or what the host called it.
        dry_run: Change nothing, and only say what would be.
        ports: By default the machine's.

    Raises:
        UsageError: Nothing was kept, there is no such message, or what was kept of it had to go.
        JournalError: Another process has resumed the run, or the rewind cannot be recorded.
    """
    ports = ports or Ports()
    async with open_journal(run_folder, ports=ports, catalog=EVENTS, run=run_folder.name) as journal:
        checkpoints = await open_checkpoints(run_folder, journal.write_before, ports, is_on=None)
        rewind = partial(rewind_on_record, checkpoints, message_id, dry_run=dry_run)
        return await rewind(recorder=journal.recorder, ports=ports)
