"""GG5, GG6 and GG12: what an open session costs, what a closed one leaves, and a long day of messages."""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
import tracemalloc
from pathlib import Path

import attrs
import trio
from trio.testing import MockClock

from benchmarks.gateway.place import MemoryChat, new_folder, opened, replying, report_at_most
from benchmarks.measure import Target, print_table, report_ratio
from greenroom.agents import AgentDefinition
from greenroom.core.ports import SystemDisk
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._registry import Registry
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from greenroom.testing import virtual_ports

OPEN = 60
KNOWN = 10_000
DAY = 1_500
EARLY = 500
PEOPLE = 20
NEW_EACH = 1_000
"""Messages after which everybody begins a new conversation: one that is open is in memory, and would grow all day."""
PAUSE_S = 86_400 / 50_000
"""Seconds between two messages: 50,000 make a day."""
IDLE_S = 2.0
SETTLE_S = 2.5
"""Seconds after which what the last turns wrote is on the device: a session is idle from then on."""
OURS, BARE = "a session of a gateway", "a session opened by hand"
ROW, TUPLE = "a row of the registry", "a tuple with the same texts"


def descriptors() -> int:
    """Return the number of descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0


async def open_cost() -> tuple[float, float, float]:
    """Return the bytes, descriptors, and CPU seconds a second of an open session of a gateway that is idle."""
    chat = MemoryChat()
    with new_folder() as folder:
        async with opened(folder, replying("hi"), chat) as gateway:
            await chat.say("hello", "first")
            await chat.wait_shown(1)
            tracemalloc.start()
            gc.collect()
            before, files = tracemalloc.get_traced_memory()[0], descriptors()
            for number in range(OPEN):
                await chat.say("hello", f"p{number}")
            await chat.wait_shown(OPEN + 1)
            await trio.sleep(SETTLE_S)
            gc.collect()
            size = (tracemalloc.get_traced_memory()[0] - before) / OPEN
            tracemalloc.stop()
            files = descriptors() - files
            began = time.process_time()
            await trio.sleep(IDLE_S)
            idle = (time.process_time() - began) / IDLE_S / OPEN
            assert gateway.parts.keepers.open_count == OPEN + 1
            gateway.parts.keepers.cut_all("measured")
    return size, files / OPEN, idle


async def bare_cost() -> float:
    """Return the bytes of a session that was opened by hand and had a turn."""
    model = PlaybookModel({"main": replying("hi")})
    main = AgentDefinition(name="main", system_prompt="You help.")
    count = 10
    with new_folder() as folder:

        async def keep(ready: trio.Event, leave: trio.Event) -> None:
            async with open_session(model=model, cwd=folder, runs=folder / "runs", main=main) as session:
                await session.run("hello")
                ready.set()
                await leave.wait()

        async with trio.open_nursery() as nursery:
            leave, first = trio.Event(), trio.Event()
            nursery.start_soon(keep, first, leave)
            await first.wait()
            tracemalloc.start()
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(count):
                ready = trio.Event()
                nursery.start_soon(keep, ready, leave)
                await ready.wait()
            gc.collect()
            size = (tracemalloc.get_traced_memory()[0] - before) / count
            tracemalloc.stop()
            leave.set()
    return size


def open_sessions() -> None:
    measured = [trio.run(open_cost) for _ in range(3)]
    samples = {OURS: [size for size, _, _ in measured], BARE: [trio.run(bare_cost) for _ in range(3)]}
    print_table(f"GG5: memory of an open session, of {OPEN}", samples, unit="kB", scale=1e-3)
    report_ratio(Target(bench="GG5 memory over a session opened by hand", numerator=OURS, denominator=BARE), samples)
    report_at_most("GG5 memory of an open session", "kB", [size / 1e3 for size, _, _ in measured], 260)
    report_at_most("GG5 descriptors of an open session", "files", [files for _, files, _ in measured], 2)
    report_at_most("GG5 CPU of an idle session", "ms a second", [1e3 * idle for _, _, idle in measured], 0.25)


def bytes_of_rows() -> float:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    registry = Registry()
    for number in range(KNOWN):
        key = f"agent:main:memory:dm:p{number}"
        registry.fold(SessionMade(at_s=float(number), session=key, session_id=f"{number:036d}"))
    size = (tracemalloc.get_traced_memory()[0] - before) / KNOWN
    tracemalloc.stop()
    return size


def bytes_of_tuples() -> float:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = {f"agent:main:memory:dm:p{number}": (f"{number:036d}", float(number)) for number in range(KNOWN)}
    size = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    tracemalloc.stop()
    return size


def known_sessions() -> None:
    samples = {ROW: [bytes_of_rows() for _ in range(3)], TUPLE: [bytes_of_tuples() for _ in range(3)]}
    print_table(f"GG6: memory of a session that is known and closed, of {KNOWN:,}", samples, unit="kB", scale=1e-3)
    report_ratio(Target(bench="GG6 row over a tuple", numerator=ROW, denominator=TUPLE), samples)
    report_at_most("GG6 memory of a closed session", "kB", [size / 1e3 for size in samples[ROW]], 2)


@attrs.frozen
class DayFigures:
    """A process after a number of messages."""

    memory_bytes: float
    tasks: int
    files: int


async def long_day(folder: Path, messages: int, early: int) -> tuple[DayFigures, DayFigures]:
    """Have people write, in virtual time, and return the figures after the early messages and at the end."""
    chat = MemoryChat()
    ports = attrs.evolve(virtual_ports(1), disk=SystemDisk(is_durable=False))
    found: list[DayFigures] = []
    shown = 0
    async with opened(folder, replying("hi"), chat, ports=ports) as gateway:
        for number in range(1, messages + 1):
            await chat.say(f"number {number}", f"p{number * 7919 % PEOPLE}")
            await trio.sleep(PAUSE_S)
            if number % NEW_EACH == 0 or number in {early, messages}:
                await chat.wait_shown(number - shown)
                shown = number
                for key in list(gateway.parts.record.registry.sessions):
                    await gateway.parts.keepers.reset(key, who="benchmark")
                chat.shown.clear()  # what the service keeps is not the gateway's
            if number in {early, messages}:
                await trio.sleep(3_600)  # idle sessions are closed
                gc.collect()
                found.append(
                    DayFigures(
                        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
                        if sys.platform != "linux"
                        else resident_bytes(),
                        trio.lowlevel.current_statistics().tasks_living,
                        descriptors(),
                    )
                )
        assert gateway.parts.keepers.open_count == 0
    return found[0], found[1]


def resident_bytes() -> float:
    """Return how much of this process is in memory."""
    return float(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_day(messages: int, early: int) -> tuple[DayFigures, DayFigures]:
    """Run a day in a new folder."""
    with new_folder() as folder:
        clock = MockClock(autojump_threshold=0)  # without the log that a controlled order keeps of each step
        return trio.run(long_day, folder, messages, early, clock=clock)


def day() -> None:
    """The whole day of 50,000 messages is `make soak-gateway`."""
    early, late = run_day(DAY, EARLY)
    print(f"\nGG12: {DAY:,} messages of a day, after the first {EARLY:,}")
    report_at_most("GG12 memory at the end over early", "times", [late.memory_bytes / early.memory_bytes], 1.1)
    report_at_most("GG12 tasks more than early", "tasks", [late.tasks - early.tasks], 0)
    report_at_most("GG12 descriptors more than early", "files", [late.files - early.files], 0)


GROUPS = {"open": open_sessions, "known": known_sessions, "day": day}
