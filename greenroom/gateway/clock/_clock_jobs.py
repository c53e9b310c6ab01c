"""The clock of a gateway: it looks at the time, begins the runs of jobs, and records their ends.

Rule 1: `cron.due` is durable before a run begins, and the run has its name from it: after a crash the same run is begun, or waited for.
Rule 2: the record holds all jobs; those of the configuration are compared with it at each start and reload. Rule 3: a run that was cut stays
due; it ends once. What it takes to run a job is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, final

import trio

from greenroom.core import GreenroomError, IllegalTransition, JournalError, UsageError
from greenroom.core.ports import Clock
from greenroom.gateway.clock._job_plan import (
    SOURCE,
    DueJob,
    JobPlan,
    JobSource,
    SkippedJob,
    job_values,
    plan_jobs,
    read_job,
    run_name,
    schedule_of,
)
from greenroom.gateway.config._clock_and_limits import CronJob
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.record._gateway_events import CronAdded, CronChanged, CronDue, CronEnded, CronRemoved
from greenroom.gateway.record._gateway_journal import GatewayRecord, persist
from greenroom.gateway.record._rows import Job
from greenroom.gateway.record._run_events import GatewayEvent

LOOK_S: Final = 60.0
"""The longest time between two looks at the clock: then a clock that was changed is noticed."""
_REFUSED_S: Final = 5.0
"""Seconds until the next look after the disk refused."""


class JobRunner(Protocol):
    """The runner of a job."""

    async def begin(self, job: CronJob, run: str) -> None:
        """Begin the run of a job; the same name again changes nothing. When it returns, the run is durable.

        Raises:
            GreenroomError: It cannot begin.
        """

    async def wait(self, run: str) -> str:
        """Wait until a run has ended, and return the word for its end."""


OnCron = Callable[[str, Mapping[str, Any]], object]
"""Called with the id of a job and what happened to it, such as `due`; it may only store values and wake tasks."""


@final
class ClockJobs:
    """The jobs of a gateway.

    Args:
        record: The gateway's journal and registry.
        config: Returns the configuration in force.
        clock: The wall clock.
        runner: What runs a job.
        on_cron: Called with each change.
        zone: Time zone where neither a job nor the configuration names one.
    """

    def __init__(
        self,
        record: GatewayRecord,
        config: Callable[[], GatewayConfig],
        clock: Clock,
        runner: JobRunner,
        *,
        on_cron: OnCron | None = None,
        zone: str = "UTC",
    ) -> None:
        self._record = record
        self._config = config
        self._clock = clock
        self._runner = runner
        self._on_cron = on_cron
        self._own_zone = zone
        self._wake = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._is_opening = True
        self._at_work: set[str] = set()

    # --- looking -----------------------------------------------------------------------------------------------------

    def listing(self) -> list[dict[str, Any]]:
        """Return all jobs, as JSON, with their last and next time."""
        now_s = self._now_s()
        return [self._shown(row, now_s) for row in self._rows().values()]

    def find(self, job: str) -> Job:
        """Return a job.

        Raises:
            UsageError: There is none with this id.
        """
        try:
            return self._rows()[job]
        except KeyError:
            raise UsageError(
                f"unknown job {job!r}; expected one of: {', '.join(sorted(self._rows())) or 'none'}"
            ) from None

    def _shown(self, row: Job, now_s: float) -> dict[str, Any]:
        shown: dict[str, Any] = {**row.job_spec, "isDue": row.is_due, "outcome": row.outcome}
        if row.planned_s:
            shown["lastRun"] = run_name(row.id, row.planned_s)
        try:
            plan = self._plan({row.id: row}, now_s)
        except UsageError as error:
            return shown | {"problem": str(error)}
        return shown | ({"nextMs": int(plan.next_s * 1000)} if plan.next_s is not None else {})

    # --- changing ----------------------------------------------------------------------------------------------------

    async def add(self, job_spec: Mapping[str, Any]) -> str:
        """Add a job, and return its id; then it is durable.

        Raises:
            UsageError: It cannot be used, or there is one with this id.
            JournalError: The disk refuses.
        """
        job = self._checked(job_spec)
        if job.id in self._rows():
            raise UsageError(f"job {job.id!r} exists already; update it, or choose another id")
        await self._write(CronAdded(at_s=self._now_s(), job=job.id, job_spec=job_values(job, JobSource.CALL)))
        self._tell(job.id, "added")
        return job.id

    async def replace(self, job_spec: Mapping[str, Any]) -> None:
        """Replace the job with the same id; then it is durable.

        Raises:
            UsageError: It is unknown or read-only, or cannot be used.
            JournalError: The disk refuses.
        """
        job = self._checked(job_spec)
        self._changeable(job.id)
        await self._write(CronChanged(at_s=self._now_s(), job=job.id, job_spec=job_values(job, JobSource.CALL)))
        self._tell(job.id, "changed")

    async def remove(self, job: str, *, who: str) -> None:
        """Remove a job; a run of it goes on.

        Raises:
            UsageError: It is unknown or read-only.
            JournalError: The disk refuses.
        """
        self._changeable(job)
        await self._write(CronRemoved(at_s=self._now_s(), job=job, who=who))
        self._tell(job, "removed")

    async def run_now(self, job: str) -> str:
        """Begin a run of a job for the present time, and return its name; then `cron.due` is durable.

        Raises:
            UsageError: It is unknown, or still runs.
            JournalError: The disk refuses.
        """
        row = self.find(job)
        due = DueJob(job=job, planned_s=float(int(self._now_s())))
        if row.is_due or due.planned_s <= row.seen_s:
            raise UsageError(f"job {job!r} cannot run now: {'it still runs' if row.is_due else 'it has just run'}")
        await self._begin(due)
        return due.run

    async def sync(self) -> None:
        """Compare the jobs of the configuration with those on record, and record the differences.

        Raises:
            JournalError: The disk refuses.
        """
        now_s = self._now_s()
        wanted = {job.id: job_values(job, JobSource.CONFIG) for job in self._config().cron.jobs}
        events: list[GatewayEvent] = [
            CronRemoved(at_s=now_s, job=row.id, who="configuration")
            for row in self._rows().values()
            if row.id not in wanted and row.job_spec.get(SOURCE) == JobSource.CONFIG
        ]
        for id_, values in wanted.items():
            known = self._rows().get(id_)
            if known is None:
                events.append(CronAdded(at_s=now_s, job=id_, job_spec=values))
            elif dict(known.job_spec) != values:
                events.append(CronChanged(at_s=now_s, job=id_, job_spec=values))
        if events:
            await self._write(*events)
        self.wake()

    def wake(self) -> None:
        """Look at the clock at once."""
        self._wake.set()

    # --- running -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Begin what is due, until cancelled; a run that was cut by that stays due."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                for row in list(self._rows().values()):
                    if row.is_due:  # from before the start
                        self._follow(DueJob(job=row.id, planned_s=row.planned_s))
                while True:
                    self._wake = trio.Event()
                    pause_s = await self._look()
                    with trio.move_on_after(pause_s):
                        await self._wake.wait()
        finally:
            self._nursery = None

    async def _look(self) -> float:
        """Carry out one plan, and return the seconds until the next look."""
        now_s = self._now_s()
        try:
            plan = self._plan(self._usable(), now_s)
            for job in plan.set_back:
                await self._write(CronChanged(at_s=now_s, job=job, job_spec=self.find(job).job_spec))
            for skipped in plan.skipped:
                await self._skip(skipped)
            for due in plan.due:
                await self._begin(due)
        except JournalError:
            return _REFUSED_S
        self._is_opening = False
        if plan.set_back:
            return 0.0
        return LOOK_S if plan.next_s is None else min(LOOK_S, max(0.0, plan.next_s - self._now_s()))

    async def _begin(self, due: DueJob) -> None:
        self._record.journal.check_open()
        try:
            await self._record.report(CronDue(at_s=self._now_s(), job=due.job, planned_s=due.planned_s, run=due.run))
        except IllegalTransition:  # removed, or begun by a call meanwhile
            return
        self._tell(due.job, "due", run=due.run)
        self._follow(due)

    async def _skip(self, skipped: SkippedJob) -> None:
        await self._record.write(
            CronEnded(at_s=self._now_s(), job=skipped.job, planned_s=skipped.planned_s, outcome=skipped.outcome)
        )
        self._tell(skipped.job, "skipped", why=skipped.outcome, run=run_name(skipped.job, skipped.planned_s))

    def _follow(self, due: DueJob) -> None:
        if self._nursery is not None and due.run not in self._at_work:
            self._at_work.add(due.run)
            self._nursery.start_soon(self._work, due)

    async def _work(self, due: DueJob) -> None:
        """Begin a run and wait for its end; both are the same after a crash."""
        job = None
        try:
            row = self._rows().get(due.job)
            if row is not None:
                job = read_job(row.job_spec)
                await persist(self._check_open)
                await self._runner.begin(job, due.run)
            outcome = await self._runner.wait(due.run)
        except GreenroomError as error:
            outcome = f"failed: {error}"
        finally:
            self._at_work.discard(due.run)
        await self._end(due, outcome, job)

    async def _end(self, due: DueJob, outcome: str, job: CronJob | None) -> None:
        while True:
            try:
                await self._record.write(
                    CronEnded(at_s=self._now_s(), job=due.job, planned_s=due.planned_s, outcome=outcome)
                )
                row = self._rows().get(due.job)
                is_over = row is not None and row.job_spec.get(SOURCE) == JobSource.CALL
                if job is not None and is_over and job.delete_after_run and job.schedule.at is not None:
                    await self._record.write(CronRemoved(at_s=self._now_s(), job=due.job, who="deleteAfterRun"))
                break
            except JournalError:
                await trio.sleep(_REFUSED_S)
        self._tell(due.job, "ended", run=due.run, outcome=outcome)

    async def _check_open(self) -> None:
        self._record.journal.check_open()
        await trio.lowlevel.checkpoint()

    # --- small things ------------------------------------------------------------------------------------------------

    def _rows(self) -> Mapping[str, Job]:
        return self._record.registry.services.jobs

    def _usable(self) -> dict[str, Job]:
        """Return the rows whose jobs this version can read."""
        usable = {}
        for row in self._rows().values():
            try:
                schedule_of(read_job(row.job_spec), row, self._zone())
            except UsageError:
                continue
            usable[row.id] = row
        return usable

    def _plan(self, rows: Mapping[str, Job], now_s: float) -> JobPlan:
        return plan_jobs(
            ((read_job(row.job_spec), row) for row in rows.values()),
            now_s,
            zone=self._zone(),
            is_opening=self._is_opening,
            is_enabled=self._config().cron.enabled,
        )

    def _zone(self) -> str:
        return self._config().session.timezone or self._own_zone

    def _checked(self, job_spec: Mapping[str, Any]) -> CronJob:
        job = read_job(job_spec)
        schedule_of(job, Job(id=job.id, job_spec={}, added_s=self._now_s()), self._zone())
        return job

    def _changeable(self, job: str) -> Job:
        row = self.find(job)
        if row.job_spec.get(SOURCE) == JobSource.CONFIG:
            raise UsageError(f"job {job!r} is of the configuration file; change it there")
        return row

    def _now_s(self) -> float:
        return self._clock.wall().timestamp()

    async def _write(self, *events: GatewayEvent) -> None:
        await self._record.write(*events)
        self.wake()

    def _tell(self, job: str, phase: str, **what: object) -> None:
        if self._on_cron is not None:
            self._on_cron(job, {"phase": phase, **what})
