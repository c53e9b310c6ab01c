"""Conformance kit for models, as a class of tests: streaming, partial answers, cancellation and failures.

    class TestOurModel(ModelConformance):
        @asynccontextmanager
        async def open(self, answer):
            async with our_provider(answer) as url, OurModel(url).open() ...
                yield model

Each test runs Trio itself, so no plugin is needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Final

import trio

from greenroom.core import Closed, ProviderError
from greenroom.models import (
    RETRYABLE,
    Call,
    Message,
    Model,
    ModelRequest,
    ModelResponse,
    ModelStream,
    Say,
    TextBlock,
    ThinkingBlock,
    UsageDelta,
)
from greenroom.models._types import Delta, TextDelta, ToolInputDelta, ToolUseStarted

Planned = tuple[Say | Call, ...]
"""An answer that the provider behind the model is to give."""
ANSWER: Final[Planned] = (Say("I will look."), Call("Glob", {"pattern": "*.py"}))
HELLO: Final = ModelRequest((Message.user("Hello?"),))
LIMIT_S: Final = 30.0


class ModelConformance:
    """Tests that every `Model` must pass. Subclass it and implement `open` and `open_refusing`."""

    can_refuse: ClassVar[bool] = True
    """True if the model has a provider that can refuse a request, so `open_refusing` is implemented."""

    def open(self, answer: Planned) -> AbstractAsyncContextManager[Model]:
        """Return a context manager that yields an open model; its provider answers every request with `answer`."""
        raise NotImplementedError

    def open_refusing(self) -> AbstractAsyncContextManager[Model]:
        """Return a context manager that yields an open model; its provider refuses every request."""
        raise NotImplementedError

    def test_deltas_add_up_to_answer(self) -> None:
        """Joined deltas equal the final response, whose last usage was reported."""

        async def check(stream: ModelStream) -> None:
            deltas = [delta async for delta in stream]
            response = stream.so_far
            (call,) = response.tool_uses
            assert (call.name, dict(call.input)) == ("Glob", {"pattern": "*.py"})
            assert _text(deltas) == response.text == "I will look."
            assert [delta for delta in deltas if isinstance(delta, ToolUseStarted)] == [ToolUseStarted(call.id, "Glob")]
            assert {delta.id for delta in deltas if isinstance(delta, ToolInputDelta)} == {call.id}
            assert [delta.usage for delta in deltas if isinstance(delta, UsageDelta)][-1] == response.usage
            assert response.stop_reason == "tool_use"

        self._with_stream(check)

    def test_text_answer_ends_turn(self) -> None:
        """An answer without calls has the stop reason `end_turn`."""

        async def check(stream: ModelStream) -> None:
            response = await stream.wait_response()
            assert (response.text, response.stop_reason, response.tool_uses) == ("Hello.", "end_turn", ())

        self._with_stream(check, answer=(Say("Hello."),))

    def test_partial_answer_is_always_valid(self) -> None:
        """`so_far` may be appended to a conversation after every delta, and only grows."""

        async def check(stream: ModelStream) -> None:
            parts = [stream.so_far, *[stream.so_far async for _ in stream]]
            whole = await stream.wait_response()
            for part in parts:
                assert_is_prefix(part, whole)
                assert_can_be_appended(part)

        self._with_stream(check)

    def test_reading_past_end_ends_again(self) -> None:
        """A finished stream yields nothing more and keeps its response."""

        async def check(stream: ModelStream) -> None:
            response = await stream.wait_response()
            assert [delta async for delta in stream] == []
            assert await stream.wait_response() == response == stream.so_far

        self._with_stream(check)

    def test_left_stream_cannot_be_read(self) -> None:
        """After the context manager of a stream was left, reading raises `Closed`."""

        async def check(model: Model) -> None:
            async with model.stream(HELLO) as stream:
                await anext(stream)
            assert await _is_closed(stream.__anext__)

        self._with_model(check)

    def test_cancelled_read_keeps_what_arrived(self) -> None:
        """After a cancelled read the stream is over; its partial answer stays."""

        async def check(stream: ModelStream) -> None:
            while not stream.so_far.text:
                await anext(stream)
            before = stream.so_far.text
            with trio.CancelScope() as scope:
                scope.cancel()
                await stream.wait_response()
            assert scope.cancelled_caught
            assert stream.so_far.text.startswith(before)
            assert stream.so_far.stop_reason is None
            assert await _is_closed(stream.wait_response)

        self._with_stream(check)

    def test_second_reader_is_refused(self) -> None:
        """A stream has one reader; another one gets `Closed`."""

        async def check(stream: ModelStream) -> None:
            outcomes: list[str | None] = []

            async def read() -> None:
                try:
                    outcomes.append((await stream.wait_response()).stop_reason)
                except Closed:
                    outcomes.append("refused")

            async with trio.open_nursery() as nursery:
                nursery.start_soon(read)
                nursery.start_soon(read)
            assert sorted(map(str, outcomes)) == ["refused", "tool_use"]

        self._with_stream(check)

    def test_streams_run_side_by_side(self) -> None:
        """One model serves several agents at once."""

        async def check(model: Model) -> None:
            texts: list[str] = []

            async def ask() -> None:
                async with model.stream(HELLO) as stream:
                    texts.append((await stream.wait_response()).text)

            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(ask)
            assert texts == ["I will look."] * 3

        self._with_model(check)

    def test_model_has_name(self) -> None:
        """The name is for people, so it is not empty."""

        async def check(model: Model) -> None:
            await trio.lowlevel.checkpoint()
            assert model.name

        self._with_model(check)

    def test_refused_request_raises_provider_error(self) -> None:
        """A failure of the provider is a `ProviderError` of a known kind."""

        async def check() -> None:
            with trio.fail_after(LIMIT_S):
                async with self.open_refusing() as model, model.stream(HELLO) as stream:
                    try:
                        await stream.wait_response()
                    except ProviderError as error:
                        assert error.kind in RETRYABLE  # noqa: PT017 - pytest need not be there
                    else:
                        raise AssertionError("the provider refused the request, but no ProviderError was raised")

        if self.can_refuse:
            trio.run(check)

    def _with_stream(self, check: Callable[[ModelStream], Awaitable[None]], *, answer: Planned = ANSWER) -> None:
        async def run(model: Model) -> None:
            async with model.stream(HELLO) as stream:
                await check(stream)

        self._with_model(run, answer=answer)

    def _with_model(self, check: Callable[[Model], Awaitable[None]], *, answer: Planned = ANSWER) -> None:
        async def run() -> None:
            with trio.fail_after(LIMIT_S):
                async with self.open(answer) as model:
                    await check(model)

        trio.run(run)


def assert_can_be_appended(response: ModelResponse) -> None:
    """Check what providers demand of an assistant message that is passed back: no blank text, no thinking at the end."""
    for block in response.content:
        assert not isinstance(block, TextBlock) or block.text.strip()
    assert not response.content or not isinstance(response.content[-1], ThinkingBlock)


def assert_is_prefix(part: ModelResponse, whole: ModelResponse) -> None:
    """Check that each block of `part` but the last is final, and that the last one is final or text that still grows."""
    if not part.content:
        return
    *done, last = part.content
    assert tuple(done) == whole.content[: len(done)]
    final = whole.content[len(done)]
    if isinstance(last, TextBlock):
        assert isinstance(final, TextBlock)
        assert final.text.startswith(last.text)
    else:
        assert last == final


def _text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def _is_closed(read: Callable[[], Awaitable[object]]) -> bool:
    try:
        await read()
    except Closed:
        return True
    return False
