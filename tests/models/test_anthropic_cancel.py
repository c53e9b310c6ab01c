"""Whatever is given up in flight leaves no socket and no Trio task behind."""

from __future__ import annotations

import gc
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from greenroom.core import Closed
from greenroom.models._types import TextDelta
from greenroom.testing import StreamReply, open_messages_server
from tests.models.situations import HELLO, claude

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from greenroom.models import AnthropicModel
    from greenroom.testing import MessagesServer
    from greenroom.testing._messages_script import ReplyLike

BOUND_S = 30.0  # real time on a shared machine; a wait that ends takes milliseconds


def held() -> tuple[int, int]:
    """Return how many file descriptors and Trio tasks there are."""
    return len(list(Path("/dev/fd").iterdir())), trio.lowlevel.current_statistics().tasks_living


@asynccontextmanager
async def nothing_left(replies: list[ReplyLike]) -> AsyncIterator[tuple[MessagesServer, AnthropicModel]]:
    """Give a warm model; at the end compare what is held with what was held before."""
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["warm up", *replies]) as server:
            model = claude(server)
            async with model.open():
                async with model.stream(HELLO) as stream:
                    await anext(stream)
                await server.wait_connections(0)
                await trio.testing.wait_all_tasks_blocked()
                before = held()

                yield server, model

                await server.wait_connections(0)
                await trio.testing.wait_all_tasks_blocked()
                assert held() == before
    gc.collect()  # a generator that is left to the collector warns, and warnings are errors


@pytest.mark.parametrize("is_head_late", [True, False])
async def test_a_cancel_before_the_first_token_leaves_nothing(is_head_late: bool) -> None:
    reply = StreamReply(answer="never", gate=trio.Event(), is_head_late=is_head_late)
    async with nothing_left([reply]) as (server, model):
        with trio.CancelScope() as scope:
            async with model.stream(HELLO) as stream, trio.open_nursery() as nursery:
                nursery.start_soon(stream.wait_response)
                await server.wait_requests(2)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()

        assert scope.cancelled_caught
        assert stream.so_far.content == ()


async def test_a_cancel_in_mid_stream_leaves_nothing_but_the_text() -> None:
    reply = StreamReply(answer="Hello world", ending="stall", events=4)
    async with nothing_left([reply]) as (_, model):
        async with model.stream(HELLO) as stream:
            with trio.CancelScope() as scope:
                async for delta in stream:
                    if isinstance(delta, TextDelta):
                        scope.cancel()

            assert scope.cancelled_caught
            assert stream.so_far.text == "Hello "
            with pytest.raises(Closed):
                await anext(stream)


async def test_a_cancel_of_everything_at_once_leaves_nothing() -> None:
    """The scope ends around the model's own clean-up, which therefore runs cancelled."""
    reply = StreamReply(answer="Hello world", ending="stall", events=4)
    async with nothing_left([reply]) as (_, model):
        with trio.CancelScope() as scope:
            async with model.stream(HELLO) as stream:
                async for delta in stream:
                    if isinstance(delta, TextDelta):
                        scope.cancel()
                        break

        assert stream.so_far.text == "Hello "


async def test_leaving_a_stream_early_leaves_nothing() -> None:
    reply = StreamReply(answer="Hello world " * 1000, pieces=200)
    async with nothing_left([reply]) as (_, model):
        async with model.stream(HELLO) as stream:
            async for delta in stream:
                if isinstance(delta, TextDelta):
                    break
        with pytest.raises(Closed):
            await anext(stream)


async def test_an_exception_of_the_reader_leaves_nothing_and_is_not_hidden() -> None:
    async with nothing_left([StreamReply(answer="Hello world", ending="stall", events=4)]) as (_, model):

        async def read() -> None:
            async with model.stream(HELLO) as stream:
                await anext(stream)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await read()


async def test_fifty_streams_cancelled_at_once_leave_nothing() -> None:
    waiting = StreamReply(answer="never", gate=trio.Event())
    stalled = StreamReply(answer="Hello world", ending="stall", events=4)
    async with nothing_left([waiting, stalled] * 25) as (server, model):

        async def read() -> None:
            async with model.stream(HELLO) as stream:
                await stream.wait_response()

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(read)
            await server.wait_requests(51)
            await trio.testing.wait_all_tasks_blocked()
            assert server.open_connections == 50
            nursery.cancel_scope.cancel()


async def test_closing_the_model_under_a_cancel_closes_its_idle_connections() -> None:
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["one"]) as server:
            model = claude(server)
            with trio.CancelScope() as scope:
                async with model.open():
                    async with model.stream(HELLO) as stream:
                        await stream.wait_response()
                    assert server.open_connections == 1
                    scope.cancel()
            await server.wait_connections(0)
