"""Scheduled prompts of a session, and the task that waits for their times.

Rule 1: what is due is decided by the plan of schedules alone; this part carries it out. Rule 2: only the process that has the run open
hands prompts in. Rule 3: the clock is looked at again at least every minute, so that sleep and a set clock are noticed. Rule 4: an item is
on record as due before it is handed in, under a name that is the same whoever plans it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, final

import attrs
import trio

from greenroom.core import JournalError, UsageError, task_id
from greenroom.core.texts import cut_text
from greenroom.hooks.inputs import SessionCron
from greenroom.inbox import (
    LIFE,
    SCHEDULE,
    BoxFull,
    CronTimes,
    DueItem,
    plan_schedules,
    read_cron,
    read_time,
    read_zone,
    time_text,
)
from greenroom.permissions import parse_mode
from greenroom.session.assembly._session_services import Services
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.session.parts._stored_inbox import MODE
from greenroom.session.record._recovery import read_schedules
from greenroom.session.schedules._schedule_events import (
    FOLDS,
    EndedSchedule,
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleDue,
    ScheduleEvent,
    ScheduleExpired,
    ScheduleFired,
    ScheduleMissed,
    ScheduleReplaced,
    ScheduleSetBack,
    SchedulesPaused,
    ScheduleView,
    end_of,
)
from greenroom.session.schedules._schedule_settings import machine_zone
from greenroom.session.schedules._schedule_texts import moment_text, prompt_text

MAX_SCHEDULES: Final = 50
"""Maximum number of schedules of a session."""
MAX_PROMPT_CHARS: Final = 20_000
"""Maximum length of a scheduled prompt."""
LOOK_S: Final = 60.0
"""Maximum number of seconds between two looks at the clock, as long as there are schedules."""
MAX_ENDED: Final = 20
"""Maximum number of ended schedules that are kept for listings."""
_FOLD_OF: Final[Mapping[type[ScheduleEvent], Callable[..., ScheduleView | None]]] = {
    event_class: function for _, event_class, _, function in FOLDS
}


@final
@attrs.frozen(kw_only=True)
class ScheduleStatus:
    """The status of one schedule."""

    id: str
    prompt: str
    cron: str
    """The expression; empty if the schedule was given a time."""
    tz: str
    """Name of the time zone."""
    is_recurring: bool
    is_durable: bool
    permission_mode: str
    """The permission mode that its prompts do not exceed."""
    created: datetime
    """In UTC, as all of these."""
    next: datetime | None
    """Its next time; None if there is none."""
    ends: datetime | None
    """The moment after which it is not due any more; None for none."""
    is_waiting: bool
    """True if a prompt of it was handed in and has not been read."""
    fired: int
    """Prompts that were handed in."""
    missed: int
    """Times that passed without a prompt of their own."""
    replaced: int
    """Prompts that nobody had read when the next one was due."""


@final
class SessionSchedules:
    """The scheduled prompts of one session; `session.schedules`.

    Args:
        services: Those of the session.
        inbox: Takes the prompts.
    """

    def __init__(self, services: Services, inbox: SessionInbox) -> None:
        self._services = services
        self._settings = services.plan.settings.scalars.schedules
        self._inbox = inbox
        self._views: dict[str, ScheduleView] = {}
        self._ended: deque[EndedSchedule] = deque(maxlen=MAX_ENDED)
        self._changed = trio.Event()
        self._is_opening = True
        self._is_paused = False

    def __repr__(self) -> str:
        return f"<SessionSchedules: {len(self._views)} schedules>"

    def __len__(self) -> int:
        return len(self._views)

    # --- for programs ----------------------------------------------------------------------------------------------

    async def add(
        self,
        prompt: str,
        *,
        cron: str | None = None,
        at: datetime | str | None = None,
        recurring: bool = True,
        durable: bool = False,
        tz: str | None = None,
        permission_mode: str | None = None,
    ) -> ScheduleStatus:
        """Schedule a prompt for the main agent and return the schedule; it is on disk when this returns.

        A prompt counts as nobody's consent, waits while a turn runs, and runs in the permission mode of this moment or a stricter one.
        A recurring schedule ends after 7 days unless it is durable.

        Args:
            prompt: The prompt.
            cron: Five fields: minute, hour, day of the month, month, day of the week.
            at: A date and time in place of an expression, for one prompt.
            recurring: False for the first time of the expression alone.
            durable: True catches up what was missed while the session was closed, and sets no end.
            tz: Name of the time zone; by default that of the settings, else the machine's.
            permission_mode: The mode that its prompts must not exceed; by default the main agent's.

        Raises:
            UsageError: Something cannot be used, there are too many schedules, or `durable` cannot be kept here.
            JournalError: It could not be recorded; there is no such schedule.
        """
        self._check(prompt, durable=durable)
        zone = read_zone(tz) if tz is not None else self._settings.tz or await self._machine_zone()
        now = self.now()
        times, once = _times(cron, at, zone, now, is_recurring=recurring)
        if once is not None and once <= now:
            raise UsageError(
                f"at must be in the future, got {moment_text(once, zone)}; now it is {moment_text(now, zone)}"
            )
        self._services.journal.check_open()
        event = ScheduleCreated(
            schedule=task_id(self._services.ports.ids, "s"),
            prompt=prompt,
            created=time_text(now),
            tz=zone,
            cron="" if times is None else times.expression,
            at="" if once is None else time_text(once),
            ends="" if durable or once is not None else time_text(now + LIFE),
            is_durable=durable,
            permission_mode=self._mode() if permission_mode is None else parse_mode(permission_mode).value,
        )
        self._emit(event)
        try:
            await self._services.journal.commit()
        except JournalError:
            self._drop(event.schedule, "it could not be recorded")
            raise
        self._wake()
        return self.find(event.schedule)

    async def delete(self, schedule: str, why: str = "") -> ScheduleStatus:
        """Delete a schedule and return its last status; a prompt of it that nobody has read is withdrawn.

        Args:
            schedule: Its id.
            why: The reason that is recorded.

        Raises:
            UsageError: The schedule is unknown.
            JournalError: It could not be recorded, and may be there again after a restart.
        """
        status = self.find(schedule)
        self._withdraw(schedule)
        self._drop(schedule, why)
        self._wake()
        await self._services.journal.commit()
        return status

    def all(self) -> tuple[ScheduleStatus, ...]:
        """Return the status of each schedule, in the order in which they were made."""
        return tuple(self._status(view) for view in self._views.values())

    def ended(self) -> tuple[tuple[str, str], ...]:
        """Return the id of each schedule that has ended, and how; at most the latest 20."""
        return tuple((ended.view.id, ended.how) for ended in self._ended)

    def for_hooks(self) -> tuple[SessionCron, ...]:
        """Return the schedules as hooks are told of them."""
        return tuple(
            SessionCron(
                id=view.id,
                schedule=view.cron or view.at,
                recurring=view.is_recurring,
                prompt=cut_text(view.prompt, 1_000),
            )
            for view in self._views.values()
        )

    def find(self, schedule: str) -> ScheduleStatus:
        """Return the status of a schedule.

        Raises:
            UsageError: It is unknown, or has ended.
        """
        view = self._views.get(schedule)
        if view is None:
            known = ", ".join(self._views) or "none"
            raise UsageError(f"unknown schedule {schedule!r}; schedules: {known}")
        return self._status(view)

    def _check(self, prompt: str, *, durable: bool) -> None:
        if not self._settings.enabled:
            raise UsageError("scheduled prompts are switched off in the settings (schedules.enabled)")
        if durable and not self._settings.durable:
            raise UsageError("durable must be false here: this run is not kept, so the schedule would be lost with it")
        if not prompt.strip():
            raise UsageError("prompt must not be blank")
        if len(prompt) > MAX_PROMPT_CHARS:
            raise UsageError(f"prompt must have at most {MAX_PROMPT_CHARS} characters, got {len(prompt)}")
        if len(self._views) >= MAX_SCHEDULES:
            raise UsageError(f"a session has at most {MAX_SCHEDULES} schedules; delete one first")

    def _status(self, view: ScheduleView) -> ScheduleStatus:
        schedule = view.schedule()
        return ScheduleStatus(
            id=view.id,
            prompt=view.prompt,
            cron=view.cron,
            tz=view.tz,
            is_recurring=view.is_recurring,
            is_durable=view.is_durable,
            permission_mode=view.permission_mode,
            created=schedule.created,
            next=schedule.after(view.seen_at()),
            ends=schedule.ends,
            is_waiting=view.id in self._waiting(),
            fired=view.fired,
            missed=view.missed,
            replaced=view.replaced,
        )

    # --- the task --------------------------------------------------------------------------------------------------

    async def restore(self) -> None:
        """Take over the schedules that earlier processes left of this run; called once, before `run`."""
        services = self._services
        if not services.plan.run.is_resumed:
            return
        views, ended = await services.ports.blocking.run(read_schedules, services.run_folder)
        self._ended.extend(ended)
        for view in views.values():
            self._views[view.id] = view
            try:
                view.check()
            except (UsageError, ValueError) as error:
                self._drop(view.id, f"it cannot be used any more: {error}")

    async def run(self) -> None:
        """Hand prompts in at their times, until it is cancelled or the main agent has ended."""
        while self._settings.enabled and not self._services.main.ref.is_gone:
            self._changed = trio.Event()
            try:
                wait_s = await self._look()
            except (JournalError, BoxFull):  # what is pending is handed in at a later look
                wait_s = LOOK_S
            with trio.move_on_after(wait_s):
                await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()

    async def _look(self) -> float:
        """Carry out what is due now, and return the seconds until the next look."""
        if not self._views:
            self._is_opening = False
            return math.inf
        if self._has_paused():
            return LOOK_S
        self._services.journal.check_open()
        await self._hand_in_pending()  # of an earlier process, or refused before
        now = self.now()
        plan = plan_schedules(
            [view.schedule() for view in self._views.values()],
            {view.id: view.seen_at() for view in self._views.values()},
            now,
            waiting=self._waiting(),
            is_opening=self._is_opening,
        )
        self._is_opening = False
        for schedule in plan.set_back:
            self._emit(ScheduleSetBack(schedule=schedule, now=time_text(now)))
        for item in plan.skipped:
            self._emit(_missed(item, is_due=False))
        for item in plan.due:
            self._note_due(item)
        await self._hand_in_pending()
        for schedule in (*plan.ended, *plan.expired):
            if schedule in self._views:
                self._emit(ScheduleExpired(schedule=schedule))
        if plan.set_back or plan.skipped or plan.due or plan.expired:
            await self._services.journal.commit()
        return LOOK_S if plan.next is None else max(0.0, min(LOOK_S, (plan.next - self.now()).total_seconds()))

    def _has_paused(self) -> bool:
        """Return whether nothing is handed in because the budget is spent; that is recorded once."""
        denial = self._services.budget.exceeded
        if denial is not None and not self._is_paused:
            self._services.recorder.emit(SchedulesPaused(why=str(denial)))
        self._is_paused = denial is not None
        return self._is_paused

    def _note_due(self, item: DueItem) -> None:
        """Record an item as due, in the place of one that nobody has read."""
        before = self._views[item.schedule]
        was_unread = item.replaces != "" and self._withdraw(item.schedule)
        if was_unread:
            self._emit(ScheduleReplaced(schedule=item.schedule, item=before.latest, by=item.id))
        if item.missed:
            self._emit(_missed(item, is_due=True))
        self._emit(
            ScheduleDue(
                schedule=item.schedule,
                item=item.id,
                planned=time_text(item.planned),
                missed=tuple(map(time_text, item.missed)),
                missed_count=item.missed_count,
                replaces=before.replaces + 1 if was_unread else 0,
            )
        )

    async def _hand_in_pending(self) -> None:
        """Hand in what is due, once that is on record.

        Raises:
            JournalError: It cannot be recorded; nothing was handed in.
            BoxFull: Too many messages wait; the rest is pending.
        """
        pending = [view.id for view in self._views.values() if view.pending]
        if not pending:
            return
        await self._services.journal.commit()
        for schedule in pending:
            view = self._views.get(schedule)  # it may have been deleted meanwhile
            if view is not None and view.pending:
                await self._hand_in(view)

    async def _hand_in(self, view: ScheduleView) -> None:
        """Hand in the pending item of a schedule, under its name: an item that the inbox knows changes nothing there."""
        route = {MODE: view.permission_mode} if view.permission_mode else None
        await self._inbox.accept(view.pending, prompt_text(view, view.seen), origin=SCHEDULE, route=route)
        if view.id in self._views:
            self._emit(ScheduleFired(schedule=view.id, item=view.pending))
        else:  # it was deleted meanwhile
            self._inbox.withdraw(view.pending)

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _emit(self, event: ScheduleEvent) -> None:
        """Record an event about a schedule, and apply it."""
        self._services.recorder.emit(event)
        schedule, fold = event.schedule, _FOLD_OF[type(event)]
        before = self._views.get(schedule)
        view = fold(before, event)
        if view is not None:
            self._views[schedule] = view
        elif before is not None:
            del self._views[schedule]
            self._ended.append(end_of(before, event))

    def _drop(self, schedule: str, why: str) -> None:
        if schedule in self._views:
            self._emit(ScheduleDeleted(schedule=schedule, why=why))

    def _waiting(self) -> dict[str, str]:
        """Return for each schedule the id of its message that nobody has read."""
        queued = {item.id for item in self._inbox.queued()}
        return {view.id: view.latest for view in self._views.values() if view.latest in queued}

    def _withdraw(self, schedule: str) -> bool:
        """Withdraw the latest message of a schedule; False if it was read."""
        return self._inbox.withdraw(self._views[schedule].latest)

    def now(self) -> datetime:
        """Return the date and time, in UTC."""
        return self._services.ports.clock.wall()

    def _mode(self) -> str:
        home = self._services.main.home
        policy = self._services.plan.policy if home is None else home.policy_now
        return "" if policy is None else policy.mode.value

    async def _machine_zone(self) -> str:
        return await self._services.ports.blocking.run(machine_zone, self._services.plan.environ)


def _times(
    cron: str | None, at: datetime | str | None, zone: str, now: datetime, *, is_recurring: bool
) -> tuple[CronTimes | None, datetime | None]:
    """Return the times of an expression, and the time of a one-shot schedule.

    Raises:
        UsageError: One of them cannot be used, or there is not exactly one.
    """
    if at is not None and cron is None:
        return None, read_time(at, zone)
    if cron is None or at is not None:
        raise UsageError("a schedule must have either cron or at, got " + ("neither" if cron is None else "both"))
    times = read_cron(cron, zone)
    return times, None if is_recurring else times.after(now)


def _missed(item: DueItem, *, is_due: bool) -> ScheduleMissed:
    return ScheduleMissed(
        schedule=item.schedule,
        times=tuple(map(time_text, item.missed)),
        until=time_text(item.planned),
        count=item.missed_count,
        item=item.id if is_due else "",
    )
