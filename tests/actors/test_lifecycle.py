"""The lifecycle as a table, and the table that turns the end of a body into a state."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import EDGE_TO, TERMINAL, TRANSITIONS, Edge, Outcome, State, decide_outcome, step
from greenroom.core import Cause, IllegalTransition
from greenroom.testing import run_virtual

CAUSE = Cause("host", "because")


def test_there_are_five_edges_and_three_ends() -> None:
    edges = {(state, edge, after) for state, row in TRANSITIONS.items() for edge, after in row.items()}

    assert edges == {
        (State.PENDING, Edge.BEGIN, State.RUNNING),
        (State.PENDING, Edge.KILL, State.KILLED),
        (State.RUNNING, Edge.COMPLETE, State.COMPLETED),
        (State.RUNNING, Edge.FAIL, State.FAILED),
        (State.RUNNING, Edge.KILL, State.KILLED),
    }
    assert {State.COMPLETED, State.FAILED, State.KILLED} == TERMINAL
    assert set(TRANSITIONS) == set(State)
    assert all(TRANSITIONS[State.RUNNING][EDGE_TO[after]] is after for after in TERMINAL)


@pytest.mark.promise("I-1", "I-2")
@given(st.lists(st.sampled_from(Edge)))
def test_no_order_of_edges_escapes_a_terminal_state(edges: list[Edge]) -> None:
    state = State.PENDING
    for edge in edges:
        before = state
        try:
            state = step(state, edge)
        except IllegalTransition:
            assert edge not in TRANSITIONS[before]
        else:
            assert before not in TERMINAL


def caught_cancelled() -> trio.Cancelled:
    """Return a real `Cancelled`: it cannot be made by hand."""
    found: list[trio.Cancelled] = []

    async def scenario() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as error:
                found.append(error)
                raise

    run_virtual(scenario)
    return found[0]


CANCELLED = caught_cancelled()
ERROR = ValueError("mine")
OTHER = KeyError("too")
INTERRUPT = KeyboardInterrupt()
EXIT = SystemExit(3)


@pytest.mark.parametrize(
    ("error", "requested", "was_caught", "expected"),
    [
        # the body returned and nobody had cancelled it
        (None, None, False, Outcome(state=State.COMPLETED)),
        # returned, cancelled too late
        (None, CAUSE, False, Outcome(state=State.COMPLETED, cause=CAUSE, late_cancel=True)),
        # only Cancelled, caught here
        (None, CAUSE, True, Outcome(state=State.KILLED, by="own", cause=CAUSE)),
        # only Cancelled, passing through
        (CANCELLED, CAUSE, False, Outcome(state=State.KILLED, by="ancestor", cause=CAUSE, reraise=CANCELLED)),
        # exceptions, no Cancelled
        (ERROR, None, False, Outcome(state=State.FAILED, error=ERROR)),
        (ERROR, CAUSE, False, Outcome(state=State.FAILED, error=ERROR, cause=CAUSE, during_kill=True)),
        # a group of one is that one
        (ExceptionGroup("", [ExceptionGroup("", [ERROR])]), None, False, Outcome(state=State.FAILED, error=ERROR)),
        # KeyboardInterrupt, SystemExit
        (INTERRUPT, None, False, Outcome(state=State.FAILED, error=INTERRUPT, reraise=INTERRUPT)),
        (EXIT, None, False, Outcome(state=State.FAILED, error=EXIT, reraise=EXIT)),
    ],
)
def test_each_row_of_the_table(
    error: BaseException | None, requested: Cause | None, was_caught: bool, expected: Outcome
) -> None:
    assert decide_outcome(error, requested=requested, was_caught=was_caught) == expected


def test_errors_beside_a_cancel_have_failed_during_the_kill_and_the_cancel_goes_on() -> None:
    outcome = decide_outcome(BaseExceptionGroup("", [ERROR, CANCELLED]), requested=CAUSE, was_caught=False)

    assert (outcome.state, outcome.error, outcome.during_kill) == (State.FAILED, ERROR, True)
    assert isinstance(outcome.reraise, BaseExceptionGroup)
    assert outcome.reraise.exceptions == (CANCELLED,)


def test_several_errors_stay_a_group_without_the_cancels() -> None:
    group = BaseExceptionGroup("", [ERROR, CANCELLED, BaseExceptionGroup("", [OTHER, CANCELLED])])

    outcome = decide_outcome(group, requested=None, was_caught=False)

    assert isinstance(outcome.error, ExceptionGroup)
    assert outcome.error.subgroup(ValueError) is not None
    assert outcome.error.subgroup(KeyError) is not None


def test_a_group_of_cancels_is_a_cancel() -> None:
    group = BaseExceptionGroup("", [CANCELLED, BaseExceptionGroup("", [CANCELLED])])

    outcome = decide_outcome(group, requested=None, was_caught=False)

    assert (outcome.state, outcome.by) == (State.KILLED, "ancestor")
    assert outcome.reraise is not None


def test_an_interrupt_within_a_group_leaves() -> None:
    outcome = decide_outcome(BaseExceptionGroup("", [ERROR, INTERRUPT]), requested=None, was_caught=False)

    assert outcome.state is State.FAILED
    assert isinstance(outcome.reraise, BaseExceptionGroup)
    assert outcome.reraise.subgroup(KeyboardInterrupt) is not None


@given(st.lists(st.sampled_from([ERROR, OTHER, CANCELLED]), max_size=4), st.sampled_from([None, CAUSE]), st.booleans())
def test_a_terminal_state_comes_out_of_whatever_ends_a_body(
    errors: list[BaseException], requested: Cause | None, was_caught: bool
) -> None:
    error = BaseExceptionGroup("", errors) if errors else None

    outcome = decide_outcome(error, requested=requested, was_caught=was_caught)

    assert outcome.state in TERMINAL
    assert (
        (outcome.error is not None)
        is (outcome.state is State.FAILED)
        is any(error is not CANCELLED for error in errors)
    )
