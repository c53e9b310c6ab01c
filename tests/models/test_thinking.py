"""Effort and thinking: from the request to the provider, and the thoughts back with the next request."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.models import (
    AnthropicModel,
    Block,
    Call,
    Message,
    ModelRequest,
    TextBlock,
    Think,
    Thinking,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    request_body,
)
from greenroom.models._messages_api import fold
from greenroom.models._response_assembly import Assembly
from greenroom.models._types import EFFORTS
from greenroom.models.choice import read_effort
from greenroom.testing import open_messages_server
from tests.models.situations import HELLO, claude


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (Thinking(), {"type": "adaptive"}),
        (Thinking("disabled"), {"type": "disabled"}),
        (Thinking("enabled", 2048), {"type": "enabled", "budget_tokens": 2048}),
        (Thinking(display="omitted"), {"type": "adaptive", "display": "omitted"}),
    ],
)
def test_thinking_is_sent_as_the_provider_has_it(thinking: Thinking, sent: dict[str, Any]) -> None:
    assert request_body(attrs.evolve(HELLO, thinking=thinking))["thinking"] == sent


def test_nothing_is_sent_about_what_was_not_asked_for() -> None:
    assert request_body(HELLO).keys() == {"messages", "max_tokens"}
    assert request_body(attrs.evolve(HELLO, effort="low"))["output_config"] == {"effort": "low"}


@pytest.mark.parametrize(("mode", "tokens"), [("enabled", None), ("adaptive", 2048), ("enabled", 1023)])
def test_a_budget_for_thoughts_that_does_not_fit_is_refused(mode: Any, tokens: int | None) -> None:
    with pytest.raises(UsageError, match="budget_tokens"):
        Thinking(mode, tokens)


def test_thinking_may_not_take_the_whole_answer() -> None:
    with pytest.raises(UsageError, match="2048 tokens, but the whole answer only 2048"):
        request_body(attrs.evolve(HELLO, thinking=Thinking("enabled", 2048), max_tokens=2048))


@pytest.mark.parametrize(
    ("said", "effort"),
    [
        *[(level, level) for level in EFFORTS],
        (" High ", "high"),
        (0, "low"),
        (50, "low"),
        (51, "medium"),
        (100, "high"),
        (" 60 ", "medium"),
    ],
)
def test_an_effort_is_a_level_or_a_number(said: str | int, effort: str) -> None:
    assert read_effort(said) == effort


@pytest.mark.parametrize("said", ["", "highest", -1, True])
def test_another_effort_is_refused(said: str | int) -> None:
    with pytest.raises(UsageError, match=r"low, medium, high, xhigh, max"):
        read_effort(said)


BLOCKS: st.SearchStrategy[Block] = (
    st.builds(TextBlock, st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
    | st.builds(ThinkingBlock, st.text(st.characters(codec="utf-8")), st.text("abc=", min_size=1))
    | st.builds(ThinkingBlock, st.just(""), st.text("abc=", min_size=1), st.just(True))
    | st.builds(ToolUseBlock, st.uuids().map(str), st.just("Read"), st.just({"path": "a"}))
)


def events_of(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events in which a provider would send the blocks of a body."""
    events: list[dict[str, Any]] = []
    for block in blocks:
        deltas: list[dict[str, Any]] = []
        match block:
            case {"type": "thinking"}:
                deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block["thinking"] else []
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
                block = {"type": "thinking", "thinking": "", "signature": ""}  # noqa: PLW2901
        events.append({"type": "content_block_start", "content_block": block})
        events += [{"type": "content_block_delta", "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop"})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}]


@given(st.lists(BLOCKS, max_size=6))
def test_what_was_thought_goes_back_as_it_came_in_its_place(blocks: list[Block]) -> None:
    """Signatures, hidden thoughts and the order of all blocks: the provider refuses any other."""
    sent = request_body(ModelRequest((Message("assistant", (*blocks, TextBlock("end"))),)))["messages"][0]["content"]
    assembly = Assembly("test")
    for event in events_of(sent):
        fold(assembly, event)

    assert request_body(ModelRequest((assembly.so_far.message,)))["messages"][0]["content"] == sent


async def test_over_a_real_socket_the_thoughts_of_a_call_come_back_with_its_result() -> None:
    with trio.fail_after(30):
        async with open_messages_server([[Think("hm", "sig"), Call("Read", {}, id="t")], "done"]) as server:
            model: AnthropicModel = claude(server)
            request = attrs.evolve(HELLO, model="claude-other", effort="max", thinking=Thinking())
            async with model.open():
                async with model.stream(request) as stream:
                    first = await stream.wait_response()
                result = Message("user", (ToolResultBlock("t", "content"),))
                again = attrs.evolve(request, messages=(*request.messages, first.message, result))
                async with model.stream(again) as stream:
                    await stream.wait_response()
            bodies = [request.body for request in server.requests]

    for body in bodies:
        assert body["model"] == "claude-other"
        assert body["output_config"] == {"effort": "max"}
        assert body["thinking"] == {"type": "adaptive"}
    assert bodies[1]["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
