"""Plans of schedules: what is due, what was missed, what is replaced, what has expired, and when to look again.

Rule 1: each planned time has one item, named `<schedule>@<time>`, so that a second process or a restart makes no second one. Rule 2:
several times that have passed since the last look make one item, for the latest, which names the others. Rule 3: an item that still waits
when the next one is due is replaced by it. Rule 4: nothing ends silently: misses, replacements and expiries are part of the plan.
Rule 5: a clock that is set back by more than three hours was wrong before: times count from where it is now; after a smaller step none comes
twice. This module must not depend on the clock, the disk or Trio: sessions and other hosts carry the plan out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.inbox._cron_times import CronTimes
from greenroom.inbox._interval_times import IntervalTimes

LIFE: Final = timedelta(days=7)
"""The age at which a recurring schedule ends, unless it is durable."""
LATE: Final = timedelta(seconds=120)
"""The delay from which a time counts as missed: twice the longest interval between two looks at the clock."""
CORRECTION: Final = timedelta(hours=3)
"""The step back from which a clock counts as corrected."""
MAX_NAMED: Final = 10
"""Maximum number of missed times that an item names."""
MAX_COUNTED: Final = 1_000
"""Maximum number of missed times that are counted; it stands for this many or more."""


@final
@attrs.frozen(kw_only=True)
class Schedule:
    """When something is due: again and again by an expression, or once."""

    id: str
    created: datetime
    """In UTC; the first time is after it."""
    cron: CronTimes | IntervalTimes | None = None
    """The times of a recurring schedule; for a one-shot one the expression that gave its time, if any did."""
    at: datetime | None = None
    """The time of a one-shot schedule, in UTC; None for a recurring one."""
    ends: datetime | None = None
    """The moment after which it is not due any more, in UTC; None for no end."""
    catches_up: bool = True
    """True if what passed while nobody looked is due at the next opening; False if it is only reported."""

    def __attrs_post_init__(self) -> None:
        if self.cron is None and self.at is None:
            raise UsageError(f"schedule {self.id!r} must have an expression or a time")

    @property
    def is_recurring(self) -> bool:
        """True if it is due more than once."""
        return self.at is None

    def times(self, after: datetime) -> Iterator[datetime]:
        """Yield its times after a moment, up to its end, in UTC and in order."""
        if self.at is not None:
            return iter((self.at,) if self.at > after else ())
        assert self.cron is not None
        ends = self.ends
        found = self.cron.times(after)
        return found if ends is None else takewhile(lambda time: time <= ends, found)

    def after(self, moment: datetime) -> datetime | None:
        """Return its first time after a moment, in UTC; None for none."""
        return next(self.times(moment), None)


@final
@attrs.frozen(kw_only=True)
class DueItem:
    """An item that is due, or was missed."""

    schedule: str
    planned: datetime
    """The time that it is for, in UTC: the latest that has passed."""
    missed: tuple[datetime, ...] = ()
    """Times that have passed without an item, in order; `planned` is one of them if it is late. At most the first 10."""
    missed_count: int = 0
    """Number of missed times; 1,000 stands for 1,000 or more."""
    replaces: str = ""
    """The id of the item of the same schedule that waits, and that it replaces; empty for none."""

    @property
    def id(self) -> str:
        """The name of the item, which is the same whoever plans it."""
        return item_id(self.schedule, self.planned)


@final
@attrs.frozen(kw_only=True)
class SchedulePlan:
    """The plan of one look at the clock."""

    due: tuple[DueItem, ...] = ()
    """Items to hand in, in the order of their times."""
    skipped: tuple[DueItem, ...] = ()
    """What was missed and is not due any more."""
    ended: tuple[str, ...] = ()
    """One-shot schedules whose time has passed."""
    expired: tuple[str, ...] = ()
    """Recurring schedules that have come to their end."""
    set_back: tuple[str, ...] = ()
    """Schedules that count from `now` because the clock was corrected."""
    seen: Mapping[str, datetime] = attrs.field(factory=dict)
    """For each schedule that goes on the moment up to which it was planned, for the next look."""
    next: datetime | None = None
    """The next moment at which something is due or ends; None for none."""


def plan_schedules(
    schedules: Iterable[Schedule],
    seen: Mapping[str, datetime],
    now: datetime,
    *,
    waiting: Mapping[str, str] | None = None,
    is_opening: bool = False,
) -> SchedulePlan:
    """Return what is due now, and when to look again.

    Args:
        schedules: Those in force.
        seen: For each the moment up to which it was planned: its last item's time; its creation by default.
        now: The wall clock, in UTC.
        waiting: For each the id of its item that nobody has taken yet.
        is_opening: True for the first look after nobody has looked.
    """
    due: list[DueItem] = []
    skipped: list[DueItem] = []
    ended: list[str] = []
    expired: list[str] = []
    set_back: list[str] = []
    left: dict[str, datetime] = {}
    moments: list[datetime] = []
    for schedule in schedules:
        last = seen.get(schedule.id, schedule.created)
        if last - now > CORRECTION:
            last = now
            set_back.append(schedule.id)
        item = _due(schedule, last, now, (waiting or {}).get(schedule.id, ""))
        if item is not None:
            last = item.planned
            is_skipped = is_opening and not schedule.catches_up and now - item.planned > LATE
            (skipped if is_skipped else due).append(item)
        if not schedule.is_recurring and item is not None:
            ended.append(schedule.id)
        elif schedule.is_recurring and schedule.ends is not None and now >= schedule.ends:
            expired.append(schedule.id)
        else:
            left[schedule.id] = last
            following = schedule.after(last)
            moments += [moment for moment in (following, schedule.ends) if moment is not None]
    return SchedulePlan(
        due=tuple(sorted(due, key=lambda item: (item.planned, item.schedule))),
        skipped=tuple(skipped),
        ended=tuple(ended),
        expired=tuple(expired),
        set_back=tuple(set_back),
        seen=left,
        next=min(moments, default=None),
    )


def _due(schedule: Schedule, last: datetime, now: datetime, waiting: str) -> DueItem | None:
    passed = list(islice(takewhile(lambda time: time <= now, schedule.times(last)), MAX_COUNTED))
    if not passed:
        return None
    planned = passed[-1] if len(passed) < MAX_COUNTED else _latest(schedule, passed[-1], now)
    is_counted = now - planned > LATE or planned != passed[-1]
    missed = passed if is_counted else passed[:-1]
    return DueItem(
        schedule=schedule.id,
        planned=planned,
        missed=tuple(missed[:MAX_NAMED]),
        missed_count=len(missed),
        replaces=waiting,
    )


def _latest(schedule: Schedule, low: datetime, now: datetime) -> datetime:
    """Return the latest time that is not after `now`; `low` is one of them."""
    high = now
    while (following := schedule.after(low)) is not None and following <= now:
        middle = schedule.after(low + (high - low) / 2)
        if middle is not None and middle <= now:
            low = middle
        else:
            high = low + (high - low) / 2
            low = following
    return low


def item_id(schedule: str, planned: datetime) -> str:
    """Return the name of the item of a schedule for a time: `<schedule>@<time in UTC>`."""
    return f"{schedule}@{time_text(planned)}"


def time_text(moment: datetime) -> str:
    """Return a moment in UTC as text, in whole seconds: `2026-11-24T09:00:00Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def read_time_text(text: str) -> datetime:
    """Return the moment that `time_text` wrote.

    Raises:
        ValueError: It is not of that form.
    """
    return datetime.fromisoformat(text).astimezone(UTC)
