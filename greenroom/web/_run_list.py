"""The runs of a folder, for a list: what their headers and their last lines say."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, final

from greenroom.core import JournalError, is_session_id
from greenroom.gateway.record import events_of
from greenroom.session import SessionBegan
from greenroom.trace import JOURNAL, LockState, RunIndex, has_ended, read_end, read_lock

MAX_RUNS: Final = 100
"""Maximum number of runs that are listed."""
_LAST: Final = 50
"""Events at the end of a run that say whether it has ended."""


@final
class RunList:
    """The runs that a page may show.

    Args:
        named: The journal that was asked for; None until `show` names one.
        runs: The folder of runs; None to show the one that was asked for alone.
    """

    def __init__(self, named: Path | None, runs: Path | None) -> None:
        self.named = ""
        """The name of the run that was asked for; empty if there is none yet."""
        self._journal: Path | None = None
        self._runs = runs
        if named is not None:
            self.show(named)

    def show(self, journal: Path) -> None:
        """Have a page begin with this run."""
        self.named, self._journal = journal.parent.name, journal

    def find(self, run: str) -> Path | None:
        """Return the journal of a run by the name of its folder; None for any other text, which is never part of a path, and for links."""
        journal = self._journals().get(run)
        return journal if journal is not None and self._is_shown(journal) else None

    def rows(self) -> list[dict[str, Any]]:
        """Return what there is to say of the runs that were written last: those that go on first, then the latest. It blocks."""
        latest = sorted(self._journals().items(), key=lambda item: _written_s(item[1]), reverse=True)
        readable = (
            row for run, journal in latest if self._is_shown(journal) and (row := _row(run, journal)) is not None
        )
        rows = sorted(islice(readable, MAX_RUNS), key=lambda row: str(row["started"]), reverse=True)
        return sorted(rows, key=lambda row: row["standing"] != "running")

    def _is_shown(self, journal: Path) -> bool:
        """True if a journal lies in the folder of runs itself; a link may lead anywhere, and is followed for the run that was asked for alone."""
        return journal == self._journal or not (journal.is_symlink() or journal.parent.is_symlink())

    def _journals(self) -> Mapping[str, Path]:
        found: dict[str, Path] = {}
        if self._runs is not None:
            try:
                names = [folder.name for folder in self._runs.iterdir() if is_session_id(folder.name)]
            except OSError:
                names = []
            found = {name: self._runs / name / JOURNAL for name in names}
        return found if self._journal is None else {**found, self.named: self._journal}


def _written_s(journal: Path) -> float:
    """Return when a journal was written last, in seconds of the epoch; 0 if it does not exist."""
    try:
        return journal.stat().st_mtime
    except OSError:
        return 0.0


def _row(run: str, journal: Path) -> dict[str, Any] | None:
    """Return the row of a run; None if its journal cannot be read."""
    try:
        events = events_of(journal)
        index = RunIndex(journal, events)
        try:
            index.grow()
            begin = next((entry for entry in index.entries(0, 50) if isinstance(entry.event, SessionBegan)), None)
        finally:
            index.close()
        end = read_end(journal, events, count=_LAST).entries
    except JournalError:
        return None
    if index.header is None:
        return None
    if has_ended(end):
        standing = "ended"
    else:
        standing = "broken off" if read_lock(journal.parent)[0] is LockState.FREE else "running"
    return {
        "run": run,
        "started": index.header.started,
        "branch_of": str(index.header.about.get("from_run") or ""),
        "title": begin["title"] if begin is not None else "",
        "cwd": Path(begin["cwd"]).name if begin is not None else "",
        "model": begin["model"] if begin is not None else "",
        "events": end[-1].seq if end else 0,
        "took_s": end[-1].t if end else 0.0,
        "standing": standing,
    }
