"""Control: how soon an urgent message has its turn, and what ends, aborts and restarts cost (G17 to G19)."""

from __future__ import annotations

import time
from typing import Any

import trio
import trio.testing

from benchmarks.kernel.passing import at_least, at_most
from benchmarks.measure import ROUNDS, Target, print_table, report, report_ratio, run_group
from benchmarks.messaging import BACKLOG, WIDE
from greenroom.actors import Behavior, Context, Ref
from greenroom.core import Level
from greenroom.mailbox import Lane
from greenroom.supervisor import Backoff, SupervisorSpec, open_runtime

ABORTS = 2_000
VICTIMS = 1_000
CRASHES = 1_000
URGENT = 200


class Sleeper(Behavior[Any]):
    """Sleeps in each turn, or says when it runs."""

    journal = Level.LIFECYCLE

    async def on_message(self, message: Any, ctx: Context) -> None:
        if message == "sleep":
            await trio.sleep_forever()
        elif message == "crash":
            raise RuntimeError
        elif isinstance(message, trio.Event):
            message.set()


class Busy(Behavior[Any]):
    """Takes ten microseconds for each message; an event is urgent: it notes the time and sets it."""

    mailbox = WIDE

    def __init__(self, arrived: list[float]) -> None:
        self._arrived = arrived

    async def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, trio.Event):
            self._arrived.append(time.perf_counter())
            message.set()
            return
        until = time.perf_counter() + 10e-6
        while time.perf_counter() < until:
            pass


async def urgent_latencies(backlog: int, lane: Lane, times: int) -> list[float]:
    """Return the seconds from a send to its turn, sorted, for messages to one actor with a backlog."""
    async with open_runtime() as runtime:
        arrived: list[float] = []
        sent: list[float] = []
        actor = await runtime.spawn(Busy, arrived)
        for _ in range(backlog):
            actor.tell("work")
        for _ in range(times):
            await trio.sleep(0.001)  # it is in the middle of its backlog
            done = trio.Event()
            sent.append(time.perf_counter())
            actor.tell(done, lane)
            await done.wait()
        actor.kill()
    return sorted(came - went for came, went in zip(arrived, sent, strict=True))


async def abort_to_next(count: int) -> float:
    """Return the CPU seconds from an abort to the next message, each time."""
    async with open_runtime() as runtime:
        actor = await runtime.spawn(Sleeper)
        total = 0.0
        for _ in range(count):
            actor.tell("sleep")
            await trio.testing.wait_all_tasks_blocked()
            done = trio.Event()
            began = time.process_time()
            actor.tell(done)
            actor.abort_turn()
            await done.wait()
            total += time.process_time() - began
    return total / count


async def bare_cancel(count: int) -> float:
    """Return the CPU seconds from the cancel of a scope to the next step of its task, and a wake from there."""
    total = 0.0
    scope = trio.CancelScope()
    done = trio.Event()

    async def victim() -> None:
        nonlocal scope
        while True:
            with trio.CancelScope() as scope:
                await trio.sleep_forever()
            done.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(victim)
        for _ in range(count):
            await trio.testing.wait_all_tasks_blocked()
            done = trio.Event()
            began = time.process_time()
            scope.cancel()
            await done.wait()
            total += time.process_time() - began
        nursery.cancel_scope.cancel()
    return total / count


async def kill_to_reaped(message: str | None) -> float:
    """Return the CPU seconds for killing 1,000 actors and hearing that they are gone, each."""
    async with open_runtime() as runtime:
        actors = [await runtime.spawn(Sleeper) for _ in range(VICTIMS)]
        if message:
            for actor in actors:
                actor.tell(message)
        await trio.testing.wait_all_tasks_blocked()
        began = time.process_time()
        for actor in actors:
            actor.kill()
        for actor in actors:
            await actor.wait_ended()
        return (time.process_time() - began) / VICTIMS


async def bare_reaped() -> float:
    """Return the CPU seconds for cancelling 1,000 bare tasks, each in a scope of its own."""
    scopes: list[trio.CancelScope] = []

    async def task() -> None:
        with trio.CancelScope() as scope:
            scopes.append(scope)
            await trio.sleep_forever()

    began = 0.0
    async with trio.open_nursery() as nursery:
        for _ in range(VICTIMS):
            nursery.start_soon(task)
        await trio.testing.wait_all_tasks_blocked()
        began = time.process_time()
        for scope in scopes:
            scope.cancel()
    return (time.process_time() - began) / VICTIMS


async def restarts(count: int) -> float:
    """Return the CPU seconds from a crash over the restart in place to the next message, each."""
    import logging

    logging.getLogger("greenroom").setLevel(logging.CRITICAL)
    spec = SupervisorSpec(intensity=10 * count, backoff=Backoff(first_s=0.0))
    async with open_runtime(spec=spec) as runtime:
        actor: Ref[Any] = await runtime.spawn(Sleeper)
        began = time.process_time()
        for _ in range(count):
            done = trio.Event()
            actor.tell("crash")
            actor.tell(done)
            await done.wait()
        return (time.process_time() - began) / count


async def bare_nursery(count: int) -> float:
    """Return the CPU seconds of a nursery with a child that fails, each."""

    async def fail() -> None:
        raise RuntimeError

    began = time.process_time()
    for _ in range(count):
        try:
            async with trio.open_nursery() as nursery:  # noqa: ASYNC112 - what a nursery costs is what is measured
                nursery.start_soon(fail)
        except BaseExceptionGroup:
            pass
    return (time.process_time() - began) / count


def urgent() -> None:
    now = [trio.run(urgent_latencies, BACKLOG, Lane.NOW, URGENT) for _ in range(ROUNDS)]
    in_order = [trio.run(urgent_latencies, BACKLOG, Lane.NEXT, 1) for _ in range(ROUNDS)]
    samples = {
        "`now`, median": [one[URGENT // 2] for one in now],
        "`now`, 99 of 100 are sooner": [one[URGENT * 99 // 100] for one in now],
        "in order": [one[0] for one in in_order],
    }
    print_table(f"an urgent message behind {BACKLOG:,} of 10 us each, send to turn", samples, unit="us", scale=1e6)
    for bench, name, limit_us in (
        ("G17 now, median", "`now`, median", 50),
        ("G17 now, 99 of 100 are sooner", "`now`, 99 of 100 are sooner", 1_000),
    ):
        target = Target(bench=bench, numerator="us", denominator="1", limit=limit_us, at_least=False)
        report(target, [value * 1e6 for value in samples[name]])
    report_ratio(at_least("G17 now against in order", "in order", 10_000, ours="`now`, median"), samples)


def aborts() -> None:
    run_group(
        "abort of a turn, to the next message running, CPU",
        {
            "greenroom actors": lambda: trio.run(abort_to_next, ABORTS),
            "a bare Trio cancel": lambda: trio.run(bare_cancel, ABORTS),
        },
        [at_most("G18 abort to next message over a bare cancel", "a bare Trio cancel", 1.1)],
        unit="us",
        scale=1e6,
        slices=2,
    )


def kills() -> None:
    run_group(
        f"kill to reaped, {VICTIMS:,} at once, CPU per actor",
        {
            "greenroom, parked": lambda: trio.run(kill_to_reaped, None),
            "greenroom, in a turn": lambda: trio.run(kill_to_reaped, "sleep"),
            "bare Trio tasks": lambda: trio.run(bare_reaped),
        },
        [
            at_most(f"kill to reaped, {where}, over a bare cancel", "bare Trio tasks", None, ours=f"greenroom, {where}")
            for where in ("parked", "in a turn")
        ],
        unit="us",
        scale=1e6,
        slices=3,
    )


def storms() -> None:
    run_group(
        "crash, restart in place, next message, CPU",
        {
            "greenroom actors": lambda: trio.run(restarts, CRASHES),
            "a bare nursery with a child that fails": lambda: trio.run(bare_nursery, CRASHES),
        },
        [at_most("G19 restart over a bare nursery", "a bare nursery with a child that fails", 2.2)],
        unit="us",
        scale=1e6,
        slices=1,
    )


GROUPS = {"urgent": urgent, "abort": aborts, "kill": kills, "restart": storms}
