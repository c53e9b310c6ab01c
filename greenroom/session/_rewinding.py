"""Setting files back to how they were when a message of the user's arrived: what a session needs for it.

Rule 1: what tools change is kept by the session, whichever agent it is; side runs over the notes of an agent are left out.
Rule 2: nothing that may change a file is begun before the files that are known were looked at.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from greenroom.core import Ids, JournalError, Ports, Recorder, UsageError
from greenroom.session._events import FilesRewound
from greenroom.session._recording import Recording
from greenroom.store import new_uuid
from greenroom.supervisor import Runtime
from greenroom.tools.checkpoints import FILES, FileCheckpoints, FileRewind


async def open_checkpoints(
    run_folder: Path, write: Callable[[Path, bytes], None], ports: Ports, *, is_on: bool | None
) -> FileCheckpoints | None:
    """Return the checkpoints of a run; None where it keeps none.

    Args:
        run_folder: Of the run.
        write: Takes lines for the end of a file of the run folder.
        ports: Disk and threads.
        is_on: Whether it is to keep some; None: if it has some.

    Raises:
        JournalError: Those that there are cannot be read.
    """
    folder, run = run_folder / FILES, ports.blocking.run
    if is_on is False or (is_on is None and not await run(folder.is_dir)):
        return None
    try:
        return await run(partial(FileCheckpoints, folder, disk=ports.disk, write=write))
    except OSError as error:
        raise JournalError(str(folder), f"what was kept of files cannot be read: {error.strerror or error}") from error


def looking_first(
    checkpoints: FileCheckpoints | None, wait_durable: Callable[[], Awaitable[None]], ports: Ports
) -> Callable[[], Awaitable[None]]:
    """Return what is awaited before a call that may change something: files are looked at, and all is on record."""
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


class OfFiles:
    """What a session does with files that its tools have changed; a part of `Session`."""

    runtime: Runtime
    checkpoints: FileCheckpoints | None
    """How files were when messages of the user's arrived; None where nothing is kept."""
    _recording: Recording
    _ports: Ports

    async def rewind_files(self, message_id: str, *, dry_run: bool = False) -> FileRewind:
        """Set the files that tools have changed back to how they were when a message of the user's arrived.

        Files made since are removed, and those changed or deleted since are as they were, whoever changed them; of what only
        commands changed nothing is known. The conversation stays as it is. Afterwards one can go back to later messages as well.
        Cancelled, it is done to its end. With `fileCheckpointingEnabled`.

        Args:
            message_id: The uuid of its line in the transcript, or what `run` or `send` was told that the host calls it.
            dry_run: Change nothing, and only say what would be.

        Returns:
            Which files those are; what could not be set back is in its `error`.

        Raises:
            UsageError: Nothing is kept, there is no such message, or what was kept of it had to go.
            JournalError: It could not be put on record; it is done.
        """
        if not dry_run:
            self._recording.check_open()
        recorder = self.runtime.recorder
        done = await rewind_on_record(
            self.checkpoints, message_id, dry_run=dry_run, recorder=recorder, ports=self._ports
        )
        if not dry_run:
            await self._recording.commit()
        return done

    def _new_message(self, message_id: str) -> str:
        """Return the uuid that the next message of the user's gets, by which files can be set back; empty for any."""
        if self.checkpoints is None:
            return ""
        ids: Ids = self._ports.ids
        uuid = new_uuid(ids)
        self.checkpoints.call(uuid, message_id)
        return uuid
