"""Environment variables about how agents start others."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.subagents import DelegationSettings, delegation_from_environment
from greenroom.core import UsageError

SWITCHES = ("GREENROOM_FORK_SUBAGENT", "GREENROOM_DISABLE_BACKGROUND_TASKS", "GREENROOM_AUTO_BACKGROUND_TASKS")
NUMBERS = {
    "GREENROOM_MAX_SUBAGENT_SPAWN_DEPTH": ("max_depth", 1),
    "GREENROOM_MAX_CONCURRENT_SUBAGENTS": ("max_running", 1),
    "GREENROOM_SUBAGENT_BG_SHELL_MAX_MS": ("shell_max_s", 1_000),
    "GREENROOM_ASYNC_AGENT_STALL_TIMEOUT_MS": ("stall_s", 1_000),
    "GREENROOM_TASK_MAX_OUTPUT_LENGTH": ("report_chars", 1),
}
ON, OFF, SILENT = (
    st.sampled_from(["1", "true", "YES"]),
    st.sampled_from(["0", "off", "No "]),
    st.sampled_from(["", " "]),
)


def read(settings: DelegationSettings, **environ: str) -> DelegationSettings:
    return delegation_from_environment(environ, settings)


@given(st.dictionaries(st.sampled_from([*SWITCHES, *NUMBERS, "PATH"]), SILENT))
def test_what_says_nothing_changes_nothing(environ: dict[str, str]) -> None:
    settings = DelegationSettings(fork="explicit", max_depth=2)

    assert delegation_from_environment(environ, settings) is settings


@given(ON, OFF)
def test_the_switch_for_forks_opens_the_older_way_and_closes_both(on: str, off: str) -> None:
    closed, newer = DelegationSettings(), DelegationSettings(fork="explicit")

    assert read(closed, GREENROOM_FORK_SUBAGENT=on).fork == "when_type_omitted"
    assert read(newer, GREENROOM_FORK_SUBAGENT=on).fork == "explicit"
    assert read(newer, GREENROOM_FORK_SUBAGENT=off).fork == "off"


@given(ON, OFF)
def test_the_background_can_be_switched_off_and_the_timer_both_ways(on: str, off: str) -> None:
    settings = DelegationSettings(auto_background_ms=0)

    assert read(settings, GREENROOM_DISABLE_BACKGROUND_TASKS=on).background is False
    assert read(settings, GREENROOM_DISABLE_BACKGROUND_TASKS=off).background is True
    assert read(settings, GREENROOM_AUTO_BACKGROUND_TASKS=on).auto_background_ms == 120_000
    assert read(DelegationSettings(auto_background_ms=5), GREENROOM_AUTO_BACKGROUND_TASKS=on).auto_background_ms == 5
    assert read(DelegationSettings(), GREENROOM_AUTO_BACKGROUND_TASKS=off).auto_background_ms == 0


@given(st.sampled_from(sorted(NUMBERS)), st.integers(1, 100_000))
def test_a_number_takes_the_place_of_a_setting(name: str, number: int) -> None:
    field, unit = NUMBERS[name]

    made = read(DelegationSettings(), **{name: str(number)})

    wanted: dict[str, Any] = {field: number if unit == 1 else number / unit}
    assert made == attrs.evolve(DelegationSettings(), **wanted)


@pytest.mark.parametrize("said", ["many", "-1", "1.5", "0"])
def test_a_number_that_is_none_or_out_of_range_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="GREENROOM_MAX_CONCURRENT_SUBAGENTS"):
        read(DelegationSettings(), GREENROOM_MAX_CONCURRENT_SUBAGENTS=said)
    with pytest.raises(UsageError, match="GREENROOM_TASK_MAX_OUTPUT_LENGTH"):
        read(DelegationSettings(), GREENROOM_TASK_MAX_OUTPUT_LENGTH="160001")


@pytest.mark.parametrize(
    ("environ", "given", "made"),
    [
        ({"GREENROOM_FORK_SUBAGENT": "1"}, {}, {"fork": "when_type_omitted"}),
        ({"GREENROOM_FORK_SUBAGENT": "1"}, {"fork": "explicit"}, {"fork": "explicit"}),
        ({"GREENROOM_FORK_SUBAGENT": "0"}, {"fork": "explicit"}, {"fork": "off"}),
        ({"GREENROOM_DISABLE_BACKGROUND_TASKS": "1"}, {}, {"background": False}),
        ({"GREENROOM_DISABLE_BACKGROUND_TASKS": "0"}, {"background": False}, {"background": False}),
        ({"GREENROOM_AUTO_BACKGROUND_TASKS": "0"}, {}, {"auto_background_ms": 0}),
        ({"GREENROOM_AUTO_BACKGROUND_TASKS": "1"}, {"auto_background_ms": 0}, {"auto_background_ms": 120_000}),
        ({"GREENROOM_AUTO_BACKGROUND_TASKS": "1"}, {"auto_background_ms": 5}, {"auto_background_ms": 5}),
        ({"GREENROOM_MAX_SUBAGENT_SPAWN_DEPTH": "1"}, {}, {"max_depth": 1}),
        ({"GREENROOM_MAX_CONCURRENT_SUBAGENTS": "2"}, {"max_running": 9}, {"max_running": 2}),
    ],
)
def test_how_agents_start_others(environ: dict[str, str], given: dict[str, object], made: dict[str, object]) -> None:
    read = delegation_from_environment(environ, DelegationSettings(**given))  # type: ignore[arg-type]

    assert read == DelegationSettings(**made)  # type: ignore[arg-type]
