"""Calls that fail again and again: when the model is reminded, when the turn ends, and what is no repetition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import RepetitionLimits
from greenroom.agents._repetition import Repetition
from greenroom.models import ToolResultBlock, ToolUseBlock

LIMITS = RepetitionLimits(noted_after=3, ended_after=6)


def done(name: str, *, error: str = "", **values: object) -> tuple[ToolUseBlock, ToolResultBlock]:
    """Return a call and its result, an error if there is a text of one."""
    return ToolUseBlock("toolu_1", name, values), ToolResultBlock("toolu_1", error or "fine", is_error=bool(error))


def ended_after(
    batches: list[list[tuple[ToolUseBlock, ToolResultBlock]]], limits: RepetitionLimits = LIMITS
) -> tuple[int, int]:
    """Return after how many batches the model was reminded first, and the turn ended; 0 for never."""
    repetition, noted = Repetition(), 0
    for number, batch in enumerate(batches, 1):
        text, error = repetition.note([call for call, _ in batch], [result for _, result in batch], limits)
        noted = noted or (number if text else 0)
        if error is not None:
            return noted, number
    return noted, 0


def test_same_failure_is_reminded_of_and_then_ends_the_turn() -> None:
    assert ended_after([[done("Read", error="no such file", path="a")]] * 9) == (3, 6)


def test_order_of_inputs_makes_no_difference() -> None:
    calls = [[done("Read", error="no", a=1, b=2)], [done("Read", error="no", b=2, a=1)]]

    assert ended_after(calls * 5) == (3, 6)


def test_failures_that_take_turns_are_counted_each() -> None:
    assert ended_after([[done("Read", error="no", path="a")], [done("Grep", error="bad", pattern="(")]] * 9) == (5, 11)


def test_same_failure_within_one_batch_counts_each_call() -> None:
    assert ended_after([[done("Read", error="no", path="a")] * 4] * 2) == (1, 2)


def test_limit_of_none_never_ends_the_turn() -> None:
    limits = RepetitionLimits(noted_after=2, ended_after=None)

    assert ended_after([[done("Read", error="no")]] * 50, limits) == (2, 0)


def test_polling_and_trying_again_after_a_change_are_no_repetition() -> None:
    failing = [done("Bash", error="Exit code 1", command="npm test")]

    assert ended_after([[done("TaskOutput", id="b1")]] * 50) == (0, 0)  # it succeeds
    assert ended_after([failing, [done("Edit", path="a")]] * 50) == (0, 0)  # something else succeeded in between
    assert ended_after([[done("Read", error=f"line {number}")] for number in range(50)]) == (0, 0)  # another error
    assert ended_after([[done("Read", error="no", path=str(number))] for number in range(50)]) == (
        0,
        0,
    )  # another input


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=3), max_size=40))
def test_turn_ends_exactly_where_one_failure_reached_the_limit(batches: list[list[tuple[int, bool]]]) -> None:
    counts, expected = dict[int, int](), 0
    for number, batch in enumerate(batches, 1):
        if not all(fails for _, fails in batch):
            counts.clear()
        for call, fails in batch:
            counts[call] = counts.get(call, 0) + fails
        if max(counts.values()) >= 6:
            expected = number
            break

    made = [[done("Read", error="no" if fails else "", path=call) for call, fails in batch] for batch in batches]
    assert ended_after(made)[1] == expected
