"""Plans of schedules: under any history of the clock, against a plain statement of the rule; over kills at any step."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.inbox._cron_times import CronTimes, read_cron
from greenroom.inbox._schedules import (
    CORRECTION,
    LATE,
    LIFE,
    MAX_COUNTED,
    DueItem,
    Schedule,
    item_id,
    plan_schedules,
    read_time_text,
    time_text,
)
from tests.inbox.plain_times import Line, at, plain_times

START = at("2026-03-27T12:00")
LINES = st.sampled_from(
    [
        Line((30,), (2,), None, None),
        Line((0,), (0, 3), None, None),
        Line((0,), None, None, None),
        Line((7, 37), None, None, None),
        Line((15,), (9,), (28, 30), (1,)),
        Line(None, (2,), None, None),
    ]
)
# Minutes from one look at the clock to the next: short waits, the machine's sleep, days closed, steps back.
STEPS = st.lists(st.integers(0, 3) | st.integers(0, 600) | st.integers(600, 6_000) | st.integers(-900, 0), max_size=12)


DAILY = read_cron("0 9 * * *", "UTC")


def daily(cron: CronTimes = DAILY, *, ends: datetime | None = None, catches_up: bool = True) -> Schedule:
    return Schedule(id="s1", created=START, cron=cron, ends=ends, catches_up=catches_up)


def run(schedule: Schedule, moments: list[datetime]) -> list[DueItem]:
    """Look at the clock at each moment, as a host does, and return what was due."""
    seen: dict[str, datetime] = {}
    found: list[DueItem] = []
    for now in moments:
        plan = plan_schedules([schedule], seen, now)
        seen = dict(plan.seen)
        found += plan.due
    return found


@pytest.mark.promise("R11-b", "RM-05")
@given(line=LINES, steps=STEPS)
def test_any_history_of_the_clock_gives_each_time_one_item(line: Line, steps: list[int]) -> None:
    """RM-05. Mechanism: of the times since the last one, the latest is due; after a correction of the clock they count from then on."""
    moments = [START]
    for minutes in steps:
        moments.append(max(START, moments[-1] + timedelta(minutes=minutes)))
    every = plain_times(line, "Europe/Berlin", START, max(moments))
    expected: list[tuple[datetime, int]] = []
    last = START
    for now in moments:
        last = now if last - now > CORRECTION else last
        passed = [time for time in every if last < time <= now]
        if passed:
            last = passed[-1]
            expected.append((last, len(passed) - (now - last <= LATE)))

    found = run(Schedule(id="s1", created=START, cron=read_cron(line.text, "Europe/Berlin")), moments)

    assert [(item.planned, item.missed_count) for item in found] == expected
    is_corrected = any(now - before < -CORRECTION for before, now in pairwise(moments))
    if not is_corrected:
        assert len({item.id for item in found}) == len(found)


@given(line=LINES, start=st.integers(0, 5_000))
def test_next_moment_is_when_something_is_due(line: Line, start: int) -> None:
    """A host that sleeps until the next moment misses nothing, and looks no more often than something happens."""
    schedule = Schedule(id="s1", created=START + timedelta(minutes=start), cron=read_cron(line.text, "Europe/Berlin"))
    now = schedule.created
    seen: dict[str, datetime] = {}
    found: list[DueItem] = []
    for _ in range(6):
        plan = plan_schedules([schedule], seen, now)
        assert plan.next is not None
        assert plan.next > now
        now, seen = plan.next, dict(plan.seen)
        found += plan.due

    times = plain_times(line, "Europe/Berlin", schedule.created, now - timedelta(minutes=1))
    assert [item.planned for item in found] == times
    assert not any(item.missed for item in found)


@pytest.mark.promise("R11-b", "RM-05")
def test_three_days_closed_give_one_item_with_three_misses() -> None:
    """RM-05. Mechanism: all times that passed since the last item are one item, for the latest, which names the others."""
    (item,) = run(daily(), [START, START + timedelta(days=3)])

    days = [at("2026-03-28T09:00"), at("2026-03-29T09:00"), at("2026-03-30T09:00")]
    assert item == DueItem(schedule="s1", planned=days[-1], missed=tuple(days), missed_count=3)
    assert item.id == "s1@2026-03-30T09:00:00Z"


def test_year_closed_is_counted_up_to_a_bound() -> None:
    """The work is bounded, the item is for the latest time, and 1,000 stands for more."""
    every_minute = daily(cron=read_cron("* * * * *", "Europe/Berlin"))
    now = START + timedelta(days=365, seconds=40)

    (item,) = run(every_minute, [now])

    assert item.planned == now.replace(second=0)
    assert item.missed_count == MAX_COUNTED
    assert item.missed[0] == START + timedelta(minutes=1)


def test_one_shot_is_due_once_and_late_with_its_planned_time() -> None:
    planned = START + timedelta(hours=1)
    once = Schedule(id="s1", created=START, at=planned)

    early = plan_schedules([once], {}, START + timedelta(minutes=59))
    late = plan_schedules([once], early.seen, START + timedelta(days=2), is_opening=True)

    assert (early.due, early.next) == ((), planned)
    assert late.due == (DueItem(schedule="s1", planned=planned, missed=(planned,), missed_count=1),)
    assert (late.ended, late.seen, late.next) == (("s1",), {}, None)


def test_item_that_waits_is_replaced_by_the_next() -> None:
    plan = plan_schedules([daily()], {}, START + timedelta(days=1), waiting={"s1": "s1@earlier"})

    assert [item.replaces for item in plan.due] == ["s1@earlier"]


@pytest.mark.promise("RM-04")
def test_recurring_schedule_ends_with_its_last_time_and_is_named() -> None:
    """RM-04. Mechanism: the end is a moment to look at, times after it are not due, and the plan names the schedule as expired."""
    schedule = daily(ends=START + LIFE)

    before = plan_schedules([schedule], {}, START + timedelta(days=6, hours=22))
    after = plan_schedules([schedule], before.seen, START + timedelta(days=30))

    assert (before.expired, before.next) == ((), START + LIFE)
    assert [item.planned for item in before.due] == [at("2026-04-03T09:00")]
    assert (after.due, after.expired, after.next) == ((), ("s1",), None)


@pytest.mark.promise("RM-04")
def test_schedule_that_catches_up_nothing_names_what_was_missed() -> None:
    """RM-04. Mechanism: what passed while nobody looked stands in the plan as skipped, and later times are due as always."""
    schedule = daily(catches_up=False)

    opened = plan_schedules([schedule], {}, START + timedelta(days=3), is_opening=True)
    later = plan_schedules([schedule], opened.seen, at("2026-03-31T09:00"))

    assert [item.missed_count for item in opened.skipped] == [3]
    assert opened.due == ()
    assert [item.planned for item in later.due] == [at("2026-03-31T09:00")]


def test_corrected_clock_counts_from_where_it_is_and_is_named() -> None:
    """A clock that was years ahead does not silence a schedule for years; a small step back makes nothing come twice."""
    ahead = plan_schedules([daily()], {}, START + timedelta(days=4_000))

    corrected = plan_schedules([daily()], ahead.seen, START + timedelta(days=1))
    stepped = plan_schedules([daily()], {"s1": at("2026-03-28T09:00")}, at("2026-03-28T08:00"))

    assert (corrected.set_back, corrected.next) == (("s1",), at("2026-03-29T09:00"))
    assert (stepped.set_back, stepped.next) == ((), at("2026-03-29T09:00"))


def test_schedule_without_times_is_refused() -> None:
    with pytest.raises(UsageError, match="must have an expression or a time"):
        Schedule(id="s1", created=START)


def test_time_text_is_read_back() -> None:
    assert read_time_text(time_text(START)) == START
    assert item_id("s1", START) == "s1@2026-03-27T12:00:00Z"


@attrs.define
class Machine:
    """What outlives a process: the journal's lines about one schedule, and the store of items, which knows each id once."""

    chance: Random
    due: list[str] = attrs.field(factory=list)
    fired: list[str] = attrs.field(factory=list)
    store: list[str] = attrs.field(factory=list)
    left: int = 0
    """Steps until the process is killed."""

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise InterruptedError

    def live(self, schedule: Schedule, now: datetime, *, looks: int) -> datetime:
        """Run a process that looks each second, until it is killed at any step; returns when it died."""
        try:
            for pending in [name for name in self.due if name not in self.fired]:
                self.hand_in(pending)
            for _ in range(looks):
                last = {} if not self.due else {"s1": read_time_text(self.due[-1].partition("@")[2])}
                for item in plan_schedules([schedule], last, now).due:
                    self.step()
                    self.due.append(item.id)
                    self.hand_in(item.id)
                self.step()
                now += timedelta(seconds=1)
        except InterruptedError:
            pass
        return now

    def hand_in(self, item: str) -> None:
        self.step()
        if item not in self.store:
            self.store.append(item)
        self.step()
        self.fired.append(item)


@pytest.mark.promise("R11-b", "RM-05")
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_kills_around_a_fire_leave_one_item(offset: int) -> None:
    """RM-05. Mechanism: the item is named after its planned time, and the store takes a name once; killed at any step, 100 seeds."""
    for seed in range(100):
        machine = Machine(Random(seed))
        now = at("2026-03-28T09:00") + timedelta(seconds=offset)
        for _ in range(5):
            machine.left = machine.chance.randrange(6)
            now = machine.live(daily(), now, looks=2)
        machine.left = 1_000
        machine.live(daily(), now, looks=10)

        assert machine.store == ["s1@2026-03-28T09:00:00Z"]
        assert set(machine.fired) == set(machine.store)
