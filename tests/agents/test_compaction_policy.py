"""When a conversation is compacted, and what stands for it then: decisions over sizes and texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.compaction import CompactionSettings, ContextRefilled, compaction_from_environment
from greenroom.agents.compaction._compaction import (
    MAX_FAILURES,
    VERBATIM_CHARS,
    CompactionRecord,
    beginning_after,
    said_in_this_turn,
    summary_directive,
    summary_in,
)
from greenroom.core import SettingsError, UsageError
from greenroom.core.validation import read_settings
from greenroom.models import Message, TextBlock, ToolResultBlock, ToolUseBlock

FULL = CompactionSettings().threshold_tokens


# --- when -------------------------------------------------------------------------------------------------------------


def test_room_is_kept_for_the_summary_and_for_what_comes_between_two_looks() -> None:
    assert FULL == 200_000 - 20_000 - 13_000


@given(st.integers(1, 100), st.integers(1_000, 2_000_000))
def test_a_share_lowers_the_limit_and_never_raises_it(percent: int, window: int) -> None:
    """1 to 100 lowers it."""
    plain = CompactionSettings(window_tokens=window, summary_tokens=window // 4)
    shared = CompactionSettings(window_tokens=window, summary_tokens=window // 4, at_percent=percent)

    assert 1 <= shared.threshold_tokens <= plain.threshold_tokens < window
    assert shared.threshold_tokens in {plain.threshold_tokens, max(1, window * percent // 100)}


@pytest.mark.parametrize(
    "values",
    [
        {"at_percent": 0},
        {"at_percent": 101},
        {"window_tokens": 0},
        {"summary_tokens": 0},
        {"window_tokens": 30_000},
        {"window": 100_000},
    ],
)
def test_settings_that_make_no_sense_are_refused(values: dict[str, int]) -> None:
    with pytest.raises((SettingsError, UsageError)):
        read_settings(CompactionSettings, values, source="settings.json")


def test_variables_come_before_files() -> None:
    settings = CompactionSettings(at_percent=50)
    environ = {"GREENROOM_AUTO_COMPACT_WINDOW": "100000", "GREENROOM_AUTOCOMPACT_PCT_OVERRIDE": " 70 "}

    said = compaction_from_environment(environ, settings)

    assert (said.window_tokens, said.at_percent, said.enabled, said.auto) == (100_000, 70, True, True)
    assert not compaction_from_environment({"GREENROOM_DISABLE_AUTO_COMPACT": "1"}, settings).auto
    assert not compaction_from_environment({"GREENROOM_DISABLE_COMPACT": "true"}, settings).enabled
    assert compaction_from_environment({"GREENROOM_DISABLE_COMPACT": "0"}, settings) is settings
    for text in ("x", "0", "-3", "1e5"):
        with pytest.raises(UsageError):
            compaction_from_environment({"GREENROOM_AUTOCOMPACT_PCT_OVERRIDE": text}, settings)


@pytest.mark.parametrize("settings", [CompactionSettings(auto=False), CompactionSettings(enabled=False)])
def test_nothing_is_due_where_it_is_switched_off(settings: CompactionSettings) -> None:
    assert not CompactionRecord().is_due(10**9, settings)


def test_after_some_failures_in_a_row_it_is_left_to_whoever_asks() -> None:
    record = CompactionRecord()
    for _ in range(MAX_FAILURES):
        assert record.is_due(FULL, CompactionSettings())
        record.failures += 1

    assert not record.is_due(FULL, CompactionSettings())
    record.note_done()
    record.note_request()
    assert record.is_due(FULL, CompactionSettings())


def test_a_conversation_that_is_full_again_at_once_three_times_in_a_row_is_given_up() -> None:
    """Refill to the limit right after compaction three times in a row stops with an error."""
    record = CompactionRecord()
    for _ in range(3):
        assert record.is_due(FULL, CompactionSettings())
        record.note_done()
        record.note_request()

    with pytest.raises(ContextRefilled) as caught:
        record.is_due(FULL, CompactionSettings())
    assert caught.value.times == 3


@given(st.lists(st.integers(2, 5), min_size=10, max_size=20))
def test_a_conversation_that_fills_by_work_is_compacted_forever(requests: list[int]) -> None:
    record = CompactionRecord()
    for count in requests:
        assert record.is_due(FULL, CompactionSettings())
        record.note_done()
        for _ in range(count):
            record.note_request()
            assert not record.is_due(FULL - 1, CompactionSettings())


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        ("<summary>It is so.</summary>", "It is so."),
        (
            "<analysis>hm <summary>no</analysis>\n<summary>\nIt is so.\n</summary> bye",
            "no</analysis>\n<summary>\nIt is so.",
        ),
        ("Well. <summary>It is so.", "It is so."),
        ("<analysis>hm</analysis> It is so.", "It is so."),
        ("It is so.", "It is so."),
        ("<summary> </summary>", ""),
        ("", ""),
    ],
)
def test_the_summary_is_found_in_an_answer(answer: str, summary: str) -> None:
    assert summary_in(answer) == summary


def test_what_to_look_at_is_asked_for() -> None:
    assert summary_directive(["", "  the tests "]).endswith("the tests")
    assert summary_directive([" "]) == summary_directive()


USER = st.lists(
    st.builds(TextBlock, st.text("ab", max_size=8))
    | st.builds(ToolResultBlock, st.just("t"), st.text("r", max_size=3)),
    max_size=3,
).map(lambda blocks: Message("user", tuple(blocks)))
CALLING = st.just(Message("assistant", (TextBlock("I look."), ToolUseBlock("t", "Look", {}))))
RESTING = st.just(Message("assistant", (TextBlock("Done."),)))


@given(st.lists(USER | CALLING | RESTING))
def test_all_that_the_user_said_since_the_model_came_to_an_end_survives(messages: list[Message]) -> None:
    ends = [at for at, one in enumerate(messages) if one.role == "assistant" and not one.tool_uses]
    since = messages[ends[-1] + 1 :] if ends else messages

    said = said_in_this_turn(messages)

    texts = [block.text for one in since if one.role == "user" for block in one.content if isinstance(block, TextBlock)]
    assert said == texts


def test_what_is_too_long_to_survive_word_for_word_is_left_to_the_summary() -> None:
    said = said_in_this_turn([Message.user("a" * VERBATIM_CHARS), Message.user("b")])
    assert said == ["b"]


def test_a_conversation_at_rest_is_not_told_to_go_on() -> None:
    resting, going = beginning_after("S"), beginning_after("S", said=["Do it."], survivors=["R"])

    assert len(resting) == 1
    assert going[:1] == resting
    assert going[2:4] == ["Do it.", "R"]
    assert "Go on" in going[-1]
