"""Planted races at points, found by the default exploration; their sound twins are not blamed."""

from __future__ import annotations

import pytest
import trio

from greenroom.core import point
from greenroom.testing import ExplorationFailed, Faults, Sim, explore, replay
from greenroom.testing._sim import HELD_STEPS
from tests.testing.races import RACES, Oversold, Race, found_in, mended, planted, two_teammates


@pytest.mark.parametrize("race", RACES)
@pytest.mark.parametrize("seed", range(3))
def test_planted_race_is_found_by_default(race: Race, seed: int) -> None:
    assert found_in(race, seed) is not None


@pytest.mark.parametrize("race", RACES)
def test_guarded_scenario_passes_under_every_strategy(race: Race) -> None:
    explore(mended(race), schedules=15)


def test_race_of_two_teammates_replays_from_its_shrunk_choices() -> None:
    with pytest.raises(ExplorationFailed) as found:
        explore(planted(two_teammates), strategy="freezing")

    assert set(found.value.choices) == {0, 1}  # the plain order, and tasks held at their points
    with pytest.raises(ExplorationFailed) as again:
        explore(planted(two_teammates), strategy=replay(found.value.choices))
    assert isinstance(again.value.__cause__, Oversold)


def test_freezing_alone_finds_a_race_that_chance_misses() -> None:
    race = next(race for race in RACES if race.__name__ == "one_long_behind")

    with pytest.raises(ExplorationFailed) as caught:
        explore(planted(race), strategy="freezing", schedules=20)
    assert caught.value.choices[-1] == 1


# --- how long a point may last ----------------------------------------------------------------------------------------


def ran_beside(others: int, *, faults: Faults | None = None, quiet_after: int | None = None) -> int:
    """Return how many of so many steps of another task ran while a task was held at a point."""
    ran: list[int] = []

    async def scenario(sim: Sim) -> None:
        count = 0

        async def work() -> None:
            nonlocal count
            for _ in range(others):
                count += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            before = count
            await point("saved")
            ran.append(count - before)
            assert trio.current_time() == 0

    explore(scenario, strategy=replay([1]), faults=faults, quiet_after=quiet_after)
    return ran[0]


def test_held_task_waits_until_the_others_are_blocked() -> None:
    assert ran_beside(100) == 100


def test_held_task_goes_on_when_others_never_block() -> None:
    assert 400 < ran_beside(2_000) < HELD_STEPS


def test_held_task_goes_on_when_faults_stop() -> None:
    assert 20 < ran_beside(100, quiet_after=40) <= 40


def test_points_hold_nobody_without_checkpoints() -> None:
    assert ran_beside(100, faults=Faults(checkpoints=0)) == 0


def test_latest_of_several_held_tasks_goes_on_first() -> None:
    ended: list[str] = []

    async def scenario(sim: Sim) -> None:
        async def stop_at(name: str) -> None:
            await point(name)
            for _ in range(20):
                await trio.lowlevel.checkpoint()
            ended.append(name)

        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(stop_at, name)

    explore(scenario, strategy=replay([0, 0, 1, 1, 1]))
    assert ended == ["c", "b", "a"]
