"""When a reviewer is paused: the limits, and that no order of reviews gets past them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.review import AutoMode, ReviewOutcome
from greenroom.agents.review._block_count import IN_A_ROW, IN_ALL, BlockCount

A, B, F = ReviewOutcome.ALLOWED, ReviewOutcome.BLOCKED, ReviewOutcome.FAILED


def counted(*outcomes: ReviewOutcome) -> BlockCount:
    count = BlockCount()
    for outcome in outcomes:
        count = count.after(outcome)
    return count


def test_three_in_a_row_pause_it_and_what_is_allowed_begins_a_new_row() -> None:
    assert not counted(B, B).is_paused
    assert counted(B, B, B).is_paused
    assert counted(B, F, B).is_paused
    assert counted(F, F, F) == BlockCount(in_a_row=3, in_all=0, is_paused=True)
    assert not counted(B, B, A, B, B).is_paused


def test_twenty_in_all_pause_it_and_are_counted_anew() -> None:
    almost = counted(*[B, B, A] * 9, B)

    assert almost == BlockCount(in_a_row=1, in_all=19)
    assert almost.after(B) == BlockCount(in_a_row=2, in_all=0, is_paused=True)


def test_what_a_person_allows_ends_the_pause_and_leaves_the_blocks_in_all() -> None:
    assert counted(B, B, B).resumed() == BlockCount(in_a_row=0, in_all=3)


@given(st.lists(st.sampled_from([*ReviewOutcome, "resumed"]), max_size=200))
def test_no_order_of_reviews_gets_past_the_limits(steps: list[ReviewOutcome | str]) -> None:
    """While it is not paused, fewer than three were not allowed in a row, and fewer than twenty were blocked since the last limit."""
    count, row, blocked = BlockCount(), 0, 0
    for step in steps:
        if isinstance(step, ReviewOutcome):
            count = count.after(step)
            row = 0 if step is A else row + 1
            blocked = (blocked + (step is B)) % IN_ALL
        else:
            count, row = count.resumed(), 0
        assert (count.in_a_row, count.in_all) == (row, blocked)
        assert count.is_paused or row < IN_A_ROW


def test_only_an_end_without_anybody_to_ask_is_lifted_by_the_users_next_words() -> None:
    auto = AutoMode()
    for _ in range(3):
        auto.note(B)

    auto.hear("go on")
    assert auto.count.is_paused
    error = auto.end("Bash", "it pushes")
    assert (error.tool, error.reason) == ("Bash", "it pushes")
    auto.hear("go on")
    assert not auto.count.is_paused
    assert auto.statistics().blocked == 3


def test_of_very_long_words_the_beginning_and_the_end_are_kept() -> None:
    auto = AutoMode()
    auto.hear("begin " + "x" * 1_000_000 + " end")

    (text,) = auto.user
    assert len(text) < 21_000
    assert text.startswith("begin")
    assert text.endswith("end")
