"""Every behaviour of OTP's supervisors that is in the catalogue, run over the real runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.otp.catalogue import CHAPTERS, SCENARIOS, scenarios_of
from tests.otp.scenario import Scenario, Verdict

HERE = Path(__file__).parent


def param(scenario: Scenario) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=scenario.bug)] if scenario.bug else []
    return pytest.param(scenario, id=f"{scenario.id}-{scenario.ours.replace(' ', '-')}", marks=marks)


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("scenario", [param(scenario) for scenario in SCENARIOS])
async def test_ours_does_what_the_catalogue_says(scenario: Scenario) -> None:
    await scenario.run()


def test_at_least_45_behaviours_are_compared_and_most_are_the_same() -> None:
    same = [scenario for scenario in SCENARIOS if scenario.verdict is Verdict.SAME]

    assert len(SCENARIOS) >= 45
    assert len(same) > len(SCENARIOS) / 2


def test_ids_are_numbered_without_gaps() -> None:
    ids = [scenario.id for scenario in SCENARIOS]

    assert sorted(ids) == sorted(f"OTP-{number}" for number in range(1, len(ids) + 1))


def test_each_difference_has_a_reason_and_nothing_else_has_one() -> None:
    for scenario in SCENARIOS:
        assert bool(scenario.reason) is (scenario.verdict is not Verdict.SAME), scenario.id
        assert not set("\n|*") & set(scenario.reason + scenario.bug), scenario.id


def test_each_behaviour_is_one_sentence_with_its_source() -> None:
    for scenario in SCENARIOS:
        page, colon, section = scenario.where.partition(": ")
        assert all((page, colon, section)), scenario.id
        assert scenario.says.endswith("."), scenario.id
        assert not set("\n|") & set(scenario.says + scenario.where), scenario.id
    assert len({scenario.says for scenario in SCENARIOS}) == len(SCENARIOS)


def test_each_scenario_is_of_its_own_and_in_the_catalogue() -> None:
    assert len({scenario.ours for scenario in SCENARIOS}) == len(SCENARIOS)
    with_scenarios = {path.stem for path in HERE.glob("*.py") if "async def" in path.read_text(encoding="utf-8")}
    assert {chapter.__name__.rpartition(".")[2] for chapter in CHAPTERS} == with_scenarios - {"scenario", "test_otp"}
    assert all(scenarios_of(chapter) for chapter in CHAPTERS)
