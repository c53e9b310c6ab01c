"""Very many actors: spawn, memory, stop, the collector's pause, and the cost per message from 100 actors to 100,000."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import attrs
import trio
import trio.testing

from benchmarks.kernel.passing import at_most
from benchmarks.measure import ROUNDS, Target, print_table, report, report_ratio, report_skipped
from greenroom.actors import Behavior, Context, Ref
from greenroom.core import calm_collector
from greenroom.supervisor import open_runtime

ROOT = Path(__file__).parents[2]
MANY = 10_000
OURS = "greenroom actors"
BARE = "bare Trio tasks"
CURVE = (100, 1_000, 10_000, 100_000)


class Idle(Behavior[Any]):
    """Waits for mail that tells it to set an event."""

    async def on_message(self, message: Any, ctx: Context) -> None:
        message.set()


class PlainIdle(Behavior[Any]):
    """The same as a plain function."""

    def on_message(self, message: Any, ctx: Context) -> None:
        message.set()


async def spawn_all(runtime: Any, kind: type[Behavior[Any]], count: int) -> list[Ref[Any]]:
    """Spawn side by side, a thousand at a time."""
    refs: list[Ref[Any]] = []

    async def spawn() -> None:
        refs.append(await runtime.spawn(kind))

    for _ in range(0, count, 1_000):
        async with trio.open_nursery() as nursery:
            for _ in range(min(count, 1_000)):
                nursery.start_soon(spawn)
    return refs


async def spawn_and_stop(count: int) -> tuple[float, float]:
    """Return the CPU seconds of a spawn and of a stop; spawned in bulk, as the bare tasks are."""
    async with open_runtime() as runtime:
        began = time.process_time()
        for _ in range(count):
            runtime.root.start(Idle)
        await trio.testing.wait_all_tasks_blocked()
        spawned = time.process_time()
    return (spawned - began) / count, (time.process_time() - spawned) / count


async def bare_tasks(count: int) -> tuple[float, float]:
    """Return the CPU seconds of starting and of cancelling a bare Trio task."""
    began = time.process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        spawned = time.process_time()
        nursery.cancel_scope.cancel()
    return (spawned - began) / count, (time.process_time() - spawned) / count


async def bytes_of(kind: type[Behavior[Any]], count: int) -> float:
    """Return the bytes of one idle actor, its record included."""
    async with open_runtime() as runtime:
        await spawn_all(runtime, kind, 1_000)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        kept = await spawn_all(runtime, kind, count)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        size = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
        tracemalloc.stop()
    return size


async def message_cost(count: int) -> float:
    """Return the CPU seconds of a message when so many actors are there and each gets one."""
    async with open_runtime() as runtime:
        refs = await spawn_all(runtime, Idle, count)
        events = [trio.Event() for _ in refs]
        began = time.process_time()
        for ref, event in zip(refs, events, strict=True):
            ref.tell(event)
        for event in events:
            await event.wait()
        return (time.process_time() - began) / count


async def pause() -> float:
    """Return the seconds of a full collection with 10,000 idle actors and the collector as it is set."""
    async with open_runtime() as runtime:
        await spawn_all(runtime, Idle, MANY)
        gc.freeze()
        began = time.perf_counter()
        gc.collect()
        took = time.perf_counter() - began
        gc.unfreeze()
    return took


def spawns() -> None:
    """Each size with the collector calm, as a program with so many actors should have it."""
    for count in (MANY, 10 * MANY):
        measured: dict[str, list[tuple[float, float]]] = {OURS: [], BARE: []}
        for _ in range(ROUNDS):
            for name, function in ((OURS, spawn_and_stop), (BARE, bare_tasks)):
                with calm_collector():
                    measured[name].append(trio.run(function, count))
        for place, what, goal, limit in ((0, "spawn", "G14", 1.8), (1, "stop", "G15", 0.35)):
            samples = {name: [pair[place] for pair in pairs] for name, pairs in measured.items()}
            print_table(f"{what} of {count:,}, with the collector calm, CPU each", samples, unit="us", scale=1e6)
            report_ratio(at_most(f"{goal} {what} of {count:,} over a bare task", BARE, limit, ours=OURS), samples)


def resident_bytes() -> int:
    """Return how much of this process is in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


async def resident_bytes_of(kind: type[Behavior[Any]], count: int) -> float:
    """Return by how much the process grows for each actor: for a fresh process, where nothing is there to be used again."""
    async with open_runtime() as runtime:
        await spawn_all(runtime, kind, 1_000)
        before = resident_bytes()
        kept = await spawn_all(runtime, kind, count)
        await trio.testing.wait_all_tasks_blocked()
        return (resident_bytes() - before) / len(kept)


def in_fresh_process(kind: type[Behavior[Any]], count: int) -> float:
    code = "import gc, trio; from benchmarks.kernel import scale; gc.disable(); "
    code += f"print(trio.run(scale.resident_bytes_of, scale.{kind.__name__}, {count}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    return float(done.stdout)


def memory() -> None:
    """Every byte of the 10,000; of the 100,000 what the process grows by, because counting each byte takes a minute."""
    print("\nmemory of an idle actor, its record included")
    for kind, bench, limit in ((Idle, "G12 idle task actor", 3.0), (PlainIdle, "G13 idle plain actor", 0.4)):
        few = Target(bench=f"{bench}, of {MANY:,}", numerator="kB", denominator="1", limit=limit, at_least=False)
        many = attrs.evolve(few, bench=f"{bench}, of {10 * MANY:,}")
        report(few, [trio.run(bytes_of, kind, MANY) / 1_000])
        if resident_bytes():
            report(many, [in_fresh_process(kind, 10 * MANY) / 1_000])
        else:
            report_skipped(many, "this system does not say how much of a process is in memory")


def pauses() -> None:
    took = [trio.run(pause) * 1e3 for _ in range(ROUNDS)]
    target = Target(bench="G16 full collection, frozen", numerator="ms", denominator="1", limit=1.0, at_least=False)
    print_table(f"full collection with {MANY:,} idle actors", {"frozen": took}, unit="ms")
    report(target, took)


def curve() -> None:
    print("\ncost of a message by the number of actors (us)")
    for count in CURVE:
        with calm_collector():
            print(f"  {count:>10,} actors {trio.run(message_cost, count) * 1e6:>12.2f}", flush=True)


GROUPS = {"spawn": spawns, "memory": memory, "gc": pauses, "curve": curve}
