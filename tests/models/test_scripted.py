from __future__ import annotations

from functools import partial

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import ProviderError
from greenroom.models import (
    Call,
    Message,
    ModelRequest,
    ModelResponse,
    Say,
    ScriptedModel,
    ScriptError,
    StreamRestarted,
    TextBlock,
    Think,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    WrittenAnswer,
)
from greenroom.models._scripted import ScriptStep
from greenroom.models._types import ThinkingDelta, ToolInputDelta
from greenroom.models._written_answers import Part
from tests.models.situations import HELLO, assert_is_prefix, assert_may_be_appended, provider_error, text_of


async def ask(model: ScriptedModel, request: ModelRequest = HELLO) -> ModelResponse:
    async with model.stream(request) as stream:
        return await stream.wait_response()


async def test_answers_come_in_the_order_of_the_script() -> None:
    model = ScriptedModel(["one", Call("Read", {"path": "x"}), [Say("three")]])
    async with model.open():
        responses = [await ask(model) for _ in range(3)]

    assert [response.text for response in responses] == ["one", "", "three"]
    assert [response.stop_reason for response in responses] == ["end_turn", "tool_use", "end_turn"]
    assert responses[1].tool_uses == (ToolUseBlock("toolu__1_1", "Read", {"path": "x"}),)
    assert model.requests == [HELLO] * 3


async def test_a_request_that_nothing_is_scripted_for_fails_at_once_and_at_the_end() -> None:
    model = ScriptedModel([])
    with pytest.raises(ScriptError) as at_once:
        await ask(model)
    with pytest.raises(ScriptError) as at_the_end:
        model.assert_done()

    assert at_once.value.surprises == at_the_end.value.surprises
    assert "Hello?" in str(at_once.value)


async def test_a_request_that_does_not_match_fails_and_uses_nothing_up() -> None:
    step = ScriptStep(answer="yes", matches=lambda request: request.system == "expected")
    model = ScriptedModel([step])
    with pytest.raises(ScriptError):
        await ask(model)
    with pytest.raises(ScriptError) as caught:
        model.assert_done()

    assert len(caught.value.surprises) == 1
    assert len(caught.value.leftovers) == 1
    assert (await ask(model, ModelRequest((), system="expected"))).text == "yes"


async def test_leftovers_fail_the_session() -> None:
    model = ScriptedModel({"lead": ["one", "two"], "*": []})

    async def run() -> None:
        async with model.open():
            await ask(model, ModelRequest((), definition="lead"))

    with pytest.raises(ScriptError) as caught:
        await run()
    assert caught.value.leftovers == ("1 left for 'lead'",)


async def test_the_bodys_own_failure_goes_before_leftovers() -> None:
    model = ScriptedModel(["never asked for"])

    async def run() -> None:
        async with model.open():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run()


async def test_lists_are_found_by_agent_then_definition_then_anyone() -> None:
    model = ScriptedModel({"a1": ["the agent's"], "lead": ["the definition's"], "*": ["anyone's"]})
    async with model.open():
        assert (await ask(model, ModelRequest((), agent="a1", definition="lead"))).text == "the agent's"
        assert (await ask(model, ModelRequest((), agent="a2", definition="lead"))).text == "the definition's"
        assert (await ask(model, ModelRequest((), agent="a2", definition="other"))).text == "anyone's"


async def test_a_function_answers_from_the_request() -> None:
    model = ScriptedModel([lambda request: request.messages[-1].text.upper()])
    assert (await ask(model)).text == "HELLO?"


async def test_an_error_is_raised_in_place_of_the_answer() -> None:
    error = provider_error("overloaded")
    with pytest.raises(ProviderError) as caught:
        await ask(ScriptedModel([error]))
    assert caught.value is error


async def test_an_error_in_mid_stream_leaves_the_text_before_it() -> None:
    model = ScriptedModel([ScriptStep(answer="Hello world", error=provider_error("cut"), error_after=2)])
    async with model.stream(HELLO) as stream:
        with pytest.raises(ProviderError):
            await stream.wait_response()
        assert stream.so_far.text == "Hello "


async def test_an_answer_takes_the_time_that_was_scripted(autojump_clock: trio.testing.MockClock) -> None:
    model = ScriptedModel(["one", ScriptStep(answer="two", wait_s=30)], wait_s=5)
    begin = trio.current_time()
    await ask(model)
    await ask(model)
    assert trio.current_time() - begin == pytest.approx(35)


async def test_usage_and_stop_reason_are_what_the_answer_says() -> None:
    usage = Usage(1, 2, 3, 4)
    response = await ask(ScriptedModel([WrittenAnswer([Say("cut")], stop_reason="max_tokens", usage=usage)]))
    assert (response.stop_reason, response.usage) == ("max_tokens", usage)


TEXTS = st.text(st.characters(codec=None), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PARTS: st.SearchStrategy[list[Part]] = st.lists(
    st.builds(Say, TEXTS)
    | st.builds(Think, TEXTS, st.just("sig"))
    | st.builds(Call, st.sampled_from(["Read", "Glob"]), st.dictionaries(TEXTS, JSON, max_size=3)),
    max_size=5,
)


@given(parts=PARTS, pieces=st.integers(1, 6))
async def test_whatever_is_scripted_so_far_is_a_valid_prefix_at_every_instant(parts: list[Part], pieces: int) -> None:
    model = ScriptedModel([WrittenAnswer(parts)], pieces=pieces)
    snapshots = []
    deltas = []
    async with model.stream(HELLO) as stream:
        snapshots.append(stream.so_far)
        async for delta in stream:
            assert not isinstance(delta, StreamRestarted)
            deltas.append(delta)
            snapshots.append(stream.so_far)
        whole = await stream.wait_response()

    for snapshot in snapshots:
        assert_is_prefix(snapshot, whole)
        assert_may_be_appended(snapshot)
    for number, part in enumerate(snapshots[1:], 1):
        assert len(part.content) >= len(snapshots[number - 1].content)
    repr(deltas).encode()
    assert "".join(text_of(deltas).split()) == "".join(whole.text.split())  # blank blocks do not show
    assert len(whole.tool_uses) == sum(isinstance(part, Call) for part in parts)
    for block in whole.content:
        assert isinstance(block, TextBlock | ThinkingBlock | ToolUseBlock)


@given(text=TEXTS, pieces=st.integers(1, 6))
async def test_pieces_joined_are_the_text_whatever_was_cut(text: str, pieces: int) -> None:
    model = ScriptedModel([[Say("x" + text), Think(text), Call("N", {"text": text})]], pieces=pieces)
    async with model.stream(HELLO) as stream:
        deltas = [delta async for delta in stream]
        said, *_, call = stream.so_far.content

    whole = ("x" + text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert said == TextBlock(whole)
    assert text_of(deltas) == whole
    assert "".join(delta.thinking for delta in deltas if isinstance(delta, ThinkingDelta)) == whole[1:]
    assert isinstance(call, ToolUseBlock)
    assert call.input == {"text": whole[1:]}
    assert "".join(delta.json for delta in deltas if isinstance(delta, ToolInputDelta)).startswith('{"text":')


def test_messages_show_their_text_and_tool_uses() -> None:
    use = ToolUseBlock("t", "Read", {})
    message = Message("assistant", (TextBlock("a"), use, TextBlock("b")))
    assert (message.text, message.tool_uses) == ("ab", (use,))
    assert Message.user("hi") == Message("user", (TextBlock("hi"),))


def test_usage_adds_up_kind_by_kind() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


ANSWER_PARTS = st.one_of(
    st.builds(Say, st.text(max_size=20)),
    st.builds(Think, st.text(max_size=20), st.sampled_from(["", "signed"])),
    st.builds(
        Call,
        st.sampled_from(["Read", "Grep"]),
        st.dictionaries(
            st.text(max_size=5),
            st.one_of(
                st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.floats(), st.lists(st.text(max_size=3))
            ),
            max_size=3,
        ),
    ),
)


@given(st.lists(ANSWER_PARTS, max_size=4))
def test_reading_an_answer_at_once_or_by_deltas_gives_the_same(parts: list[Part]) -> None:
    """`wait_response` takes a short cut when nobody has read a delta."""

    async def read(*, by_deltas: bool) -> ModelResponse | str:
        model = ScriptedModel([WrittenAnswer(parts)])
        async with model.stream(ModelRequest(messages=(Message.user("Go."),))) as stream:
            try:
                if by_deltas:
                    async for _ in stream:
                        pass
                return await stream.wait_response()
            except ProviderError as error:
                return error.kind

    assert trio.run(partial(read, by_deltas=False)) == trio.run(partial(read, by_deltas=True))
