"""The command `greenroom sweep`: remove old runs, and worktrees of agents that no longer exist, and print what was done with each.

Exit codes are 0, 1 when something could not be removed, 2 for a mistake in the command. What `--json` prints keeps its
keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import trio

from greenroom.core import UsageError
from greenroom.core.ports import SystemClock
from greenroom.core.sources import Diagnostic, Kind, find_places
from greenroom.session import SettingSource, SweepReport, load_settings, sweep_runs
from greenroom.store import CLEANUP_PERIOD_DAYS, RetentionSettings, RetentionVerdict
from greenroom.terminal import Page, counted, note, typed
from greenroom.trace import runs_folder
from greenroom.worktrees import Fate, NoRepository, Release, WorktreeError, Worktrees, WorktreeSettings

SWEPT: Final = 0
NOT_SWEPT: Final = 1
_PERIODS: Final = ("cleanupPeriodDays", "max_runs_bytes")


def sweep_command(
    *,
    runs: Path | None = None,
    days: int | None = None,
    max_bytes: int | None = None,
    keep_newest: int = 1,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Remove old runs: journals, transcripts, outputs and reports.

    The run of a living session stays, and so does a run that holds a file
    called keep, and whatever is not beyond doubt a run. Worktrees of agents
    that are no more go too, once they are as old and hold no work: those of
    the repository around the current folder, unless --runs says otherwise.

    Parameters
    ----------
    runs
        The folder of the runs; by default GREENROOM_RUNS, or .greenroom/runs in the project of the current folder.
    days
        Remove runs that have not changed for this number of days; by default the setting cleanupPeriodDays, or 30.
    max_bytes
        Remove the oldest runs until all together take up no more than this; by default the setting
        max_runs_bytes, or no limit.
    keep_newest
        Always keep this number of the most recently changed runs.
    dry_run
        Remove nothing; only say what would be removed.
    json
        Print one JSON object instead of lines.
    """
    for flag, number, least in (("--days", days, 1), ("--max-bytes", max_bytes, 1), ("--keep-newest", keep_newest, 0)):
        if number is not None and number < least:
            raise UsageError(f"{flag} must be at least {least}, got {number}")
    # The retention of runs applies even in untrusted projects; a mistake in their settings must not prevent the removal.
    found = load_settings(find_places(Path.cwd()), SettingSource, is_trusted=True, is_lenient=True)
    unclear = [problem for problem in found.diagnostics if _may_hide_period(problem)]
    if unclear and days is None:
        raise UsageError(f"{unclear[0]}; nothing is removed: correct it, or say --days")
    for diagnostic in found.diagnostics:
        note(str(diagnostic))
    said = found.scalars
    settings = RetentionSettings(
        cleanup_period_days=_first(days, said.cleanupPeriodDays, CLEANUP_PERIOD_DAYS),
        max_runs_bytes=_first(max_bytes, said.max_runs_bytes, None),
        keep_newest=keep_newest,
    )
    folder = runs_folder(runs)
    if runs is not None and not folder.is_dir():
        raise UsageError(f"--runs: {folder} is not a directory; leave it out for the runs of the current project")
    report = sweep_runs(folder, settings, now=SystemClock().wall(), is_dry_run=dry_run)
    trees: list[Release] | None = None
    errors = list(report.errors)
    if runs is None and not dry_run:
        trees, more = trio.run(_sweep_worktrees, said.worktree.made(settings.cleanup_period_days))
        errors += more
    _page(folder, report, trees, errors, is_dry_run=dry_run).print(is_json=json)
    return NOT_SWEPT if errors else SWEPT


def _page(
    folder: Path, report: SweepReport, trees: Sequence[Release] | None, errors: Sequence[str], *, is_dry_run: bool
) -> Page:
    """Return what is printed; `trees` are the worktrees that were looked at, None if none were."""
    verb = "would be removed" if is_dry_run else "removed"
    facts: dict[str, Any] = {
        "runs": str(folder),
        "dry_run": is_dry_run,
        "removed": _facts(report.removed),
        "kept": _facts(report.kept),
        "errors": list(errors),
        "freed_bytes": report.freed_bytes,
    }
    if trees is not None:
        facts["worktrees"] = [_fact(tree) for tree in trees]
    lines = [f"{verdict.run.id}  {verb}: {verdict.why}" for verdict in report.removed]
    lines += [f"{verdict.run.id}  kept: {verdict.why}" for verdict in report.kept]
    lines += [f"{typed(tree.worktree.path)}  {_became(tree)}" for tree in trees or ()]
    lines += errors
    lines.append(
        f"{typed(folder)}: {counted(len(report.removed), 'run')} {verb} ({report.freed_bytes:,} bytes), "
        f"{len(report.kept)} kept"
    )
    return Page(facts=facts, lines=lines)


async def _sweep_worktrees(settings: WorktreeSettings) -> tuple[list[Release], list[str]]:
    """Sweep the worktrees around the current folder; returns what became of each, and what could not be done."""
    try:
        return await Worktrees(settings).sweep(cwd=Path.cwd()), []
    except NoRepository:
        return [], []
    except (WorktreeError, OSError) as error:
        return [], [f"the worktrees could not be swept: {error}"]


def _became(one: Release) -> str:
    return "worktree removed" if one.fate is Fate.REMOVED else f"worktree kept: {one.why}"


def _fact(one: Release) -> dict[str, str]:
    return {"path": str(one.worktree.path), "branch": one.worktree.branch, "fate": one.fate.value, "why": one.why}


def _may_hide_period(problem: Diagnostic) -> bool:
    """Return True if a file that was not understood may say how long runs are kept."""
    return problem.kind is Kind.BROKEN or any(key in problem.text for key in _PERIODS)


def _first(*values: Any) -> Any:
    """Return the first that was said."""
    return next((value for value in values if value is not None), None)


def _facts(verdicts: Sequence[RetentionVerdict]) -> list[dict[str, Any]]:
    return [{"run": verdict.run.id, "bytes": verdict.run.size_bytes, "why": verdict.why} for verdict in verdicts]
