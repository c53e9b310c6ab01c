"""Folders of runs, and the lookup of a run by name.

A project's runs lie in its own `.greenroom/runs`, so that runs of different projects never mix.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Final

from greenroom.core import JournalError, UsageError, is_session_id, whole_path
from greenroom.core.ports import SystemDisk, is_uuid
from greenroom.trace._journal_reader import JOURNAL, read_header

TRANSCRIPTS: Final = "transcripts"
"""The folder of the transcripts of a run."""
LAST: Final = "last"
VARIABLE: Final = "GREENROOM_RUNS"
PROJECT_MARKS: Final = (".greenroom", ".git")


def runs_folder(
    given: Path | None = None, *, environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Path:
    """Return the folder of runs; it need not exist yet.

    Args:
        given: The value of `--runs`.
        environ: By default the environment of the process.
        cwd: By default the current folder.

    Raises:
        UsageError: Nothing is configured, and the project's folder is a link: the project's author would choose where
            the runs go.
    """
    here = whole_path(cwd or ".")
    chosen = given or (os.environ if environ is None else environ).get(VARIABLE)
    if chosen:
        return whole_path(here / chosen)
    for folder in (here, *here.parents):
        if any((folder / mark).exists() for mark in PROJECT_MARKS):
            return _not_linked(folder)
    return _not_linked(here)


def prepare_runs_folder(given: Path | None) -> Path:
    """Return the folder for runs; a new one is created with a `.gitignore`, so that version control and searches skip it.

    Raises:
        UsageError: It cannot be created, or is not a folder.
    """
    runs = runs_folder(given)
    disk = SystemDisk()
    try:
        if not runs.exists():
            disk.make_folder(runs)
            disk.append(runs / ".gitignore", b"*\n")
        elif not runs.is_dir():
            raise UsageError(f"{str(runs)!r} is not a folder; give another one with --runs")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(f"{str(runs)!r} cannot hold runs: {why}; give another folder with --runs") from error
    finally:
        disk.close()
    return runs


def _not_linked(folder: Path) -> Path:
    """Return the folder of a project's runs."""
    runs = folder / ".greenroom" / "runs"
    for path in (runs.parent, runs):
        # In the home folder it is the user's own, who may have moved it.
        if path.is_symlink() and folder != Path.home():
            raise UsageError(f"{path} must be a folder, not a link; remove it, or name a folder with --runs")
    return runs


def find_run(run: str, runs: Path, *, fits: Callable[[Path], bool] = lambda _: True) -> Path:
    """Return the journal file of a run.

    Args:
        run: A run folder, a journal file, a transcript of a run, the id of a run, or `last`.
        runs: The folder of runs.
        fits: Returns True for a run folder that `last` may select.

    Raises:
        UsageError: The run does not exist.
    """
    if run == LAST:
        return _last(runs, fits)
    for place in (whole_path(run), whole_path(runs / run)):
        if place.parent.name == TRANSCRIPTS and (place.parents[1] / JOURNAL).is_file():
            return place.parents[1] / JOURNAL  # of a transcript, by a former name too
        if place.is_file():
            return place
        if (place / JOURNAL).is_file():
            return place / JOURNAL
    raise UsageError(f"run not found: {run!r} is not a run folder, a journal file, or a run in {runs}")


def _last(runs: Path, fits: Callable[[Path], bool]) -> Path:
    """Return the latest run's journal that has a whole header; of runs of one second, the one written last."""
    try:
        names = [folder.name for folder in runs.iterdir() if is_session_id(folder.name)]
    except OSError:
        names = []
    began = sorted(((_second_of(runs / name), name) for name in names), reverse=True)
    for _, same in groupby(began, key=lambda pair: pair[0]):
        paths = [path for path in (runs / name / JOURNAL for _, name in same) if path.is_file()]
        for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            if fits(path.parent) and _has_header(path):
                return path
    raise UsageError(f"no run in {runs} yet")


def _second_of(folder: Path) -> str:
    """Return when a run began, from its generated id; for another id, from its journal."""
    if not is_uuid(folder.name):
        return folder.name.rpartition("-")[0]
    try:
        started = datetime.fromisoformat(read_header(folder / JOURNAL).started or "")
    except (JournalError, ValueError):
        return ""
    return f"{started:%Y%m%d-%H%M%S}"


def _has_header(path: Path) -> bool:
    try:
        read_header(path)
    except JournalError:
        return False
    return True
