"""Events of scheduled prompts, and the state that they add up to.

Rule 1: an item is on record as due before it is handed in, and as fired behind that; one that is due and not fired is handed in again
under the same name. Rule 2: nothing ends without an event.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Final, final

import attrs

from greenroom.core import Event, OneOf, frozen
from greenroom.inbox import CronTimes, Schedule, read_cron, read_time_text, read_zone
from greenroom.permissions import Mode


@frozen(kw_only=True)
class ScheduleEvent(Event):
    """A fact about one schedule."""

    schedule: str
    """Its id."""


@final
@frozen(kw_only=True)
class ScheduleCreated(ScheduleEvent):
    """A prompt was scheduled."""

    kind: ClassVar[str] = "schedule.created"

    prompt: str
    """What the main agent is told."""
    created: str
    """The moment, in UTC."""
    tz: str
    """Name of the time zone."""
    cron: str = ""
    """The expression, if there is one."""
    at: str = ""
    """The time of a one-shot schedule, in UTC; empty for a recurring one."""
    ends: str = ""
    """The moment after which it is not due any more, in UTC; empty for none."""
    is_durable: bool = False
    """True if what it misses while the session is closed is caught up."""
    permission_mode: Annotated[str, OneOf(*Mode, "")] = ""
    """The permission mode that its prompts must not exceed."""


@final
@frozen(kw_only=True)
class ScheduleDeleted(ScheduleEvent):
    """A schedule was deleted."""

    kind: ClassVar[str] = "schedule.deleted"

    why: str = ""
    """The reason, if one was given."""


@final
@frozen(kw_only=True)
class ScheduleMissed(ScheduleEvent):
    """Times passed without a prompt."""

    kind: ClassVar[str] = "schedule.missed"

    times: tuple[str, ...]
    """The first of them, in UTC."""
    until: str
    """The latest time that has passed, in UTC."""
    count: int
    """Their number; 1,000 stands for 1,000 or more."""
    item: str = ""
    """The item that is due in their place and names them; empty if there is none."""


@final
@frozen(kw_only=True)
class ScheduleDue(ScheduleEvent):
    """A prompt is due; it is handed in next."""

    kind: ClassVar[str] = "schedule.due"

    item: str
    """The name of the item: the id of the schedule and the planned time."""
    planned: str
    """The planned time, in UTC."""
    missed: tuple[str, ...] = ()
    """Times that passed without a prompt and that it names, in UTC."""
    missed_count: int = 0
    """Their number; 1,000 stands for 1,000 or more."""
    replaces: int = 0
    """Number of earlier prompts in a row that nobody had read."""


@final
@frozen(kw_only=True)
class ScheduleFired(ScheduleEvent):
    """A prompt that is due was handed in."""

    kind: ClassVar[str] = "schedule.fired"

    item: str
    """The name of the item."""


@final
@frozen(kw_only=True)
class ScheduleReplaced(ScheduleEvent):
    """A prompt that nobody had read was withdrawn, because the next one is due."""

    kind: ClassVar[str] = "schedule.replaced"

    item: str
    """The name of the item that was withdrawn."""
    by: str
    """The name of the item that is due."""


@final
@frozen(kw_only=True)
class ScheduleExpired(ScheduleEvent):
    """A schedule has come to its end: its last time or its age."""

    kind: ClassVar[str] = "schedule.expired"


@final
@frozen(kw_only=True)
class ScheduleSetBack(ScheduleEvent):
    """The clock was corrected: the schedule counts from where it is now."""

    kind: ClassVar[str] = "schedule.set_back"

    now: str
    """What the clock shows, in UTC."""


@final
@frozen(kw_only=True)
class SchedulesPaused(Event):
    """No prompt is handed in as long as the budget of the session is spent."""

    kind: ClassVar[str] = "schedule.paused"

    why: str
    """What was denied."""


EVENTS: Final = (
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleMissed,
    ScheduleDue,
    ScheduleFired,
    ScheduleReplaced,
    ScheduleExpired,
    ScheduleSetBack,
    SchedulesPaused,
)


# --- the state ----------------------------------------------------------------------------------------------------------


@final
@frozen(kw_only=True)
class ScheduleView:
    """One schedule, as its events tell of it."""

    id: str
    prompt: str
    created: str
    tz: str
    cron: str = ""
    at: str = ""
    ends: str = ""
    is_durable: bool = False
    permission_mode: str = ""
    seen: str = ""
    """The moment up to which it was planned; empty for its creation."""
    pending: str = ""
    """The name of the item that is due and was not handed in yet; empty for none."""
    latest: str = ""
    """The name of the item that was handed in last."""
    missed_times: tuple[str, ...] = ()
    missed_count: int = 0
    """The times that the pending item names, and their number."""
    replaces: int = 0
    """Number of prompts in a row that nobody had read, and that the pending or latest one replaces."""
    replaced: int = 0
    """Prompts that nobody had read, and that the next one replaced."""
    fired: int = 0
    """Prompts that were handed in."""
    missed: int = 0
    """Times that passed without a prompt of their own."""

    @property
    def is_recurring(self) -> bool:
        """True if it is due more than once."""
        return not self.at

    def schedule(self) -> Schedule:
        """Return what is planned."""
        return Schedule(
            id=self.id,
            created=read_time_text(self.created),
            cron=CronTimes(self.cron, self.tz) if self.cron else None,
            at=read_time_text(self.at) if self.at else None,
            ends=read_time_text(self.ends) if self.ends else None,
            catches_up=self.is_durable,
        )

    def check(self) -> None:
        """Check that it can be planned: a journal may be damaged, and a time zone may be gone.

        Raises:
            UsageError, ValueError: It cannot.
        """
        read_zone(self.tz)
        if self.cron:
            read_cron(self.cron, self.tz)
        self.schedule()
        self.seen_at()

    def seen_at(self) -> datetime:
        """Return the moment up to which it was planned."""
        return read_time_text(self.seen or self.created)


def created(_: ScheduleView | None, event: ScheduleCreated) -> ScheduleView:
    """Begin with a new schedule."""
    return ScheduleView(
        id=event.schedule,
        prompt=event.prompt,
        created=event.created,
        tz=event.tz,
        cron=event.cron,
        at=event.at,
        ends=event.ends,
        is_durable=event.is_durable,
        permission_mode=event.permission_mode,
    )


def missed(before: ScheduleView | None, event: ScheduleMissed) -> ScheduleView | None:
    """Count what was missed."""
    if before is None:
        return None
    seen = before.seen if event.item else event.until
    return attrs.evolve(before, missed=before.missed + event.count, seen=seen)


def due(before: ScheduleView | None, event: ScheduleDue) -> ScheduleView | None:
    """Note the item that is to be handed in."""
    if before is None:
        return None
    return attrs.evolve(
        before,
        pending=event.item,
        seen=event.planned,
        missed_times=event.missed,
        missed_count=event.missed_count,
        replaces=event.replaces,
    )


def replaced(before: ScheduleView | None, _: ScheduleReplaced) -> ScheduleView | None:
    """Count an item that nobody had read."""
    return None if before is None else attrs.evolve(before, replaced=before.replaced + 1)


def fired(before: ScheduleView | None, event: ScheduleFired) -> ScheduleView | None:
    """Note that the item was handed in; a one-shot schedule has ended with it."""
    if before is None or not before.is_recurring:
        return None
    return attrs.evolve(before, pending="", latest=event.item, fired=before.fired + 1)


def ended(_: ScheduleView | None, __: ScheduleEvent) -> None:
    """Forget a schedule."""


def set_back(before: ScheduleView | None, event: ScheduleSetBack) -> ScheduleView | None:
    """Count from what the clock shows."""
    return None if before is None else attrs.evolve(before, seen=event.now)


@final
@frozen
class EndedSchedule:
    """A schedule that has ended, as it was before."""

    view: ScheduleView
    how: str
    """`fired`, `expired`, or `deleted`, with the reason if there is one."""


def end_of(before: ScheduleView, event: ScheduleEvent) -> EndedSchedule:
    """Return how an event has ended a schedule."""
    how = {ScheduleFired: "fired", ScheduleExpired: "expired"}.get(type(event), "deleted")
    why = event.why if isinstance(event, ScheduleDeleted) else ""
    return EndedSchedule(before, f"{how}: {why}" if why else how)


FOLDS: Final = (
    ("schedules", ScheduleCreated, "schedule", created),
    ("schedules", ScheduleDeleted, "schedule", ended),
    ("schedules", ScheduleMissed, "schedule", missed),
    ("schedules", ScheduleDue, "schedule", due),
    ("schedules", ScheduleFired, "schedule", fired),
    ("schedules", ScheduleReplaced, "schedule", replaced),
    ("schedules", ScheduleExpired, "schedule", ended),
    ("schedules", ScheduleSetBack, "schedule", set_back),
)
"""`(section, event class, key field, function)`, as `greenroom.trace` reads them."""
