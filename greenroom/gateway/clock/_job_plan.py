"""Plans of jobs: which are due, which times are skipped and why, and when to look again.

Rule 1: the planner of all schedules decides which times have passed; this adds jobs, and the age from which a time is not run. Rule 2: each
time has one run, named `<job>@<time>`: times that the record has seen never come again, also if the clock is set back by up to a day.
Rule 3: of the times that passed while nobody looked, the latest is run, or none. Rule 4: a job that still runs is skipped, with the reason.
Must not know: clock, disk, Trio, sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.gateway.config._clock_and_limits import CronJob
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._reader import config_converter
from greenroom.gateway.record._rows import Job
from greenroom.gateway.record._service_state import CLOCK_CORRECTION_S
from greenroom.inbox import CronTimes, DueItem, IntervalTimes, Schedule, plan_schedules, read_cron, read_time, time_text

SOURCE: Final = "source"
"""Key of a job on record that says who made it."""


class JobSource(StrEnum):
    """The place where a job was made."""

    CONFIG = "config"
    """The configuration file; it cannot be changed anywhere else."""
    CALL = "call"
    """A client, or a tool."""


class JobOutcome(StrEnum):
    """The reason why a time of a job was not run, in `cron.ended`."""

    STILL_RUNNING = "skipped: it was still running"
    MISSED = "skipped: the gateway was down"
    TOO_OLD = "skipped: it is too old"
    DISABLED = "skipped: it is disabled"


@final
@attrs.frozen(kw_only=True)
class DueJob:
    """A time of a job that is to be run."""

    job: str
    planned_s: float

    @property
    def run(self) -> str:
        """The name of the run, the same for each planner."""
        return run_name(self.job, self.planned_s)


@final
@attrs.frozen(kw_only=True)
class SkippedJob:
    """A time of a job that is not run."""

    job: str
    planned_s: float
    outcome: str


@final
@attrs.frozen(kw_only=True)
class JobPlan:
    """The plan of one look at the clock."""

    due: tuple[DueJob, ...] = ()
    skipped: tuple[SkippedJob, ...] = ()
    set_back: tuple[str, ...] = ()
    """Jobs whose times are ahead of a clock that was corrected by more than a day: they are recorded anew first."""
    next_s: float | None = None
    """The next moment at which something is due; None for none."""


def run_name(job: str, planned_s: float) -> str:
    """Return the name of the run of a job for a time: `<job>@<time in UTC>`."""
    return f"{job}@{time_text(datetime.fromtimestamp(planned_s, UTC))}"


def read_job(job_spec: Mapping[str, Any]) -> CronJob:
    """Return the job that a record, or a call, describes with the keys of the configuration.

    Raises:
        UsageError: A value cannot be used.
    """
    from cattrs.errors import BaseValidationError

    from greenroom.core.validation import locate_problems

    values = {key: value for key, value in job_spec.items() if key != SOURCE}
    try:
        job = config_converter().structure(values, CronJob)
    except BaseValidationError as error:
        words = [f"{'.'.join(map(str, place))}: {problem}" for place, problem in locate_problems(error, key_of)]
        raise UsageError(f"job cannot be used: {'; '.join(words)}") from None
    kinds = [name for name in ("at", "every_ms", "cron") if getattr(job.schedule, name) is not None]
    if len(kinds) != 1:
        raise UsageError("schedule must have exactly one of at, everyMs and cron")
    return job


def job_values(job: CronJob, source: JobSource) -> dict[str, Any]:
    """Return a job as it stands in the record: the keys of the configuration, without defaults."""
    values: dict[str, Any] = _plain(job)
    return values | {SOURCE: source.value}


def schedule_of(job: CronJob, row: Job, zone: str) -> Schedule:
    """Return when a job is due.

    Args:
        job: The job.
        row: Its row of the registry.
        zone: The time zone where the job names none.

    Raises:
        UsageError: Its times cannot be used.
    """
    zone = job.schedule.tz or zone
    created = datetime.fromtimestamp(row.added_s, UTC)
    times: CronTimes | IntervalTimes | None = None
    at = None
    if job.schedule.cron is not None:
        times = read_cron(job.schedule.cron, zone)
    elif job.schedule.at is not None:
        at = read_time(job.schedule.at, zone)
    else:
        anchor = read_time(job.schedule.anchor, zone) if job.schedule.anchor is not None else created
        times = IntervalTimes(anchor=anchor, every=timedelta(milliseconds=job.schedule.every_ms or 0))
    return Schedule(id=job.id, created=created, cron=times, at=at, catches_up=job.catch_up == "once")


def plan_jobs(
    jobs: Iterable[tuple[CronJob, Job]], now_s: float, *, zone: str, is_opening: bool, is_enabled: bool = True
) -> JobPlan:
    """Return what is due now, and when to look again.

    Args:
        jobs: Each job with its row of the registry.
        now_s: The wall clock, in seconds since 1970.
        zone: The time zone of jobs that name none.
        is_opening: True for the first look after a start.
        is_enabled: False if no job is run.
    """
    now = datetime.fromtimestamp(now_s, UTC)
    known = {row.id: (job, row) for job, row in jobs}
    schedules, set_back = [], []
    for job, row in known.values():
        if row.seen_s - now_s > CLOCK_CORRECTION_S:
            set_back.append(job.id)
        else:
            schedules.append(schedule_of(job, row, zone))
    seen = {id_: datetime.fromtimestamp(row.seen_s, UTC) for id_, (_, row) in known.items() if row.seen_s}
    plan = plan_schedules(schedules, seen, now, is_opening=is_opening)
    due: list[DueJob] = []
    skipped = [_skipped(item, JobOutcome.MISSED) for item in plan.skipped]
    for item in plan.due:
        why = _why_not(known[item.schedule], item, now, is_enabled=is_enabled)
        if why:
            skipped.append(_skipped(item, why))
        else:
            due.append(DueJob(job=item.schedule, planned_s=item.planned.timestamp()))
    return JobPlan(
        due=tuple(due),
        skipped=tuple(skipped),
        set_back=tuple(set_back),
        next_s=plan.next.timestamp() if plan.next is not None else None,
    )


def _why_not(known: tuple[CronJob, Job], item: DueItem, now: datetime, *, is_enabled: bool) -> str:
    job, row = known
    if not is_enabled or not job.enabled:
        return JobOutcome.DISABLED
    if now - item.planned > timedelta(minutes=job.max_age_minutes):
        return JobOutcome.TOO_OLD
    return JobOutcome.STILL_RUNNING if row.is_due else ""


def _skipped(item: DueItem, outcome: str) -> SkippedJob:
    return SkippedJob(job=item.schedule, planned_s=item.planned.timestamp(), outcome=outcome)


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return {
            key_of(field.name): _plain(getattr(value, field.name))
            for field in attrs.fields(type(value))
            if getattr(value, field.name) != field.default
        }
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value
