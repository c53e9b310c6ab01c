"""The clock of a gateway: runs on record before they begin, each once over kills at every write, and jobs of three sources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.gateway.clock._clock_jobs import ClockJobs
from greenroom.gateway.config._clock_and_limits import CronConfig, CronJob, CronSchedule
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import SessionConfig
from greenroom.gateway.process._clock_runner import zone_of_machine
from greenroom.gateway.record._gateway_events import GatewayBegan
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.testing import VIRTUAL_START, virtual_ports
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, make_ports, unlocked

HOURLY: Final = {"id": "j", "message": "water the plants", "schedule": {"cron": "0 * * * *", "tz": "UTC"}}
WORK_S: Final = 600.0


@attrs.define
class World:
    """The disk, and the sessions that have the runs: they outlive a process."""

    disk: MemoryDisk = attrs.field(factory=MemoryDisk)
    begun: dict[str, int] = attrs.field(factory=dict)
    """Number of times that each run was begun."""
    told: list[str] = attrs.field(factory=list)
    """Runs that have ended, in order: their delivery is a part of the run."""
    offset: timedelta = timedelta()


@attrs.define
class ScriptedRunner:
    """Runs that last ten minutes; a run that has ended is known by its name."""

    world: World

    async def begin(self, job: CronJob, run: str) -> None:
        await trio.lowlevel.checkpoint()
        self.world.begun.setdefault(run, 0)
        if not self.world.begun[run]:
            self.world.begun[run] += 1

    async def wait(self, run: str) -> str:
        if run not in self.world.told:
            await trio.sleep(WORK_S)
            self.world.told.append(run)
        return "done"


@attrs.define
class LaterClock:
    """A wall clock that is ahead of the virtual one."""

    world: World
    inner: Any

    def bind(self) -> Any:
        return self.inner.bind()

    def wall(self) -> datetime:
        moment: datetime = self.inner.wall() + self.world.offset
        return moment


class DyingDisk(MemoryDisk):
    """A memory disk on which a process dies after a number of appends: then nothing more is written."""

    def __init__(self, files: dict[Path, bytes], appends: int) -> None:
        super().__init__()
        self.files = files
        self.left = appends
        self.died = trio.Event()

    def append(self, path: Path, content: bytes) -> None:
        if self.left <= 0:
            self.died.set()
            raise OSError(5, "the process is dead")
        self.left -= 1
        super().append(path, content)


def ports_on(disk: MemoryDisk, world: World) -> Ports:
    ports = make_ports(disk)
    return attrs.evolve(ports, clock=LaterClock(world, virtual_ports().clock))


@asynccontextmanager
async def clock_on(
    world: World, *, disk: MemoryDisk | None = None, config: GatewayConfig | None = None, zone: str = "UTC"
) -> AsyncIterator[tuple[ClockJobs, GatewayRecord]]:
    """Run a clock until the block is left."""
    ports = ports_on(disk or world.disk, world)
    async with open_gateway_journal(FOLDER, ports=ports, lock=unlocked) as record:
        await record.write(GatewayBegan(at_s=ports.clock.wall().timestamp(), process=1))
        jobs = ClockJobs(record, lambda: config or GatewayConfig(), ports.clock, ScriptedRunner(world), zone=zone)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(jobs.run)
            yield jobs, record
            nursery.cancel_scope.cancel()


async def test_a_job_runs_at_each_of_its_times(autojump_clock: MockClock) -> None:
    world = World()
    async with clock_on(world) as (jobs, _):
        await jobs.add(HOURLY)
        await trio.sleep(3 * 3600 + 1200)

        assert list(world.begun) == [f"j@2026-01-01T0{hour}:00:00Z" for hour in (1, 2, 3)]
        assert world.told == list(world.begun)
        (shown,) = jobs.listing()
        assert (shown["isDue"], shown["outcome"]) == (False, "done")
        assert shown["nextMs"] == int((VIRTUAL_START + timedelta(hours=4)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("named", "configured", "hour"),
    [("", "", 4), ("", "Asia/Tokyo", 1), ("America/New_York", "Asia/Tokyo", 15), ("America/New_York", "", 15)],
)
async def test_a_time_is_of_the_job_the_configuration_or_the_machine(
    named: str, configured: str, hour: int, autojump_clock: MockClock
) -> None:
    world = World()
    config = GatewayConfig(session=SessionConfig(timezone=configured))
    schedule = {"cron": "0 10 * * *", **({"tz": named} if named else {})}
    async with clock_on(world, config=config, zone="Asia/Dhaka") as (jobs, _):
        await jobs.add({**HOURLY, "schedule": schedule})
        await trio.sleep(23 * 3600)

    assert list(world.begun) == [f"j@2026-01-01T{hour:02}:00:00Z"]


@pytest.mark.parametrize(("name", "zone"), [("Europe/Berlin", "Europe/Berlin"), ("Nowhere/Else", "UTC")])
def test_the_zone_of_the_machine_has_a_name(name: str, zone: str) -> None:
    assert zone_of_machine({"TZ": name}) == zone


@pytest.mark.promise("A30-b")
@pytest.mark.parametrize("appends", range(8))
async def test_a_kill_at_any_write_of_a_job_gives_one_run(appends: int, autojump_clock: MockClock) -> None:
    """The record says what was begun, and the name of a run says whether it is the same.

    GW-14: a run of a job has its due time as its name and is on record before it begins.
    """
    world = World()
    async with clock_on(world) as (jobs, _):
        await jobs.add({**HOURLY, "schedule": {"at": "2026-01-01T01:00", "tz": "UTC"}})
    before = dict(world.disk.files)
    dying = DyingDisk(before, appends)

    with trio.move_on_after(2 * 3600), pytest.raises(BaseException):  # noqa: B017, PT011 - a process dies in many ways
        async with clock_on(world, disk=dying):
            await dying.died.wait()
            raise RuntimeError("killed")
    world.disk.files = dict(dying.files)
    async with clock_on(world) as (jobs, record):
        await trio.sleep(2 * 3600)
        row = record.registry.services.jobs["j"]
        assert (row.is_due, row.outcome) == (False, "done")

    assert world.begun == {"j@2026-01-01T01:00:00Z": 1}
    assert world.told == ["j@2026-01-01T01:00:00Z"]


@pytest.mark.promise("A30-b")
async def test_forty_days_down_give_one_run(autojump_clock: MockClock) -> None:
    world = World()
    async with clock_on(world) as (jobs, _):
        await jobs.add({**HOURLY, "maxAgeMinutes": 10**6})
        await trio.sleep(3600 + 1200)
    world.offset = timedelta(days=40)
    async with clock_on(world):
        await trio.sleep(1500)

    assert len(world.begun) == 2


async def test_a_run_that_still_works_makes_the_next_time_skipped(autojump_clock: MockClock) -> None:
    """GW-15: a time that comes while the job's run works is recorded as skipped."""
    world = World()
    schedule = {"everyMs": 400_000, "anchor": "2026-01-01T00:00"}
    async with clock_on(world) as (jobs, _):
        await jobs.add({**HOURLY, "schedule": schedule})
        await trio.sleep(1_650)

    assert list(world.begun) == ["j@2026-01-01T00:06:40Z", "j@2026-01-01T00:20:00Z"]


async def test_jobs_of_the_configuration_come_and_go_with_it(autojump_clock: MockClock) -> None:
    world = World()
    job = CronJob(id="c", message="text", schedule=CronSchedule(cron="0 * * * *"))
    async with clock_on(world, config=GatewayConfig(cron=CronConfig(jobs=(job,)))) as (jobs, record):
        await jobs.sync()
        await jobs.sync()
        assert list(record.registry.services.jobs) == ["c"]
        with pytest.raises(UsageError):
            await jobs.remove("c", who="me")
    async with clock_on(world) as (jobs, record):
        await jobs.sync()
        assert record.registry.services.jobs == {}


async def test_calls_add_change_run_and_remove_jobs(autojump_clock: MockClock) -> None:
    world = World()
    async with clock_on(world) as (jobs, record):
        await jobs.add(HOURLY)
        with pytest.raises(UsageError):
            await jobs.add(HOURLY)
        await jobs.replace({**HOURLY, "enabled": False})
        await trio.sleep(3700)
        assert world.begun == {}
        name = await jobs.run_now("j")
        with pytest.raises(UsageError):
            await jobs.run_now("j")
        await trio.sleep(1200)
        assert world.told == [name]
        await jobs.remove("j", who="me")
        assert record.registry.services.jobs == {}
        for call in (jobs.replace(HOURLY), jobs.remove("j", who="me"), jobs.run_now("j")):
            with pytest.raises(UsageError):
                await call
