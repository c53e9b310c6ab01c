"""Setting files back when a run is over: under the lock of the run and on its record, without a session."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from greenroom.core import Ports
from greenroom.session._open import EVENTS
from greenroom.session._rewinding import open_checkpoints, rewind_on_record
from greenroom.tools.checkpoints import FileRewind
from greenroom.trace import open_journal


async def rewind_run(
    run_folder: Path, message_id: str, *, dry_run: bool = False, ports: Ports | None = None
) -> FileRewind:
    """Set the files that a run has changed back to how they were when a message of the user's arrived.

    As `Session.rewind_files`, whatever the settings say now.

    Args:
        run_folder: Of the run; see `find_session`.
        message_id: The uuid of the message's line in the transcript, or what the host called it.
        dry_run: Change nothing, and only say what would be.
        ports: By default the machine's.

    Raises:
        UsageError: Nothing was kept, there is no such message, or what was kept of it had to go.
        JournalError: Another process goes on with the run; or it could not be put on record.
    """
    ports = ports or Ports()
    async with open_journal(run_folder, ports=ports, catalog=EVENTS, run=run_folder.name) as journal:
        checkpoints = await open_checkpoints(run_folder, journal.write_before, ports, is_on=None)
        rewind = partial(rewind_on_record, checkpoints, message_id, dry_run=dry_run)
        return await rewind(recorder=journal.recorder, ports=ports)
