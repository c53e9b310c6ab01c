"""Plans of jobs: each time once, in any zone, over changes of the clock, restarts, and clocks that are set back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import IllegalTransition, UsageError
from greenroom.gateway.clock._job_plan import (
    DueJob,
    JobOutcome,
    JobPlan,
    JobSource,
    job_values,
    plan_jobs,
    read_job,
    run_name,
)
from greenroom.gateway.record._gateway_events import CronAdded, CronChanged, CronDue, CronEnded
from greenroom.gateway.record._service_state import CLOCK_CORRECTION_S, ServiceState
from tests.inbox.plain_times import Line, at, plain_times

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
CHANGES = ("2026-03-27T12:00", "2026-10-23T12:00")
"""Moments before the clock is changed in spring and in autumn: both changes of three zones come within ten days."""
SHORTEST = timedelta(microseconds=1)
LINES = st.sampled_from(
    [
        Line((30,), (2,), None, None),
        Line((0,), (0, 3), None, None),
        Line((15,), (9,), (28, 30), (1,)),
        Line((7, 37), None, None, None),
        Line(None, (2,), None, None),
    ]
)
STEPS = st.lists(st.integers(0, 3) | st.integers(0, 600) | st.integers(600, 4_000) | st.integers(-900, 0), max_size=10)


def jobs_of(state: ServiceState) -> list[Any]:
    return [(read_job(row.job_spec), row) for row in state.jobs.values()]


def added(job_spec: dict[str, Any], moment: datetime) -> ServiceState:
    state = ServiceState()
    job = read_job({"id": "j", "message": "water the plants", **job_spec})
    state.fold(CronAdded(at_s=moment.timestamp(), job="j", job_spec=job_values(job, JobSource.CALL)))
    return state


def look(state: ServiceState, moment: datetime, *, is_opening: bool = False, zone: str = "UTC") -> JobPlan:
    """Look at the clock once, and record what a host records; each run ends at once."""
    now_s = moment.timestamp()
    plan = plan_jobs(jobs_of(state), now_s, zone=zone, is_opening=is_opening)
    for skipped in plan.skipped:
        state.fold(CronEnded(at_s=now_s, job="j", planned_s=skipped.planned_s, outcome=skipped.outcome))
    for due in plan.due:
        state.fold(CronDue(at_s=now_s, job="j", planned_s=due.planned_s, run=due.run))
        state.fold(CronEnded(at_s=now_s, job="j", planned_s=due.planned_s, outcome="done"))
    return plan


@pytest.mark.promise("A30-a")
@given(zone=st.sampled_from(ZONES), start=st.sampled_from(CHANGES), line=LINES, steps=STEPS)
def test_each_time_of_a_job_comes_once_in_any_zone(zone: str, start: str, line: Line, steps: list[int]) -> None:
    """Of the times since the last one the latest is due; a clock that was set back repeats none of them."""
    moments = [at(start)]
    for minutes in steps:
        moments.append(moments[-1] + timedelta(minutes=minutes))
    every = plain_times(line, zone, at(start), max(moments))
    expected: list[datetime] = []
    last = at(start)
    for now in moments:
        passed = [time for time in every if last < time <= now and now - time <= timedelta(hours=24)]
        if passed:
            expected.append(passed[-1])
        last = max([last, *(time for time in every if time <= now)])

    state = added({"schedule": {"cron": line.text, "tz": zone}}, at(start))
    due = [due for now in moments for due in look(state, now).due]

    assert [datetime.fromtimestamp(each.planned_s, UTC) for each in due] == expected
    assert len({each.run for each in due}) == len(due)


@given(
    every_ms=st.integers(1_000, 10_000_000),
    steps=st.lists(st.integers(0, 50_000), min_size=1, max_size=12),
    offset_s=st.integers(-100_000, 100_000),
)
def test_an_interval_comes_at_whole_multiples_of_its_distance(every_ms: int, steps: list[int], offset_s: int) -> None:
    start = at("2026-03-27T12:00")
    anchor = start + timedelta(seconds=offset_s)
    schedule = {"everyMs": every_ms, "anchor": anchor.isoformat()}
    state = added({"schedule": schedule, "maxAgeMinutes": 10**6}, start)
    now, last = start, start
    expected: list[datetime] = []
    found: list[DueJob] = []
    for seconds in steps:
        now += timedelta(seconds=seconds)
        number = (now + timedelta(seconds=1) - SHORTEST - anchor) // timedelta(milliseconds=every_ms)
        latest = (anchor + max(number, 0) * timedelta(milliseconds=every_ms)).replace(microsecond=0)
        if last < latest <= now:
            last = latest
            expected.append(latest)
        found += look(state, now).due

    assert [datetime.fromtimestamp(each.planned_s, UTC) for each in found] == expected


@pytest.mark.promise("A30-b")
@pytest.mark.parametrize(
    ("catch_up", "days_down", "max_age_minutes", "due", "outcome"),
    [
        ("once", 40, 60 * 24 * 60, 1, "done"),
        ("once", 40, 60, 0, JobOutcome.TOO_OLD),
        ("once", 0, 60, 1, "done"),
        ("skip", 40, 60 * 24 * 60, 0, JobOutcome.MISSED),
        ("skip", 0, 60, 1, "done"),
    ],
)
def test_times_that_passed_while_down_give_one_run_or_none(
    catch_up: str, days_down: int, max_age_minutes: int, due: int, outcome: str
) -> None:
    start = at("2026-03-27T12:00")
    schedule = {"cron": "0 3 * * *", "tz": "UTC"}
    state = added({"schedule": schedule, "catchUp": catch_up, "maxAgeMinutes": max_age_minutes}, start)
    back = at("2026-03-28T03:00") + timedelta(days=days_down, hours=5 if days_down else 0)

    plan = look(state, back, is_opening=True)

    assert len(plan.due) == due
    assert state.jobs["j"].outcome == outcome
    assert look(state, back + timedelta(minutes=1)).due == ()
    assert len(look(state, back.replace(hour=3) + timedelta(days=1)).due) == 1


def test_a_job_that_still_runs_is_skipped_and_says_so() -> None:
    state = added({"schedule": {"cron": "0 * * * *", "tz": "UTC"}}, at("2026-03-27T12:30"))
    one, two = (at(f"2026-03-27T{hour}:00").timestamp() for hour in (13, 14))
    state.fold(CronDue(at_s=one, job="j", planned_s=one, run=run_name("j", one)))

    plan = look(state, at("2026-03-27T14:00"))

    assert [(each.planned_s, each.outcome) for each in plan.skipped] == [(two, JobOutcome.STILL_RUNNING)]
    assert state.jobs["j"].is_due
    assert state.jobs["j"].run == run_name("j", one)
    state.fold(CronEnded(at_s=two, job="j", planned_s=one, outcome="done"))
    assert not state.jobs["j"].is_due
    assert look(state, at("2026-03-27T14:01")).due == ()


def test_a_clock_that_was_days_ahead_does_not_silence_a_job() -> None:
    state = added({"schedule": {"cron": "0 * * * *", "tz": "UTC"}}, at("2026-03-27T12:30"))
    look(state, at("2027-03-27T13:00"))
    now = at("2026-03-27T13:30")

    plan = look(state, now)
    assert (plan.due, plan.set_back) == ((), ("j",))
    state.fold(CronChanged(at_s=now.timestamp(), job="j", job_spec=state.jobs["j"].job_spec))

    assert [due.run for due in look(state, at("2026-03-27T14:00")).due] == ["j@2026-03-27T14:00:00Z"]


@pytest.mark.promise("A30-a")
def test_a_clock_set_back_a_little_waits_for_the_time_behind_the_last_one() -> None:
    state = added({"schedule": {"cron": "0 * * * *", "tz": "UTC"}}, at("2026-03-27T12:30"))
    look(state, at("2026-03-27T15:00"))

    for now in ("2026-03-27T13:30", "2026-03-27T14:59", "2026-03-27T15:00"):
        assert look(state, at(now)) == JobPlan(next_s=at("2026-03-27T16:00").timestamp())


def test_a_clock_set_back_by_less_than_a_day_changes_nothing_on_record() -> None:
    state = added({"schedule": {"cron": "0 * * * *", "tz": "UTC"}}, at("2026-03-27T12:30"))
    look(state, at("2026-03-27T15:00"))
    seen_s = state.jobs["j"].seen_s
    back_s = seen_s - CLOCK_CORRECTION_S + 1

    state.fold(CronChanged(at_s=back_s, job="j", job_spec=state.jobs["j"].job_spec))

    assert state.jobs["j"].seen_s == seen_s
    with pytest.raises(IllegalTransition):
        state.fold(CronDue(at_s=back_s, job="j", planned_s=back_s, run="again"))


@pytest.mark.parametrize(
    "job_spec",
    [
        {},
        {"schedule": {}},
        {"schedule": {"cron": "0 * * * *", "everyMs": 5_000}},
        {"schedule": {"everyMs": 5}},
        {"schedule": {"cron": "0 * * * *"}, "unknown": 1},
        {"schedule": {"cron": "0 * * * *"}, "message": ""},
    ],
)
def test_a_job_that_cannot_be_used_is_refused(job_spec: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read_job({"id": "j", "message": "text", **job_spec})


def test_a_job_on_record_is_the_job_that_was_recorded() -> None:
    job_spec = {
        "id": "j",
        "message": "text",
        "schedule": {"everyMs": 5_000},
        "model": "opus",
        "deliver": {"channel": "irc", "to": "ada"},
        "session": "main",
        "agentId": "research",
    }
    job = read_job(job_spec)

    assert read_job(job_values(job, JobSource.CONFIG)) == job
