"""The schedules of the test kit: recorded, replayed, seeded; and what they rest on in Trio."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio._core import _run

import greenroom
from greenroom.core import InternalError
from greenroom.testing import ChoiceRNG, _scheduler, first_in, replayed, run_virtual, scheduled, seeded

if TYPE_CHECKING:
    from collections.abc import Sequence


async def race(runners: int = 4) -> list[int]:
    """Return the order in which some tasks took their steps."""
    order: list[int] = []

    async def run(number: int) -> None:
        for _ in range(2):
            await trio.lowlevel.checkpoint()
            order.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(runners):
            nursery.start_soon(run, number)
    return order


def test_this_trio_keeps_its_scheduler_where_the_test_kit_looks() -> None:
    """If this fails, a new Trio needs a new `_scheduler.py`: nothing else may name Trio's private parts."""
    assert isinstance(_run._r, random.Random)
    assert isinstance(_run._ALLOW_DETERMINISTIC_SCHEDULING, bool)
    asked: list[int] = []

    def last(runnable: int) -> int:
        asked.append(runnable)
        return runnable - 1

    generator = ChoiceRNG(last)
    batch = [1, 2, 3]
    generator.shuffle(batch)
    assert batch[::-1] == [3, 2, 1]  # Trio takes from the end, so 3 runs first
    assert run_virtual(race).result == [0, 1, 2, 3, 0, 1, 2, 3]
    assert len(run_virtual(race).choices) >= 3 * 2


def test_a_trio_without_these_names_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_scheduler, "RANDOM", "_moved")
    with pytest.raises(InternalError), scheduled():
        pass


def test_by_default_tasks_run_in_the_order_in_which_they_were_started() -> None:
    assert run_virtual(race).result == [0, 1, 2, 3] * 2
    assert run_virtual(race).result == [0, 1, 2, 3] * 2


def test_every_order_can_be_reached() -> None:
    """3 tasks of 2 steps: 6 orders in each of two batches. Trio by itself reaches 4 of the 36."""
    reached = {tuple(run_virtual(race, 3, choices=seed).result) for seed in range(400)}

    assert len(reached) == 36


@given(st.one_of(st.integers(0, 1_000), st.lists(st.integers(0, 7), max_size=40)))
def test_a_recorded_run_can_be_repeated(choices: int | list[int]) -> None:
    first = run_virtual(race, choices=choices)

    again = run_virtual(race, choices=first.choices)

    assert again == first


def test_choices_are_taken_in_turn_modulo_what_can_run_and_then_zero() -> None:
    pick = replayed([5, 1])

    assert [pick(3), pick(2), pick(9)] == [2, 1, 0]


@pytest.mark.parametrize("picks", [(first_in(), first_in()), (seeded(3), seeded(3))])
def test_pickers_with_the_same_start_agree(picks: Sequence[_scheduler.Picker]) -> None:
    assert [picks[0](n) for n in range(1, 50)] == [picks[1](n) for n in range(1, 50)]


def test_trio_is_put_back_as_it_was() -> None:
    before = (_run._r, _run._ALLOW_DETERMINISTIC_SCHEDULING)
    with pytest.raises(ZeroDivisionError), scheduled(3) as log:
        assert _run._r is not before[0]
        assert log == []
        raise ZeroDivisionError

    assert (_run._r, _run._ALLOW_DETERMINISTIC_SCHEDULING) == before


def test_an_error_says_how_to_repeat_its_run() -> None:
    async def fail() -> None:
        await race()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        run_virtual(fail, choices=5)

    (note,) = caught.value.__notes__
    assert "choices=[" in note


def test_only_one_module_names_the_private_parts_of_trio() -> None:
    package = Path(greenroom.__file__).parent
    private = re.compile(r"\btrio\._[a-z]")
    named = [path.name for path in package.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert named == ["_scheduler.py"]
