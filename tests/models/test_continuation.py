"""Answers that were cut at the limit of their length: continued within bounds, in a conversation that stays valid."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.models import (
    Block,
    Call,
    ContinuationPolicy,
    LongAnswer,
    Message,
    ModelRequest,
    ModelResponse,
    Say,
    ScriptedModel,
    TextBlock,
    Think,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    WrittenAnswer,
)
from greenroom.models._continuation import GO_ON, GoOn
from greenroom.testing import check_cache_prefixes, run_virtual
from tests.models.situations import assert_may_be_appended

PARTS = st.lists(st.sampled_from([Say("one, "), Say(" "), Think("hm"), Call("Read")]), max_size=4)
ANSWERS = st.lists(
    st.builds(
        WrittenAnswer,
        PARTS,
        stop_reason=st.sampled_from(["max_tokens", "max_tokens", None]),
        usage=st.just(Usage(1, 1)),
    ),
    min_size=12,
    max_size=12,
)
POLICIES = st.builds(
    ContinuationPolicy, times=st.integers(0, 5), growth=st.floats(1, 3), most_tokens=st.integers(1, 500)
)


def cut(*content: Block) -> ModelResponse:
    return ModelResponse(content, "max_tokens", Usage(3, 4, 5, 6), "m")


async def asked(
    answers: list[WrittenAnswer], policy: ContinuationPolicy
) -> tuple[LongAnswer, list[ModelRequest], list[ModelResponse]]:
    """Return one answer, its requests, and the responses to each, as an agent asks for it."""
    model = ScriptedModel(answers)
    messages = [Message.user("Write.")]
    long, responses = LongAnswer(100, policy), []
    go_on: GoOn | None = GoOn(100, "")
    while go_on is not None:
        if go_on.prompt:
            messages.append(Message.user(go_on.prompt))
        async with model.stream(ModelRequest(tuple(messages), max_tokens=long.max_tokens, agent="a")) as stream:
            responses.append(await stream.wait_response())
        if responses[-1].content:
            messages.append(responses[-1].message)
        go_on = long.add(responses[-1])
    return long, model.requests, responses


@given(ANSWERS, POLICIES)
def test_an_answer_ends_within_its_bounds_and_is_all_that_was_said(
    answers: list[WrittenAnswer], policy: ContinuationPolicy
) -> None:
    run = run_virtual(lambda: asked(answers, policy))
    long, requests, responses = run.result

    whole = long.response
    assert len(requests) <= policy.times + 1
    assert whole.text == "".join(response.text for response in responses)
    assert whole.tool_uses == responses[-1].tool_uses
    assert whole.usage == Usage(len(requests), len(requests))
    assert whole.stop_reason == responses[-1].stop_reason
    assert_may_be_appended(whole)
    for request in requests:
        assert request.messages[-1].role == "user"
        assert all(one.role != two.role for one, two in pairwise(request.messages))
        assert request.max_tokens <= max(100, policy.most_tokens)
    assert check_cache_prefixes(requests) == len(requests) - 1


def test_a_text_that_was_cut_is_one_text_again() -> None:
    long = LongAnswer(100)

    assert long.add(cut(TextBlock("The answer is fo"))) == GoOn(200, GO_ON)
    assert long.max_tokens == 200
    assert long.add(ModelResponse((TextBlock("rty-two."),), "end_turn", Usage(1, 1, 1, 1), "m", "id")) is None

    whole = ModelResponse((TextBlock("The answer is forty-two."),), "end_turn", Usage(4, 5, 6, 7), "m", "id")
    assert long.response == whole
    assert repr(long) == "<LongAnswer continued 1 times>"


def test_it_is_given_up_after_so_many_times() -> None:
    long = LongAnswer(100, ContinuationPolicy(times=2, growth=10, most_tokens=5_000))

    plans = [long.add(cut(TextBlock("more "))) for _ in range(3)]

    assert plans == [GoOn(1_000, GO_ON), GoOn(5_000, GO_ON), None]
    assert (long.response.text, long.response.stop_reason) == ("more more more ", "max_tokens")


def test_a_cut_answer_that_asks_for_a_tool_is_resumed_by_the_result() -> None:
    assert LongAnswer(100).add(cut(TextBlock("I read."), ToolUseBlock("t", "Read", {}))) is None


def test_where_only_thinking_came_the_same_is_asked_with_more_room_as_long_as_there_is_some() -> None:
    long = LongAnswer(100, ContinuationPolicy(most_tokens=150))

    assert long.add(cut()) == GoOn(150, "")
    assert long.add(cut()) is None
    assert long.response.usage == Usage(6, 8, 10, 12)


def test_an_agent_that_may_write_more_keeps_its_own_limit() -> None:
    long = LongAnswer(100_000)
    long.add(cut(ThinkingBlock("hm", "s"), TextBlock("a")))
    assert long.max_tokens == 100_000


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "refusal", "model_context_window_exceeded", None])
def test_nothing_else_is_continued(reason: str | None) -> None:
    assert LongAnswer(100).add(ModelResponse((TextBlock("a"),), reason, Usage(), "m")) is None
    assert LongAnswer(100).response.content == ()


@pytest.mark.parametrize("bad", [{"times": -1}, {"growth": 0.5}, {"most_tokens": 0}])
def test_a_policy_that_cannot_be_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ContinuationPolicy(**bad)  # type: ignore[arg-type]
