"""A few schedules of every scenario in each run of the tests, and every history that once failed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tools.soak.running import HISTORIES, Plan, run
from tools.soak.scenarios import SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.promise("I-30", "I-52")
@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_no_schedule_and_no_faults_break_a_promise(scenario: str) -> None:
    chance = random.Random(scenario)
    for _ in range(25):
        strikes = tuple(sorted(chance.randrange(150) for _ in range(chance.randrange(4))))
        result = run(Plan(scenario, chance.randrange(2**32), strikes))
        assert result.problems == (), result.plan


@pytest.mark.promise("I-46")
@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_what_was_recorded_repeats_the_run(scenario: str) -> None:
    first = run(Plan(scenario, 7, (20, 40)))

    again = run(first.plan)

    assert again.journal == first.journal


@pytest.mark.promise("I-36", "I-38")
@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
def test_what_once_failed_does_not_fail_again(path: Path) -> None:
    assert run(Plan.loaded(path)).problems == ()
