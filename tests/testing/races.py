"""Scenarios with a planted race at a point, each with a sound twin: how soon the default exploration finds them.

`python -m tests.testing.races [SEEDS]` prints, for each race, in which schedule each seed found it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import trio

import greenroom as gr
from greenroom.core import point
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.testing import ExplorationFailed, Sim, explore

SCHEDULES: Final = 100
Take: TypeAlias = Callable[[], Awaitable[None]]
Race: TypeAlias = Callable[[Sim, Take], Awaitable[None]]


class Oversold(Exception):
    """More was taken than there was."""


def planted(race: Race, left: int = 1) -> Callable[[Sim], Awaitable[None]]:
    """Return a scenario that takes from a stock which looks, waits for the world at a point, and then takes."""
    return _scenario(race, left, is_guarded=False)


def mended(race: Race, left: int = 1) -> Callable[[Sim], Awaitable[None]]:
    """Return the same scenario with a lock around the look and the take."""
    return _scenario(race, left, is_guarded=True)


def _scenario(race: Race, left: int, *, is_guarded: bool) -> Callable[[Sim], Awaitable[None]]:
    async def scenario(sim: Sim) -> None:
        stock, lock = left, trio.Lock()

        async def take() -> None:
            nonlocal stock
            if stock > 0:
                await point("db")
                stock -= 1

        async def take_alone() -> None:
            async with lock:
                await take()

        await race(sim, take_alone if is_guarded else take)
        if stock < 0:
            raise Oversold(stock)

    return scenario


# --- races ------------------------------------------------------------------------------------------------------------


async def two_tasks(sim: Sim, take: Take) -> None:
    """Two tasks at the same place."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        nursery.start_soon(take)


async def one_long_behind(sim: Sim, take: Take) -> None:
    """A task arrives when the other has long left, unless that one is held for as long as it takes."""

    async def arrive_late() -> None:
        for _ in range(60):
            await trio.lowlevel.checkpoint()
        await take()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        nursery.start_soon(arrive_late)


async def behind_many_points(sim: Sim, take: Take) -> None:
    """The race is one point of some twenty; at the others nothing can go wrong."""

    async def work(others: int) -> None:
        for number in range(others):
            await point(f"harmless {number}")
        for _ in range(10 * others):
            await trio.lowlevel.checkpoint()
        await take()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, 6)
        nursery.start_soon(work, 12)


class Taker(gr.Behavior[str]):
    """An actor that takes when it is told to."""

    def __init__(self, take: Take, then: gr.Ref[str] | None = None) -> None:
        self._take = take
        self._then = then

    async def on_message(self, message: str, ctx: gr.Context) -> None:
        """Tell the next one, and take."""
        if self._then is not None:
            self._then.tell(message)
        await self._take()


async def chain_of_actors(sim: Sim, take: Take) -> None:
    """Each of three actors tells the next one; two of them are enough for the race."""
    async with sim.open_runtime() as runtime:
        following = None
        for _ in range(3):
            following = await runtime.spawn(Taker, take, following)
        assert following is not None
        following.tell("go")
        await trio.sleep(1)


def _lead(request: ModelRequest) -> AnswerLike:
    if len(request.messages) == 1:
        return [Call("TaskCreate", {"subject": subject, "description": "Take."}) for subject in ("one", "two")]
    return "Thank you."


def _mate(request: ModelRequest) -> AnswerLike:
    """Take for each item, then complete it."""
    latest = request.messages[-1].text
    if latest.startswith("Task #"):
        return Call("Take", {})
    before = request.messages[-3].text if len(request.messages) > 2 else ""
    if before.startswith("Task #"):
        return Call("TaskUpdate", {"taskId": before.split()[1].strip("#"), "status": "completed"})
    return "Done."


async def two_teammates(sim: Sim, take: Take) -> None:
    """The lead puts two items on the board, and each of two teammates takes for its own."""

    @gr.tool(name="Take")
    async def take_one() -> str:
        """Take one."""
        await take()
        return "taken"

    model = gr.PlaybookModel({"lead": _lead, "mate": _mate})
    with tempfile.TemporaryDirectory() as folder:
        async with (
            gr.open_session(
                model=model,
                cwd=Path(folder),
                runs=Path(folder),
                main=gr.AgentDefinition(name="lead"),
                ports=sim.ports,
                tools=[take_one],
            ) as session,
            session.open_team("team") as team,
        ):
            sim.follow(session.runtime.recorder)
            for name in ("ann", "bob"):
                await team.spawn(name, definition=gr.AgentDefinition(name="mate"))
            await session.run("Take two.")
            await session.wait_quiet()
            assert [item.status for item in team.board.items()] == ["completed"] * 2


RACES: Final = (two_tasks, one_long_behind, behind_many_points, chain_of_actors, two_teammates)


# --- how soon they are found ------------------------------------------------------------------------------------------


def found_in(race: Race, seed: int) -> int | None:
    """Return the number of the schedule that found a planted race; None if none did."""
    try:
        explore(planted(race), schedules=SCHEDULES, seed=seed, shrinks=0)
    except ExplorationFailed as failed:
        if not isinstance(failed.__cause__, Oversold):
            raise
        return failed.runs
    return None


def main(arguments: list[str]) -> int:
    """Print how many seeds found each race within the schedules, and in which schedule."""
    seeds = int(arguments[0]) if arguments else 20
    missed = 0
    for race in RACES:
        runs = [found for seed in range(seeds) if (found := found_in(race, seed)) is not None]
        missed += seeds - len(runs)
        print(f"{race.__name__:20} found by {len(runs)} of {seeds} seeds, in schedules {sorted(runs)}")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
