"""Requests to shut down: the table of their outcomes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import IllegalTransition
from greenroom.teams._shutdown_requests import OUTCOMES, TRANSITIONS, ShutdownState, ShutdownStep, step


@given(st.lists(st.sampled_from(ShutdownStep), max_size=12))
def test_whatever_happens_a_request_comes_to_one_outcome_and_stays_there(events: list[ShutdownStep]) -> None:
    state = ShutdownState.ASKED
    for event in events:
        before = state
        try:
            state = step(state, event)
        except IllegalTransition:
            assert state is before
        else:
            assert before not in OUTCOMES
    if ShutdownStep.END in events:
        assert state in OUTCOMES


def test_the_end_of_a_mate_is_in_every_row_that_is_open() -> None:
    """RC-51: whatever happened before, its end settles the request."""
    assert all(ShutdownStep.END in row for row in TRANSITIONS.values() if row)
    assert all(ShutdownStep.DEADLINE in TRANSITIONS[one] for one in (ShutdownState.ASKED, ShutdownState.AGREED))
