"""Decision which runs may be removed.

A run is removed as a whole or not at all. Doubtful runs are kept, and so are the latest. Each decision has its reason.
Pure: no clock, no disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import checked

CLEANUP_PERIOD_DAYS: Final = 30
DAY_S: Final = 24 * 3600.0
SKEW_S: Final = 3600.0
"""Tolerance for files newer than the clock, as on a network share; beyond it, the clock cannot be trusted."""


def _at_least(least: int) -> Any:
    def check(_: Any, attribute: attrs.Attribute[int], value: int | None) -> None:
        if value is not None and value < least:
            raise UsageError(f"{attribute.name} must be {least} or more, got {value!r}")

    return check


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class RetentionSettings:
    """Retention of runs, with their transcripts, outputs and journals."""

    cleanup_period_days: int = attrs.field(default=CLEANUP_PERIOD_DAYS, validator=_at_least(1))
    """Days since a run's last change after which it is removed."""
    max_runs_bytes: int | None = attrs.field(default=None, validator=_at_least(1))
    """Maximum size of all runs together: the oldest are removed first, whatever their age; None for no limit."""
    keep_newest: int = attrs.field(default=1, validator=_at_least(0))
    """Number of latest runs that are kept, whatever their age and size."""


@final
@attrs.frozen(kw_only=True)
class StoredRun:
    """Known facts about a run on disk."""

    id: str
    size_bytes: int
    changed_s: float
    """Time of the last change of any file, in seconds of the Unix epoch."""
    doubt: str = ""
    """Reason to keep it, as words that follow its id; empty if there is none."""


@final
@attrs.frozen
class RetentionVerdict:
    """Decision about a run."""

    run: StoredRun
    is_due: bool
    """True if it is to be removed."""
    why: str


def decide_retention(runs: Sequence[StoredRun], settings: RetentionSettings, *, now_s: float) -> list[RetentionVerdict]:
    """Return the decision about each run, least recently changed first.

    Args:
        runs: All runs; kept ones count for the size too.
        settings: The retention settings.
        now_s: The time, in seconds of the Unix epoch.
    """
    oldest_first = sorted(runs, key=lambda run: (run.changed_s, run.id))
    newest = {run.id for run in oldest_first[max(0, len(runs) - settings.keep_newest) :]}
    left_bytes = sum(run.size_bytes for run in runs)
    verdicts = []
    for run in oldest_first:
        verdict = _verdict(run, settings, now_s=now_s, is_newest=run.id in newest, left_bytes=left_bytes)
        if verdict.is_due:
            left_bytes -= run.size_bytes
        verdicts.append(verdict)
    return verdicts


def _verdict(
    run: StoredRun, settings: RetentionSettings, *, now_s: float, is_newest: bool, left_bytes: int
) -> RetentionVerdict:
    if run.doubt:
        return RetentionVerdict(run, is_due=False, why=run.doubt)
    age_s = now_s - run.changed_s
    if age_s < -SKEW_S:
        return RetentionVerdict(run, is_due=False, why="changed later than now: the clock cannot be trusted")
    days = int(age_s // DAY_S)
    is_over = settings.max_runs_bytes is not None and left_bytes > settings.max_runs_bytes
    is_old = age_s > settings.cleanup_period_days * DAY_S
    if not is_old and not is_over:
        return RetentionVerdict(run, is_due=False, why=f"last changed {days} days ago")
    if is_newest:
        return RetentionVerdict(run, is_due=False, why=f"one of the newest ({settings.keep_newest} are kept)")
    if is_old:
        return RetentionVerdict(run, is_due=True, why=f"last changed {days} days ago")
    return RetentionVerdict(
        run, is_due=True, why=f"all runs together take up more than {settings.max_runs_bytes:,} bytes"
    )
