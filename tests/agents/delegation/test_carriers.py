"""The ways in which the result of a skill that forks comes back."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.delegation._carriers import Carrier, SkillSituation, choose_carrier

FLAGS = ("background_enabled", "is_interactive", "is_assistant", "is_main", "runs_already", "is_scheduled")
SITUATIONS = st.builds(
    SkillSituation, setting=st.sampled_from(("wait", "background")), **{flag: st.booleans() for flag in FLAGS}
)
SAID = st.sampled_from((None, True, False))
WATCHED: dict[str, Any] = {"setting": "background", "is_interactive": True}


@given(SAID, SITUATIONS)
def test_nothing_runs_unwaited_for_where_nothing_runs_in_the_background(
    said: bool | None,
    situation: SkillSituation,
) -> None:
    off = attrs.evolve(situation, background_enabled=False)
    assert choose_carrier(said, off) is Carrier.OUTPUT


@given(SAID, SITUATIONS)
def test_an_assistant_waits_for_nothing_and_nobody_else_gets_a_hidden_prompt(
    said: bool | None,
    situation: SkillSituation,
) -> None:
    carrier = choose_carrier(said, situation)
    assert (carrier is Carrier.HIDDEN_PROMPT) == (
        situation.is_assistant and situation.is_main and situation.background_enabled
    )
    if situation.is_assistant and situation.background_enabled:
        assert carrier is not Carrier.OUTPUT


@given(SAID, SITUATIONS)
def test_without_an_assistant_a_notice_needs_a_wish_and_a_person_and_no_reason_to_wait(
    said: bool | None,
    situation: SkillSituation,
) -> None:
    plain = attrs.evolve(situation, is_assistant=False, background_enabled=True)
    is_held = plain.runs_already or plain.is_scheduled or not plain.is_interactive
    is_wanted = said is True or (said is None and plain.setting == "background")
    assert (choose_carrier(said, plain) is Carrier.NOTICE) == (is_wanted and not is_held)


@pytest.mark.parametrize(
    ("said", "situation", "carrier"),
    [
        (None, {}, Carrier.OUTPUT),
        (True, {}, Carrier.OUTPUT),
        (True, {"is_interactive": True}, Carrier.NOTICE),
        (None, WATCHED, Carrier.NOTICE),
        (False, WATCHED, Carrier.OUTPUT),
        (None, {**WATCHED, "runs_already": True}, Carrier.OUTPUT),
        (None, {**WATCHED, "is_scheduled": True}, Carrier.OUTPUT),
        (None, {"is_assistant": True}, Carrier.HIDDEN_PROMPT),
        (None, {"is_assistant": True, "is_main": False}, Carrier.NOTICE),
    ],
)
def test_by_example(said: bool | None, situation: dict[str, Any], carrier: Carrier) -> None:
    assert choose_carrier(said, SkillSituation(**situation)) is carrier
