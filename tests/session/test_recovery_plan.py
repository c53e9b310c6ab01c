"""Plans about the work that an earlier process left: every combination of the facts."""

from __future__ import annotations

from itertools import product
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import SettingsError
from greenroom.session.record._recovery_plan import (
    MAX_RECOVERIES,
    EndPlan,
    LeftEnd,
    LeftTurn,
    TurnPlan,
    plan_ends,
    plan_turn,
)
from greenroom.session.settings._recovery_settings import RecoverySettings
from greenroom.session.settings._session_settings import load_settings

TURNS: list[tuple[Literal["resume", "leave"], LeftTurn, TurnPlan]] = [
    ("resume", LeftTurn(was_lost=True), TurnPlan.RESUME),
    ("leave", LeftTurn(was_lost=True), TurnPlan.HOLD),
    ("resume", LeftTurn(was_lost=False), TurnPlan.NOTHING),
    ("leave", LeftTurn(was_lost=False), TurnPlan.NOTHING),
    ("resume", LeftTurn(was_lost=True, waits_for_answer=True), TurnPlan.NOTHING),
    ("leave", LeftTurn(was_lost=True, waits_for_answer=True), TurnPlan.NOTHING),
    ("resume", LeftTurn(was_lost=True, is_fork=True), TurnPlan.NOTHING),
    ("leave", LeftTurn(was_lost=True, is_fork=True), TurnPlan.NOTHING),
]
LOST = LeftEnd(was_lost=True, is_resumable=True)
ENDS: list[tuple[Literal["tell", "resume"], LeftEnd, EndPlan]] = [
    ("tell", LOST, EndPlan.TELL),
    ("resume", LOST, EndPlan.RESUME),
    ("resume", LeftEnd(was_lost=True), EndPlan.TELL),
    ("resume", LeftEnd(was_lost=False, is_resumable=True), EndPlan.TELL),
    *(("resume", LeftEnd(was_lost=True, is_resumable=True, recoveries=n), EndPlan.RESUME) for n in range(3)),
    ("resume", LeftEnd(was_lost=True, is_resumable=True, recoveries=3), EndPlan.TELL),
    ("tell", LeftEnd(was_lost=True, is_owner_away=True), EndPlan.WAIT),
    ("resume", LeftEnd(was_lost=True, is_owner_away=True), EndPlan.WAIT),
]


@pytest.mark.parametrize(("cut_turns", "turn", "plan"), TURNS)
def test_a_cut_turn_is_planned_by_the_table(cut_turns: str, turn: LeftTurn, plan: TurnPlan) -> None:
    assert plan_turn(RecoverySettings(cut_turns=cut_turns), turn) is plan  # type: ignore[arg-type]


@pytest.mark.parametrize(("lost_agents", "end", "plan"), ENDS)
def test_an_untold_end_is_planned_by_the_table(lost_agents: str, end: LeftEnd, plan: EndPlan) -> None:
    assert plan_ends(RecoverySettings(lost_agents=lost_agents), [end]) == (plan,)  # type: ignore[arg-type]


@given(
    st.sampled_from(["tell", "resume"]),
    st.lists(st.builds(LeftEnd, was_lost=st.booleans(), is_resumable=st.booleans(), recoveries=st.integers(0, 9))),
)
def test_every_end_has_one_plan_and_few_are_resumed(lost_agents: str, ends: list[LeftEnd]) -> None:
    plans = plan_ends(RecoverySettings(lost_agents=lost_agents), ends)  # type: ignore[arg-type]

    assert len(plans) == len(ends)
    for end, plan in zip(ends, plans, strict=True):
        assert plan is not EndPlan.RESUME or (end.was_lost and end.is_resumable and end.recoveries < MAX_RECOVERIES)


def test_each_turn_that_is_not_open_is_resumed_or_held() -> None:
    for was_lost, waits, is_fork in product((False, True), repeat=3):
        turn = LeftTurn(was_lost=was_lost, waits_for_answer=waits, is_fork=is_fork)
        is_left = plan_turn(RecoverySettings(), turn) is TurnPlan.NOTHING
        assert is_left is (plan_turn(RecoverySettings(cut_turns="leave"), turn) is TurnPlan.NOTHING)


@pytest.mark.parametrize(
    "values",
    [
        {"recovery": {"cut_turns": "later"}},
        {"recovery": {"lost_agents": True}},
        {"recovery": {"lost_turns": "resume"}},
        {"durability": "disk"},
    ],
)
def test_settings_of_recovery_that_make_no_sense_are_refused(values: dict[str, object]) -> None:
    (key,) = values
    with pytest.raises(SettingsError, match=key):
        load_settings(None, given=values)
