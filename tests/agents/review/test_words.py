"""The text for a reviewer, and how its answer is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.review import (
    ReviewedHistory,
    ReviewOutcome,
    Unreviewable,
    call_lines,
    call_text,
    handoff_text,
    read_review,
)
from greenroom.agents.review._words import MAX_LINES_CHARS
from greenroom.models import ToolUseBlock

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.text()), st.lists(st.text()), st.dictionaries(st.text(), JSON, max_size=3))
def test_no_text_passes_for_another_line(user: list[str], tasks: list[str], values: dict[str, object]) -> None:
    """Whatever anybody says, each thing is one line, and stands under its own name."""
    text = call_text(ReviewedHistory(cwd="/p", user=user, tasks=tasks), "Tool", values)

    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["user"] for line in lines if "user" in line] == user
    assert [line["task"] for line in lines if "task" in line] == tasks
    assert lines[-1] == {"review": {"tool": "Tool", "input": values}}
    assert len(lines) == len(user) + len(tasks) + 2


def test_of_a_long_history_the_latest_is_shown_and_what_is_left_out_is_said() -> None:
    calls = [ToolUseBlock(str(n), "Bash", {"command": f"{n} {'x' * 3_000}"}) for n in range(100)]
    lines = [json.loads(line) for line in handoff_text(ReviewedHistory(cwd="/p", calls=calls)).splitlines()]

    left_out = int(lines[1]["left_out"].split()[0])
    assert 0 < left_out < 100
    assert len(lines) == 2 + 100 - left_out
    assert lines[-1]["call"]["input"]["command"].startswith("99 ")


def test_of_a_long_input_of_an_earlier_call_the_beginning_is_shown() -> None:
    call = ToolUseBlock("1", "Write", {"content": "y" * 10_000})
    (_, line) = (json.loads(line) for line in handoff_text(ReviewedHistory(cwd="/p", calls=[call])).splitlines())

    assert line["call"]["input_begins"].startswith('{"content": "yyy')
    assert line["call"]["left_out_characters"] > 5_000


def test_a_call_is_shown_whole_or_not_at_all() -> None:
    with pytest.raises(Unreviewable, match="not reviewed"):
        call_text(ReviewedHistory(cwd="/p"), "Bash", {"command": "x" * 100_000})
    with pytest.raises(Unreviewable):
        call_text(ReviewedHistory(cwd="/p"), "Bash", {"command": object()})


@given(st.text() | JSON.map(json.dumps))
def test_an_answer_that_is_not_in_the_form_allows_nothing(text: str) -> None:
    assert read_review(text).outcome is not ReviewOutcome.ALLOWED


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ('{"verdict": "allow"}', ReviewOutcome.ALLOWED, ""),
        (' {"verdict":"allow","reason":"as asked"}\n', ReviewOutcome.ALLOWED, "as asked"),
        ('{"verdict": "block"}', ReviewOutcome.BLOCKED, "no reason was given"),
        ('{"verdict": "block", "reason": " a\\n b "}', ReviewOutcome.BLOCKED, "a b"),
        (
            '{"verdict": "allow", "reason": 3}',
            ReviewOutcome.FAILED,
            "its answer is not in the form that it was asked for",
        ),
        ('{"verdict": ["allow"]}', ReviewOutcome.FAILED, "its answer is not in the form that it was asked for"),
    ],
)
def test_answers(text: str, outcome: ReviewOutcome, reason: str) -> None:
    review = read_review(text)

    assert (review.outcome, review.reason) == (outcome, reason)


def test_what_is_kept_of_forgotten_calls_is_the_latest_and_no_more_than_is_shown() -> None:
    calls = [ToolUseBlock(f"c{at}", "Write", {"content": f"{at} {'x' * 10_000}"}) for at in range(50)]
    lines: list[str] = []
    for call in calls:
        lines = call_lines(lines, [call])

    assert sum(map(len, lines)) <= MAX_LINES_CHARS
    assert "49 x" in lines[-1]
    assert handoff_text(ReviewedHistory(cwd="/", earlier=lines)).splitlines()[1:] == lines
