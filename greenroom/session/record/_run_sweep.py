"""Removing old runs: what is on disk is looked at, the decision is carried out, and every run is accounted for.

Rule 1: nothing outside a run folder is touched, and no link is followed. Rule 2: what goes is proven to be a run of ours
that nobody writes: its journal says its own name, and the lock of the run is held while it goes. Rule 3: a run goes in one
step, so that nobody meets half of one; what is left of it by a crash goes with the next sweep.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import JournalError, is_session_id
from greenroom.store import RetentionSettings, RetentionVerdict, StoredRun, decide_retention
from greenroom.trace import JOURNAL, LOCK, hold_run, is_held, read_header

KEEP: Final = "keep"
"""A run that contains a file with this name is never removed."""
REMOVING: Final = ".removing-"
"""Begins the name of what is being removed; no reader of runs looks at such a folder."""


@final
@attrs.frozen(kw_only=True)
class SweepReport:
    """The result of a sweep."""

    removed: tuple[RetentionVerdict, ...]
    """Each with the reason; in a dry run, what would be removed."""
    kept: tuple[RetentionVerdict, ...]
    errors: tuple[str, ...]
    """Failures, each in one sentence; the next sweep tries again."""
    leftovers: int
    """Folders of earlier sweeps that had been cut short, and are gone now."""

    @property
    def freed_bytes(self) -> int:
        """The bytes that the removed runs took up."""
        return sum(removal.run.size_bytes for removal in self.removed)


def sweep_runs(
    runs: Path,
    settings: RetentionSettings | None = None,
    *,
    now: datetime,
    is_dry_run: bool = False,
    only: Collection[str] | None = None,
) -> SweepReport:
    """Remove the runs that the settings no longer keep; it blocks, so call it through the port.

    Kept in any case: the run of a living session; a run with a file called `keep` in it; one whose journal does not say its
    name, that is a link, holds another file system, cannot be read in full, or changed after `now`.

    Args:
        runs: The folder of the runs. Entries that are not named like a run are ignored.
        settings: How long runs are kept; by default 30 days.
        now: Date and time.
        is_dry_run: Only say what would be removed.
        only: Ids of the runs that are looked at; by default all.
    """
    errors: list[str] = []
    names = _names(runs, errors)
    leftovers = 0 if is_dry_run else sum(_finish(runs / name, errors) for name in names if name.startswith(REMOVING))
    found = [_look_at(runs / name) for name in names if is_session_id(name) and (only is None or name in only)]
    removed: list[RetentionVerdict] = []
    kept: list[RetentionVerdict] = []
    for verdict in decide_retention(found, settings or RetentionSettings(), now_s=now.timestamp()):
        outcome = _carry_out(runs, verdict, errors, is_dry_run=is_dry_run) if verdict.is_due else verdict
        (removed if outcome.is_due else kept).append(outcome)
    return SweepReport(removed=tuple(removed), kept=tuple(kept), errors=tuple(errors), leftovers=leftovers)


# --- looking ----------------------------------------------------------------------------------------------------------


def _names(runs: Path, errors: list[str]) -> list[str]:
    try:
        return sorted(path.name for path in runs.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        errors.append(f"{str(runs)!r} cannot be read: {error.strerror or error}")
        return []


def _look_at(folder: Path) -> StoredRun:
    """Return what is known of a run; whatever cannot be seen for certain is a doubt."""
    size_bytes, changed_s = 0, 0.0
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return StoredRun(id=folder.name, size_bytes=0, changed_s=status.st_mtime, doubt="no folder")
        changed_s = status.st_mtime
        for entry in _below(folder):
            one = entry.stat(follow_symlinks=False)
            if one.st_dev != status.st_dev:
                return _doubtful(folder, size_bytes, changed_s, "holds another file system")
            size_bytes += one.st_size
            if entry.name != LOCK:  # a check of who holds it changes nothing
                changed_s = max(changed_s, one.st_mtime)
        if os.path.lexists(folder / KEEP):
            return _doubtful(folder, size_bytes, changed_s, f"holds a file called {KEEP}")
        if not (folder / LOCK).is_file():
            return _doubtful(folder, size_bytes, changed_s, f"has no {LOCK}, so nobody knows who writes it")
        if read_header(folder / JOURNAL).run != folder.name:
            return _doubtful(folder, size_bytes, changed_s, "its journal is that of another run")
    except OSError as error:
        return _doubtful(folder, size_bytes, changed_s, f"cannot be read in full: {error.strerror or error}")
    except JournalError:
        return _doubtful(folder, size_bytes, changed_s, "has no journal that says it is a run")
    return StoredRun(id=folder.name, size_bytes=size_bytes, changed_s=changed_s)


def _below(folder: Path) -> Iterator[os.DirEntry[str]]:
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def _doubtful(folder: Path, size_bytes: int, changed_s: float, doubt: str) -> StoredRun:
    return StoredRun(id=folder.name, size_bytes=size_bytes, changed_s=changed_s, doubt=doubt)


# --- removing ---------------------------------------------------------------------------------------------------------


def _carry_out(runs: Path, verdict: RetentionVerdict, errors: list[str], *, is_dry_run: bool) -> RetentionVerdict:
    """Remove a run that is due; return what became of it."""
    folder = runs / verdict.run.id
    if is_dry_run:
        return _kept(verdict, "of a living session") if is_held(folder) else verdict
    gone = runs / f"{REMOVING}{folder.name}"
    try:
        with hold_run(folder):
            # Another process may have resumed it, and left, since the check.
            if _look_at(folder).changed_s != verdict.run.changed_s:
                return _kept(verdict, "changed a moment ago")
            folder.rename(gone)
    except JournalError:
        return _kept(verdict, "of a living session, or its lock cannot be had")
    except OSError as error:
        errors.append(f"the run {folder.name} cannot be removed: {error.strerror or error}")
        return _kept(verdict, "cannot be removed")
    _finish(gone, errors)
    return verdict


def _kept(verdict: RetentionVerdict, why: str) -> RetentionVerdict:
    return RetentionVerdict(verdict.run, is_due=False, why=why)


def _finish(gone: Path, errors: list[str]) -> bool:
    """Remove a folder that is not a run any more; return True if it is gone."""
    if not is_session_id(gone.name.removeprefix(REMOVING)):
        return False
    try:
        shutil.rmtree(gone)
    except OSError as error:
        errors.append(f"{str(gone)!r} cannot be removed in full: {error.strerror or error}")
        return False
    return True
