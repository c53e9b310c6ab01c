"""The journal that is meant on a command line."""

from __future__ import annotations

from pathlib import Path

from greenroom.core import UsageError
from greenroom.trace import JOURNAL, find_run


def find_journal(run: str, runs: Path) -> Path:
    """Return a journal file: as `find_run`, or `STATE/ID` for the session of a gateway.

    Args:
        run: As for `find_run`; or the state folder of a gateway and, behind a slash, the id of a run or of a session, or its beginning, or
            a session key.
        runs: The folder of runs.

    Raises:
        UsageError: It does not exist.
        JournalError: The gateway's journal cannot be read.
    """
    try:
        return find_run(run, runs)
    except UsageError:
        state, _, name = run.rpartition("/")
        if not name or not (Path(state) / JOURNAL).is_file():
            raise
    from greenroom.gateway.record import find_session_journal

    return find_session_journal(Path(state), name)
