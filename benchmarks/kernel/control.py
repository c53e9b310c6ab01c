"""Ends and aborts: what they cost, and how soon the next message runs (G15, G18, G19)."""

from __future__ import annotations

import time
from typing import Any

import trio
import trio.testing

from benchmarks.kernel.passing import at_most
from benchmarks.measure import run_group
from greenroom.actors import Behavior, Context, Ref
from greenroom.core import Level
from greenroom.supervisor import Backoff, SupervisorSpec, open_runtime

ABORTS = 2_000
VICTIMS = 1_000
CRASHES = 1_000


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


GROUPS = {"abort": aborts, "kill": kills, "restart": storms}
