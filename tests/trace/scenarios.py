"""Runs of the kernel that the tests of the journal look at: every hot event, every kind of end, under a virtual clock."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import trio
import trio._core._run
from trio.testing import MockClock

from greenroom import actors, mailbox, supervisor, views
from greenroom.actors import Behavior, Context, Ref, Request, Unfinished
from greenroom.core import Event, Level, Record, Recorder, TurnFailed, TurnKilled
from greenroom.core.ports import InlineBlocking, Ports, SeededIds, SystemClock
from greenroom.mailbox import Lane
from greenroom.supervisor import ChildSpec, Runtime, Strategy, SupervisorSpec, open_runtime
from greenroom.trace import Entry, Fold, Journal, entries_of, open_journal
from tests.trace.disks import MemoryDisk

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

EVENTS: Final[tuple[type[Event], ...]] = (*mailbox.EVENTS, *actors.EVENTS, *supervisor.EVENTS)
FOLDS: Final[tuple[Fold, ...]] = views.FOLDS
FOLDER: Final = Path("/memory/run")

Scenario: TypeAlias = Callable[[Runtime], Awaitable[None]]


class VirtualClock:
    """Trio's own clock, and a date that never changes."""

    def bind(self) -> Callable[[], float]:
        return SystemClock().bind()

    def wall(self) -> datetime:
        return datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def make_ports(disk: MemoryDisk | None = None, seed: int = 1) -> Ports:
    return Ports(
        clock=VirtualClock(),
        ids=SeededIds(seed),
        chance=random.Random(seed),
        disk=disk or MemoryDisk(),
        blocking=InlineBlocking(),
    )


def unlocked(_: Path) -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def fixed_schedule(seed: int = 0) -> Iterator[None]:
    """Make Trio choose the same order of tasks every time."""
    run = trio._core._run
    before = run._ALLOW_DETERMINISTIC_SCHEDULING, run._r
    run._ALLOW_DETERMINISTIC_SCHEDULING, run._r = True, random.Random(seed)  # type: ignore[misc]
    try:
        yield
    finally:
        run._ALLOW_DETERMINISTIC_SCHEDULING, run._r = before  # type: ignore[misc]


# --- behaviors --------------------------------------------------------------------------------------------------------


@attrs.frozen
class Double(Request[int]):
    number: int


class Worker(Behavior[object]):
    """Sleeps as long as it is told, fails when told to, answers."""

    journal = Level.FULL

    async def on_message(self, message: object, ctx: Context) -> None:
        match message:
            case float():
                await trio.sleep(message)
            case Double(number):
                ctx.reply(number * 2)
            case "boom":
                raise ValueError("boom")
            case "drain":
                await trio.sleep(0.5)
                with ctx.drain(float, 2):
                    pass
            case Ref():
                ctx.watch(message)


class Stubborn(Worker):
    """Puts back what it did not finish."""

    unfinished = Unfinished.REQUEUE
    on_failure = "continue"


class Shop(Worker):
    """Serves customers by name while it is open."""

    async def on_message(self, message: object, ctx: Context) -> None:
        if message in {"open", "shut"}:
            ctx.enter(message)
        elif isinstance(message, str) and message != "boom" and ctx.state != "open":
            ctx.postpone()
        else:
            await super().on_message(message, ctx)


class Turns(Behavior[object]):
    """Served by the dispatcher, with turns in the journal."""

    journal = Level.TURNS

    def on_message(self, message: object, ctx: Context) -> None:
        if message == "boom":
            raise ValueError("boom")


class Quiet(Turns):
    """The default: its journal has no turns."""

    journal = Level.LIFECYCLE


# --- scenarios --------------------------------------------------------------------------------------------------------


async def work(runtime: Runtime) -> None:
    """Mail in all lanes, aborts, a failure with a restart, a kill, a watch, an ask."""
    worker = await runtime.spawn(Worker, name="worker")
    watcher = await runtime.spawn(Worker, name="watcher")
    turns = await runtime.spawn(Turns)
    quiet = await runtime.spawn(Quiet, name="quiet")
    watcher.tell(worker)
    for delay_s in (0.5, 0.25, 0.125):
        worker.tell(delay_s)
        worker.tell(delay_s, Lane.LATER)
        turns.tell(delay_s)
        quiet.tell(delay_s)
    worker.tell(0.1, Lane.NOW)
    await trio.sleep(0.2)
    worker.abort_turn(why="enough")
    assert await watcher.ask(Double(4)) == 8
    watcher.tell("drain")
    for _ in range(3):
        watcher.tell(0.125)
    await trio.sleep(2)
    turns.tell("boom")
    await trio.sleep(0.5)  # else the schedule says which of the two comes back first
    worker.tell("boom")
    await trio.sleep(1)
    worker.tell(9.0)
    worker.tell(9.0)
    await trio.sleep(0.125)
    worker.kill("no longer needed")
    await worker.wait_ended()
    worker.tell(1.0)
    await trio.sleep(0.125)


async def together(runtime: Runtime) -> None:
    """A team that is restarted together, mail that comes back and dies, and a supervisor that gives up."""
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, intensity=2)
    team = await runtime.spawn_supervisor("team", spec, escalates=False)
    first = await team.spawn(Stubborn, name="first")
    second = await team.spawn(Worker, name="second")
    first.tell("boom")
    first.tell(1.0)
    await trio.sleep(0.5)
    first.abort_turn()
    second.tell(0.5)
    for _ in range(3):
        second.tell("boom")
        await trio.sleep(2)
    await trio.sleep(2)


async def ends(runtime: Runtime) -> None:
    """Stops, asks that are never answered, and work that is cut by the end of the runtime."""
    worker = await runtime.spawn(Worker, name="worker")
    worker.tell(5.0)
    stopped = await runtime.spawn(Worker, name="stopped")
    stopped.tell(0.25)
    stopped.tell(0.25)
    await trio.sleep(0.125)
    stopped.stop(grace_s=1, why="done")
    await stopped.wait_ended()
    for request in (Double(1), Double(2)):
        try:
            with trio.move_on_after(0.125):
                await worker.ask(request, timeout_s=0.25)
        except (TurnFailed, TurnKilled):
            raise AssertionError from None


async def edges(runtime: Runtime) -> None:
    """An end before the begin, a child that needs two rungs of the ladder, a lane that waits, mail that is picked."""
    early = runtime.root.start(Worker, name="early")
    Ref(early).kill("nobody wants it")
    team = await runtime.spawn_supervisor("team")
    slow = await team.spawn(Worker, name="slow", spec=ChildSpec(grace_s=0.5, kill_grace_s=0.5))
    picky = await team.spawn(Worker, name="picky")
    slow.tell(9.0)
    picky.tell("drain")
    picky.tell("overtaken")
    picky.tell(0.125)
    picky.tell(0.125, Lane.LATER)
    for _ in range(20):
        picky.tell(0.0)
    await trio.sleep(0.25)
    picky.tell("overtaken too", Lane.NOW)
    await trio.sleep(1)
    team.ref.stop()
    await team.ref.wait_ended()


async def states(runtime: Runtime) -> None:
    """Messages that wait for another state, and for the next incarnation."""
    shop = await runtime.spawn(Shop, name="shop")
    for message in ("ann", "bob", 0.125, "open", "cid", "shut", "dan", "boom", "eve", "open", "shut", "fay"):
        shop.tell(message)
    shop.tell("now or never", Lane.NOW)
    await trio.sleep(3)


SCENARIOS: Final[tuple[Scenario, ...]] = (work, together, ends, edges, states)


def run_records(scenario: Scenario, seed: int = 1) -> list[Record]:
    """Return every record of a run, those for the recorder only included."""
    recorders: list[Recorder] = []

    async def main() -> None:
        ports = make_ports(seed=seed)
        recorders.append(Recorder(ports.clock.bind()))
        async with open_runtime(ports=ports, recorder=recorders[0]) as runtime:
            await scenario(runtime)

    with fixed_schedule(seed):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    return recorders[0].latest()


def run_entries(scenario: Scenario, seed: int = 1) -> list[Entry]:
    return entries_of(run_records(scenario, seed))


def run_journal(
    scenario: Callable[[Runtime, Journal], Awaitable[None]],
    disk: MemoryDisk,
    *,
    seed: int = 1,
    catalog: tuple[type[Event], ...] = EVENTS,
) -> bytes:
    """Write the journal of a run onto a disk and return its bytes."""

    async def main() -> None:
        ports = make_ports(disk, seed)
        async with (
            open_journal(FOLDER, ports=ports, catalog=catalog, seed=seed, lock=unlocked) as journal,
            open_runtime(ports=ports, recorder=journal.recorder) as runtime,
        ):
            await scenario(runtime, journal)

    with fixed_schedule(seed):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    return disk.files[FOLDER / "journal.jsonl"]
