"""Very many background agents that a program starts in one session: how long they take beside what their models take alone,
what of them stays in memory, and whether the end of each is told.

Each is started with `session.spawn(..., background=True)` in a whole session, with its journal and transcripts on disk; more
than may run wait for a place. Ideal is the time that the models wait, in as many rounds as the width allows.

An agent makes three files. Where very many files were deleted in the last minutes, ext4 looks long for a free inode: there each
agent costs 1.2 to 1.8 ms of the kernel's time, elsewhere 0.5. Wait, or let `TMPDIR` name a folder on its own part of the disk.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from benchmarks.measure import Target, report
from greenroom.agents import AgentDefinition, Appended
from greenroom.core import calm_collector
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import Session, TaskHandle, open_session
from greenroom.tools import tool
from tests.agents.subagents import caching

AGENTS: Final = 10_000
LIMIT: Final = 1.1
FLAT: Final = 1.05
"""Resident memory after all agents over that after six tenths of them."""
SPAWNERS: Final = 500
"""Tasks of the program that start agents."""
RELEASE_S: Final = 0.5
MARKS: Final = (0.2, 0.6, 1.0)
"""Parts of the agents after which memory is measured."""
WORKER: Final = AgentDefinition(name="worker", system_prompt="You add.")
_TASK_ID: Final = re.compile(r"<task-id>(\w+)</task-id>")


@attrs.frozen(kw_only=True)
class Load:
    """How much is asked for."""

    width: int
    """Agents that run at once."""
    wait_s: float
    """Seconds that a model takes for an answer."""
    rounds: int

    def ideal_s(self, agents: int) -> float:
        return -(-agents // self.width) * self.rounds * self.wait_s


NARROW: Final = Load(width=20, wait_s=0.05, rounds=2)
WIDE: Final = Load(width=1_000, wait_s=1.0, rounds=3)
QUICK: Final = Load(width=200, wait_s=0.02, rounds=2)


@attrs.define
class Outcome:
    """What came of it."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_mib: dict[int, float] = attrs.field(factory=dict)
    """Resident memory after so many agents, those released."""
    noticed: list[str] = attrs.field(factory=list)
    """The agents whose end main read of, as often as it did."""


@tool(read_only=True)
async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return str(a + b)


def playbook(load: Load) -> PlaybookModel:
    """Return the model of workers, which call a tool in every round but the last."""

    def work(request: ModelRequest) -> AnswerLike:
        return "done" if len(request.messages) >= 2 * load.rounds - 1 else Call("Add", {"a": 1, "b": 2})

    return PlaybookModel({"worker": work, "main": lambda _: "I see."}, wait_s=load.wait_s)


async def run(agents: int, load: Load, folder: Path, *, is_told: bool = False, has_memory: bool = False) -> Outcome:
    """Start so many agents and wait for them.

    Args:
        agents: How many.
        load: What each does.
        folder: An empty one.
        is_told: Whether main is told of each end, and reads of it.
        has_memory: Whether memory is measured, each time after what has ended was released.
    """
    outcome = Outcome()

    def hear(appended: Appended) -> None:
        for block in appended.message.content if appended.origin is not None else ():
            outcome.noticed += _TASK_ID.findall(getattr(block, "text", ""))

    async with open_session(
        model=playbook(load),
        cwd=folder,
        runs=folder / "runs",
        tools=[add],
        settings={"delegation": {"max_running": load.width, "release_s": RELEASE_S}},
        on_message=hear,
    ) as session:
        began_s, cpu_s = time.perf_counter(), time.process_time()
        before = 0
        for mark in MARKS if has_memory else MARKS[-1:]:
            await _spawn(session, round(agents * mark) - before, is_told=is_told)
            before = round(agents * mark)
            if has_memory:
                await trio.sleep(2 * RELEASE_S)
                outcome.memory_mib[before] = resident_mib()
        outcome.wall_s, outcome.cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
        if is_told:
            await session.wait_quiet()
    return outcome


async def _spawn(session: Session, agents: int, *, is_told: bool) -> None:
    """Start agents, some side by side, as fast as it goes, and wait for all of them."""
    handles: list[TaskHandle] = []
    left = iter(range(agents))

    async def start_some() -> None:
        for _ in left:
            handle = await session.spawn(WORKER, "Add.", background=True, notify="main" if is_told else "host")
            handles.append(handle)

    async with trio.open_nursery() as nursery:
        for _ in range(SPAWNERS):
            nursery.start_soon(start_some)
    for handle in handles:
        result = await handle.wait_finished()
        assert result.text == "done", result


def resident_mib() -> float:
    """Return the resident memory of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(agents: int = AGENTS) -> None:
    """Measure the width, the memory and the notices, and the share of forks' input that the prompt cache serves."""
    loads = {"narrow": NARROW, "wide": WIDE}
    print(f"\n{agents:,} background agents of one session (load of the machine: {os.getloadavg()[0]:.1f})")
    with tempfile.TemporaryDirectory() as place:  # one for all: making files where very many were just deleted is slow
        _measure_all(agents, loads, Path(place))


def _measure_all(agents: int, loads: Mapping[str, Load], place: Path) -> None:
    for name, load in loads.items():
        outcome = _measure(agents, load, place)
        ideal_s = load.ideal_s(agents)
        print(
            f"  {load.width:,} at once, {load.rounds} rounds of {load.wait_s:g} s: {outcome.wall_s:.1f} s, ideal {ideal_s:.1f} s,"
            f" {outcome.cpu_s / agents * 1e3:.2f} ms of CPU each",
            flush=True,
        )
        bench = f"wall time of {agents:,} background agents, {name}"
        _report(bench, "greenroom", "ideal", outcome.wall_s / ideal_s, LIMIT, at_least=False)
    outcome = _measure(agents, QUICK, place, has_memory=True)
    for count, mib in outcome.memory_mib.items():
        print(f"  {mib:,.1f} MiB after {count:,} agents", flush=True)
    memory = list(outcome.memory_mib.values())
    _report("resident memory, agents released", "all agents", "6 of 10", memory[-1] / memory[-2], FLAT, at_least=False)
    outcome = _measure(agents, WIDE, place, is_told=True)
    _report("ends that main was told of, once each", "notices", "agents", _once(outcome.noticed) / agents, 1.0)
    forks = [one.share for one in trio.run(caching.measure, Path(tempfile.mkdtemp(dir=place))).forks if one.is_first]
    _report("input of forks 2 to 10 that the prompt cache serves", "read", "all input", min(forks[1:]), 0.99)


def _measure(agents: int, load: Load, place: Path, *, is_told: bool = False, has_memory: bool = False) -> Outcome:
    """Measure in a process of its own: what one leaves on the heap is no burden of the next."""
    folder = Path(tempfile.mkdtemp(dir=place))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure_here, agents, load, folder, is_told=is_told, has_memory=has_memory).result()


def _measure_here(agents: int, load: Load, folder: Path, *, is_told: bool, has_memory: bool) -> Outcome:
    with calm_collector():
        return trio.run(partial(run, agents, load, folder, is_told=is_told, has_memory=has_memory))


def _once(noticed: list[str]) -> int:
    """Return how many are there exactly once."""
    return sum(count == 1 for count in Counter(noticed).values())


def _report(bench: str, numerator: str, denominator: str, ratio: float, limit: float, *, at_least: bool = True) -> None:
    target = Target(bench=bench, numerator=numerator, denominator=denominator, limit=limit, at_least=at_least)
    report(target, [ratio])
