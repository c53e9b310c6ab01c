"""Answers that stand still, in virtual time: each phase has its own limit, and only progress is progress."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, get_args

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import ProviderError
from greenroom.models import (
    ModelRequest,
    ModelResponse,
    ModelStream,
    ScriptedModel,
    StreamRestarted,
    Usage,
    UsageDelta,
    retrying,
)
from greenroom.models._answer_stream import AnswerStream
from greenroom.models._deadlines import Deadlines, Phase, phase_after, with_deadlines
from greenroom.models._scripted import ScriptStep
from greenroom.models._types import Delta, TextDelta, ThinkingDelta, ToolInputDelta, ToolUseStarted
from greenroom.testing import StreamReply, open_messages_server
from tests.models.situations import HELLO, claude

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIMITS = Deadlines(first_token_s=100, streaming_s=10, tool_input_s=50, request_s=1000)
TEXT, TOOL, INPUT, PING = TextDelta("a"), ToolUseStarted("t", "N"), ToolInputDelta("t", "{"), UsageDelta(Usage())
LIMIT_AFTER: dict[type, float] = {TextDelta: 10, ThinkingDelta: 10, ToolUseStarted: 50, ToolInputDelta: 50}


class Slow:
    """Gives each delta after its seconds; then it ends."""

    def __init__(self, *steps: tuple[float, Delta | None]) -> None:
        self._steps = list(steps)
        self.closed = 0

    name = "slow"
    so_far = ModelResponse((), None, Usage(), "slow")
    is_holding = True

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        return AnswerStream(self)

    async def finish(self) -> bool:
        return False

    async def next_delta(self) -> Delta | None:
        wait_s, delta = self._steps.pop(0) if self._steps else (0.0, None)
        await trio.sleep(wait_s)
        return delta

    async def close(self) -> None:
        self.closed += 1


async def outcome(*steps: tuple[float, Delta | None], limits: Deadlines = LIMITS) -> tuple[float, ProviderError | None]:
    """Return when the answer ended, and how."""
    slow = Slow(*steps)
    begin = trio.current_time()
    error = None
    async with with_deadlines(slow, limits).stream(HELLO) as stream:
        try:
            await stream.wait_response()
        except ProviderError as problem:
            error = problem
    assert slow.closed == 1
    return trio.current_time() - begin, error


@given(
    st.lists(st.tuples(st.floats(0, 120), st.sampled_from([TEXT, TOOL, INPUT, PING, ThinkingDelta("b")])), max_size=12)
)
def test_an_answer_fails_exactly_when_its_phase_has_no_time_left(steps: list[tuple[float, Delta]]) -> None:
    """The oracle adds up the silence by hand: `ping`s and the head of an answer do not end it."""
    now_s = since_s = 0.0
    limit_s, expected = 100.0, None
    for wait_s, delta in [*steps, (0.0, None)]:
        stalls_at_s = min(since_s + limit_s, 1000.0)
        if now_s + wait_s > stalls_at_s:
            expected = stalls_at_s
            break
        if now_s + wait_s == stalls_at_s:
            return  # both at once: either may come first
        now_s += wait_s
        if type(delta) in LIMIT_AFTER:
            since_s, limit_s = now_s, LIMIT_AFTER[type(delta)]

    async def main() -> tuple[float, ProviderError | None]:
        return await outcome(*steps)

    ended_s, error = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert (error is not None) == (expected is not None)
    assert ended_s == pytest.approx(now_s if expected is None else expected)


@pytest.mark.parametrize(
    ("steps", "ended_s", "phase"),
    [
        ([(101, TEXT)], 100, "first token"),
        ([(60, PING), (60, TEXT)], 100, "first token"),
        ([(99, TEXT), (11, TEXT)], 109, "streaming"),
        ([(99, TEXT), (9, TEXT), (11, None)], 118, "streaming"),
        ([(1, TOOL), (49, INPUT), (51, INPUT)], 100, "tool input"),
        ([(1, TEXT), (1, StreamRestarted("cut", 2, 30)), (131, TEXT)], 132, "first token"),
    ],
)
async def test_a_stall_names_its_phase_and_may_pass(
    steps: list[Any], ended_s: float, phase: str, autojump_clock: trio.testing.MockClock
) -> None:
    at_s, error = await outcome(*steps)
    assert error is not None
    assert at_s == pytest.approx(ended_s)
    assert (error.kind, error.is_retryable) == ("timeout", True)
    assert phase in str(error)


async def test_a_slow_but_healthy_answer_lives(autojump_clock: trio.testing.MockClock) -> None:
    """RC-64: a quarter of an hour to the first token, with the defaults."""
    at_s, error = await outcome((15 * 60, TEXT), (60, TEXT), limits=Deadlines())
    assert error is None
    assert at_s == pytest.approx(16 * 60)


async def test_an_answer_that_used_all_of_its_time_is_not_tried_again(autojump_clock: trio.testing.MockClock) -> None:
    at_s, error = await outcome(*[(9.0, TEXT)] * 200)
    assert error is not None
    assert at_s == pytest.approx(1000)
    assert (error.kind, error.is_retryable) == ("timeout", False)


async def test_a_stall_is_tried_again_and_what_had_come_is_told(autojump_clock: trio.testing.MockClock) -> None:
    """RC-63: a silent provider ends in an answer or an error, never in silence."""
    scripted = ScriptedModel([ScriptStep(answer="never", wait_s=1e9), "at last"])
    model = retrying(with_deadlines(scripted, LIMITS))
    notices: list[StreamRestarted] = []

    async def note(notice: StreamRestarted) -> None:
        notices.append(notice)

    async with model.open(), model.stream(HELLO) as stream:
        assert (await stream.wait_response(note)).text == "at last"
    assert [(notice.reason, notice.attempt) for notice in notices] == [("timeout", 2)]


async def test_a_cancel_from_outside_is_no_timeout(autojump_clock: trio.testing.MockClock) -> None:
    with trio.move_on_after(50) as scope:
        await outcome((99, TEXT))
    assert scope.cancelled_caught


async def test_over_a_real_socket_a_stalled_stream_loses_its_connection(mock_clock: trio.testing.MockClock) -> None:
    mock_clock.rate = 1  # real time, which is helped on once the stream has stalled
    with trio.fail_after(100_000):
        async with open_messages_server([StreamReply(answer="Hello world", ending="stall", events=4)]) as server:
            model = with_deadlines(claude(server), Deadlines(streaming_s=1_000))
            async with model.open(), model.stream(HELLO) as stream, trio.open_nursery() as nursery:

                async def help_on() -> None:
                    while True:  # the time for the next delta may begin after this one was seen
                        await trio.sleep(0.01)
                        if stream.so_far.text == "Hello ":
                            mock_clock.jump(1_000)

                nursery.start_soon(help_on)
                with pytest.raises(ProviderError) as caught:
                    await stream.wait_response()
                assert stream.so_far.text == "Hello "
                nursery.cancel_scope.cancel()
            await server.wait_connections(0)
    assert caught.value.kind == "timeout"


def test_every_delta_has_its_phase() -> None:
    for kind in get_args(Delta):
        delta = kind(*["x", "y", "z"][: len([one for one in kind.__attrs_attrs__ if one.default is not None])])
        assert phase_after(Phase.STREAMING, delta) in Phase
