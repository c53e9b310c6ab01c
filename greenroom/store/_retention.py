"""Which runs may be removed: a decision over what is known of them.

Rule 1: a run is removed whole or not at all. Rule 2: whatever is in doubt stays, and so does what was changed last. Rule 3:
each run gets its reason, whether it goes or stays.
Must not know: clock, disk, Trio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError, checked

CLEANUP_PERIOD_DAYS: Final = 30
DAY_S: Final = 24 * 3600.0
SKEW_S: Final = 3600.0
"""By so much a file may be newer than the clock says, as on a share; more, and the clock cannot be trusted."""


def _at_least(least: int) -> Any:
    def check(_: Any, attribute: attrs.Attribute[int], value: int | None) -> None:
        if value is not None and value < least:
            raise UsageError(f"{attribute.name} has to be {least} or more, not {value!r}")

    return check


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class RetentionSettings:
    """How long runs are kept, with their transcripts, outputs and journals."""

    cleanup_period_days: int = attrs.field(default=CLEANUP_PERIOD_DAYS, validator=_at_least(1))
    """Days since a run last changed, after which it is removed."""
    max_runs_bytes: int | None = attrs.field(default=None, validator=_at_least(1))
    """What all runs together may take up: the oldest go first, however old; None for no limit."""
    keep_newest: int = attrs.field(default=1, validator=_at_least(0))
    """So many of the runs that changed last are kept, whatever their age and size."""


@final
@attrs.frozen(kw_only=True)
class StoredRun:
    """What is known of a run on disk."""

    id: str
    size_bytes: int
    changed_s: float
    """When anything in it last changed, in seconds of the Unix epoch."""
    doubt: str = ""
    """Why it has to stay, in words that follow its id; empty where nothing speaks for that."""


@final
@attrs.frozen
class Verdict:
    """What is to become of a run."""

    run: StoredRun
    is_due: bool
    """Whether it is to be removed."""
    why: str


def decide_retention(runs: Sequence[StoredRun], settings: RetentionSettings, *, now_s: float) -> list[Verdict]:
    """Return what is to become of each run, those that changed first in front.

    Args:
        runs: All there are; those that stay count for the size too.
        settings: How long they are kept.
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


def _verdict(run: StoredRun, settings: RetentionSettings, *, now_s: float, is_newest: bool, left_bytes: int) -> Verdict:
    if run.doubt:
        return Verdict(run, is_due=False, why=run.doubt)
    age_s = now_s - run.changed_s
    if age_s < -SKEW_S:
        return Verdict(run, is_due=False, why="changed later than now: the clock cannot be trusted")
    days = int(age_s // DAY_S)
    is_over = settings.max_runs_bytes is not None and left_bytes > settings.max_runs_bytes
    is_old = age_s > settings.cleanup_period_days * DAY_S
    if not is_old and not is_over:
        return Verdict(run, is_due=False, why=f"last changed {days} days ago")
    if is_newest:
        return Verdict(run, is_due=False, why=f"one of the newest ({settings.keep_newest} are kept)")
    if is_old:
        return Verdict(run, is_due=True, why=f"last changed {days} days ago")
    return Verdict(run, is_due=True, why=f"all runs together take up more than {settings.max_runs_bytes:,} bytes")
