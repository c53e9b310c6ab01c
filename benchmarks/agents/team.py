"""A team of very many mates on a board of very many items: how long they take beside what their model takes alone, and what a
mate holds in memory beyond its conversation.

Each mate claims an item, completes it with a tool and says that it is done: two requests an item, in a whole session with its
journal and transcripts on disk. Ideal is the time that the model waits if no mate ever does.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
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
from greenroom.teams import CreateItem, Team

MATES: Final = 1_000
ITEMS: Final = 10_000
WAIT_S: Final = 1.0
REQUESTS: Final = 2
"""Of the model, for each item."""
LIMIT: Final = 1.2
MATE_KB: Final = 24.0
MATE: Final = AgentDefinition(name="mate", system_prompt="You do what is on the board.", tools=("TaskUpdate",))
_ITEM: Final = re.compile(r"#(\d+)")


@attrs.define
class Outcome:
    """What came of it."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    idle_kb: float = 0.0
    """Of resident memory for a mate that has had nothing to do."""
    worked_kb: float = 0.0
    """Of resident memory for a mate that has done its share, without what its transcript has on disk."""
    completed: int = 0
    owners: int = 0


def play(request: ModelRequest) -> AnswerLike:
    """Complete what the latest message hands over."""
    last = request.messages[-1].content[-1]
    found = _ITEM.search(getattr(last, "text", ""))
    return "Done." if found is None else Call("TaskUpdate", {"taskId": found[1], "status": "completed"})


async def run(mates: int, items: int, wait_s: float, folder: Path) -> Outcome:
    """Let so many mates work on so many items."""
    outcome = Outcome()
    model = PlaybookModel({MATE.name: play, "main": lambda _: "I see."}, wait_s=wait_s)
    async with (
        open_session(model=model, cwd=folder, runs=folder / "runs") as session,
        session.open_team("crowd") as team,
    ):
        before_mib = resident_mib()
        for number in range(mates):
            await team.spawn(f"mate-{number}", definition=MATE)
        await session.wait_quiet()
        outcome.idle_kb = (resident_mib() - before_mib) * 1024 / mates
        began_s, cpu_s = time.perf_counter(), time.process_time()
        for number in range(items):
            await team.board.ref.ask(CreateItem(subject=f"Item {number}", description="Complete it.", by="host"))
        await session.wait_quiet()
        outcome.wall_s, outcome.cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
        outcome.worked_kb = ((resident_mib() - before_mib) * 1024 - _transcripts_kb(session)) / mates
        _count(outcome, team)
    return outcome


def _transcripts_kb(session: Session) -> float:
    return sum(path.stat().st_size for path in (session.run_folder / "transcripts").iterdir()) / 1024


def _count(outcome: Outcome, team: Team) -> None:
    done = [item for item in team.board.items() if item.status == "completed"]
    outcome.completed, outcome.owners = len(done), len({item.owner for item in done})


def main(mates: int = MATES, items: int = ITEMS, wait_s: float = WAIT_S) -> None:
    """Measure a team."""
    print(f"\n{mates:,} mates on {items:,} items (load of the machine: {os.getloadavg()[0]:.1f})")
    with calm_collector(), tempfile.TemporaryDirectory() as folder:
        outcome = trio.run(partial(run, mates, items, wait_s, Path(folder)))
    assert outcome.completed == items, f"{outcome.completed} of {items} items are completed"
    ideal_s = -(-items // mates) * REQUESTS * wait_s
    print(
        f"  {outcome.wall_s:.1f} s, ideal {ideal_s:.1f} s, {outcome.cpu_s / items * 1e3:.2f} ms of CPU an item, done by"
        f" {outcome.owners:,} mates; {outcome.idle_kb:.1f} KB a mate before, {outcome.worked_kb:.1f} KB after,"
        " without transcripts",
        flush=True,
    )
    _report("wall time of a team", "greenroom", "ideal", outcome.wall_s / ideal_s, LIMIT)
    _report("memory of a mate, idle", "KB", "1 KB", outcome.idle_kb, MATE_KB)
    _report("memory of a mate beyond its transcript", "KB", "1 KB", outcome.worked_kb, MATE_KB)


def _report(bench: str, numerator: str, denominator: str, ratio: float, limit: float) -> None:
    report(Target(bench=bench, numerator=numerator, denominator=denominator, limit=limit, at_least=False), [ratio])
