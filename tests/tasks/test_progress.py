"""The time that an agent waited for permissions, whatever waits beside what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.tasks import Progress

steps = st.lists(st.tuples(st.sampled_from(["ask", "answer"]), st.integers(0, 3), st.integers(0, 5)), max_size=30)


@given(steps, st.integers(0, 5))
def test_a_second_in_which_any_call_waits_counts_once(steps: list[tuple[str, int, int]], rest_s: int) -> None:
    """CL-12. Mechanism: time counts from the first question that is open to the last answer."""
    progress, waiting, now_s, expected_s = Progress(), set[int](), 0, 0
    for what, call, wait_s in steps:
        if what == "ask" and call not in waiting:
            progress.note_question(str(call), "Bash", now_s)
            waiting.add(call)
        elif what == "answer":
            progress.note_answer(str(call), now_s)
            waiting.discard(call)
        now_s += wait_s
        expected_s += wait_s if waiting else 0
        assert progress.waited_ms(now_s) == expected_s * 1000
    assert progress.waited_ms(now_s + rest_s) == (expected_s + (rest_s if waiting else 0)) * 1000


@given(st.lists(st.text("abc", min_size=1, max_size=2), max_size=12))
def test_the_last_five_activities_are_kept_and_all_are_counted(tools: list[str]) -> None:
    progress = Progress()
    for number, tool in enumerate(tools):
        progress.note_call(tool, str(number))
        progress.note_request(number, 1)

    assert progress.recent_activities == [f"{tool} {number}" for number, tool in enumerate(tools)][-5:]
    assert progress.tool_use_count == len(tools)
    assert progress.token_count == max(len(tools) - 1, 0) + len(tools)
