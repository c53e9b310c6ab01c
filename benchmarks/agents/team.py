"""A team of very many mates on a board of very many items: how long they take beside what their model takes alone, and what a
mate holds in memory beyond its conversation.

Each mate claims an item, completes it with a tool and says that it is done: two requests an item, in a whole session with its
journal and transcripts on disk. Ideal is the time that the model waits if no mate ever does. The clock runs from the first item
that is put on the board until the last mate is idle; what their lead reads of it afterwards is printed beside it.

Memory is what lives, by `tracemalloc`, in a run of its own: resident memory also counts what the allocator keeps after a peak.
"""

from __future__ import annotations

import gc
import os
import re
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from benchmarks.agents.spawned import resident_mib
from benchmarks.measure import Target, report
from greenroom.agents import AgentDefinition
from greenroom.core import calm_collector
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import Session, open_session
from greenroom.teams import CreateItem, MemberStatus, Team

MATES: Final = 1_000
ITEMS: Final = 10_000
WAIT_S: Final = 1.0
LOOK_S: Final = 0.05
FEWER: Final = 300
"""Mates whose memory is traced, which is slow; each does as much as the others."""
REQUESTS: Final = 2
"""Of the model, for each item."""
LIMIT: Final = 1.2
MATE_KB: Final = 24.0
MATE: Final = AgentDefinition(name="mate", system_prompt="You do what is on the board.", tools=("TaskUpdate",))
_ITEM: Final = re.compile(r"#(\d+)")


@attrs.define
class Outcome:
    """What came of it."""

    filled_s: float = 0.0
    """Until all items were on the board."""
    wall_s: float = 0.0
    quiet_s: float = 0.0
    """Until the lead had read of it, too."""
    cpu_s: float = 0.0
    idle_kb: float = 0.0
    """For a mate that has had nothing to do."""
    worked_kb: float = 0.0
    """For a mate that has done its share, without what its transcript has on disk."""
    completed: int = 0
    owners: int = 0


def play(request: ModelRequest) -> AnswerLike:
    """Complete what the latest message hands over."""
    last = request.messages[-1].content[-1]
    found = _ITEM.search(getattr(last, "text", ""))
    return "Done." if found is None else Call("TaskUpdate", {"taskId": found[1], "status": "completed"})


async def run(mates: int, items: int, wait_s: float, folder: Path, memory_kb: Callable[[], float]) -> Outcome:
    """Let so many mates work on so many items."""
    outcome = Outcome()
    model = PlaybookModel({MATE.name: play, "main": lambda _: "I see."}, wait_s=wait_s)
    async with (
        open_session(model=model, cwd=folder, runs=folder / "runs") as session,
        session.open_team("crowd") as team,
    ):
        before_kb = memory_kb()
        for number in range(mates):
            await team.spawn(f"mate-{number}", definition=MATE)
        await session.wait_quiet()
        outcome.idle_kb = (memory_kb() - before_kb) / mates
        began_s, cpu_s = time.perf_counter(), time.process_time()
        for number in range(items):
            await team.board.ref.ask(CreateItem(subject=f"Item {number}", description="Complete it.", by="host"))
        outcome.filled_s = time.perf_counter() - began_s
        while team.board.has_claimable or any(mate.status is not MemberStatus.IDLE for mate in team.teammates.values()):  # noqa: ASYNC110
            await trio.sleep(LOOK_S)
        outcome.wall_s, outcome.cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
        await session.wait_quiet()
        outcome.quiet_s = time.perf_counter() - began_s
        outcome.worked_kb = (memory_kb() - before_kb - _transcripts_kb(session)) / mates
        _count(outcome, team)
    return outcome


def resident_kb() -> float:
    """Return the resident memory of this process."""
    return resident_mib() * 1024


def living_kb() -> float:
    """Return the memory that lives, as far as it was allocated since tracing began."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / 1024


def _transcripts_kb(session: Session) -> float:
    return sum(path.stat().st_size for path in (session.run_folder / "transcripts").iterdir()) / 1024


def _count(outcome: Outcome, team: Team) -> None:
    done = [item for item in team.board.items() if item.status == "completed"]
    outcome.completed, outcome.owners = len(done), len({item.owner for item in done})


def main(mates: int = MATES, items: int = ITEMS, wait_s: float = WAIT_S) -> None:
    """Measure a team."""
    print(f"\n{mates:,} mates on {items:,} items (load of the machine: {os.getloadavg()[0]:.1f})")
    outcome = _measure(mates, items, wait_s, resident_kb)
    assert outcome.completed == items, f"{outcome.completed} of {items} items are completed"
    ideal_s = -(-items // mates) * REQUESTS * wait_s
    print(
        f"  {outcome.wall_s:.1f} s, ideal {ideal_s:.1f} s, {outcome.cpu_s / items * 1e3:.2f} ms of CPU an item, done by"
        f" {outcome.owners:,} mates; the board was filled in {outcome.filled_s:.1f} s, and the lead has read of all after"
        f" {outcome.quiet_s:.1f} s; resident {outcome.idle_kb:.1f} KB a mate before, {outcome.worked_kb:.1f} KB after,"
        " without transcripts",
        flush=True,
    )
    _report("wall time of a team", "greenroom", "ideal", outcome.wall_s / ideal_s, LIMIT)
    tracemalloc.start()
    outcome = _measure(FEWER, FEWER * items // mates, wait_s / 10, living_kb)
    tracemalloc.stop()
    _report("memory of a mate, idle", "KB", "1 KB", outcome.idle_kb, MATE_KB)
    _report("memory of a mate beyond its transcript", "KB", "1 KB", outcome.worked_kb, MATE_KB)


def _measure(mates: int, items: int, wait_s: float, memory_kb: Callable[[], float]) -> Outcome:
    with calm_collector(), tempfile.TemporaryDirectory() as folder:
        return trio.run(partial(run, mates, items, wait_s, Path(folder), memory_kb))


def _report(bench: str, numerator: str, denominator: str, ratio: float, limit: float) -> None:
    report(Target(bench=bench, numerator=numerator, denominator=denominator, limit=limit, at_least=False), [ratio])
