"""What every model does alike, whoever made it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest
import trio

from greenroom.core import Closed
from greenroom.models import (
    Budget,
    Call,
    Limits,
    Model,
    PlaybookModel,
    Say,
    ScriptedModel,
    UsageDelta,
    budgeted,
    retrying,
)
from greenroom.models._types import ThinkingDelta, ToolInputDelta, ToolUseStarted
from greenroom.models.recordings import RecordedModel, recording
from greenroom.models.recordings._recording_file import parse_recording
from greenroom.testing import open_messages_server
from tests.models.situations import HELLO, assert_is_prefix, assert_may_be_appended, claude, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ANSWER: Final = (Say("I will look."), Call("Glob", {"pattern": "*.py"}))
KINDS = ["anthropic", "scripted", "playbook", "retrying", "budgeted", "recording", "recorded"]


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[Model]:
    with trio.fail_after(30):
        if kind == "anthropic":
            async with open_messages_server(lambda _: ANSWER) as server:
                anthropic = claude(server)
                async with anthropic.open():
                    yield anthropic
            return
        playbook = PlaybookModel({"": lambda _: ANSWER})
        lines: list[bytes] = []
        async with recording(playbook, lines.append).stream(HELLO) as stream:
            await stream.wait_response()
        models: dict[str, Model] = {
            "scripted": ScriptedModel([ANSWER]),
            "playbook": playbook,
            "retrying": retrying(playbook),
            "budgeted": budgeted(playbook, Budget(Limits(calls=1))),
            "recording": recording(playbook, lines.append),
            "recorded": RecordedModel(parse_recording(b"".join(lines), source="")),
        }
        async with models[kind].open():
            yield models[kind]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_deltas_are_the_answer(kind: str) -> None:
    async with opened(kind) as model, model.stream(HELLO) as stream:
        deltas = [delta async for delta in stream]
        response = stream.so_far

    (call,) = response.tool_uses
    assert text_of(deltas) == response.text == "I will look."
    assert [delta for delta in deltas if isinstance(delta, ToolUseStarted)] == [ToolUseStarted(call.id, "Glob")]
    assert {delta.id for delta in deltas if isinstance(delta, ToolInputDelta)} == {call.id}
    assert [delta for delta in deltas if isinstance(delta, UsageDelta)][-1].usage == response.usage
    assert not any(isinstance(delta, ThinkingDelta) for delta in deltas)
    assert response.stop_reason == "tool_use"


@pytest.mark.parametrize("kind", KINDS)
async def test_so_far_is_valid_after_each_delta(kind: str) -> None:
    async with opened(kind) as model, model.stream(HELLO) as stream:
        parts = [stream.so_far]
        async for _ in stream:
            assert not stream.so_far.tool_uses or stream.so_far.stop_reason or stream.so_far.tool_uses[0].input
            parts.append(stream.so_far)
        whole = await stream.wait_response()

    for part in parts:
        assert_is_prefix(part, whole)
        assert_may_be_appended(part)


@pytest.mark.parametrize("kind", KINDS)
async def test_reading_past_the_end_ends_again(kind: str) -> None:
    async with opened(kind) as model, model.stream(HELLO) as stream:
        response = await stream.wait_response()
        assert [delta async for delta in stream] == []
        assert await stream.wait_response() == response == stream.so_far

    assert stream.so_far == response


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_was_left_cannot_be_read(kind: str) -> None:
    async with opened(kind) as model:
        async with model.stream(HELLO) as stream:
            await anext(stream)
        with pytest.raises(Closed):
            await anext(stream)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancelled_read_ends_the_stream_but_keeps_what_had_come(kind: str) -> None:
    async with opened(kind) as model, model.stream(HELLO) as stream:
        while not stream.so_far.text:
            await anext(stream)
        before = stream.so_far.text
        with trio.CancelScope() as scope:
            scope.cancel()
            await stream.wait_response()

        assert scope.cancelled_caught
        assert stream.so_far.text.startswith(before)
        assert stream.so_far.stop_reason is None
        with pytest.raises(Closed):
            await stream.wait_response()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_second_reader_is_refused(kind: str) -> None:
    outcomes = []
    async with opened(kind) as model, model.stream(HELLO) as stream:

        async def read() -> None:
            try:
                outcomes.append((await stream.wait_response()).stop_reason)
            except Closed:
                outcomes.append("refused")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            nursery.start_soon(read)

    assert outcomes == ["refused", "tool_use"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_and_its_stream_tell_what_they_are(kind: str) -> None:
    async with opened(kind) as model, model.stream(HELLO) as stream:
        await stream.wait_response()

        assert repr(model).startswith("<")
        assert repr(stream) == "<AnswerStream ended, 2 blocks>"
