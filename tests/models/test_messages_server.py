"""The loopback server itself: it fails on a surprise and on leftovers, as a script should."""

from __future__ import annotations

import pytest
import trio

from greenroom.core import ProviderError
from greenroom.testing import open_messages_server
from tests.models.situations import HELLO, claude


async def test_a_request_that_nothing_is_scripted_for_is_refused_and_remembered() -> None:
    async def run() -> None:
        async with open_messages_server([]) as server:
            model = claude(server)
            async with model.open(), model.stream(HELLO) as stream:
                with pytest.raises(ProviderError) as caught:
                    await stream.wait_response()
            assert caught.value.kind == "bad_request"
            assert server.surprises == 1

    with trio.fail_after(30), pytest.raises(AssertionError, match="1 requests were not scripted"):
        await run()


async def test_a_reply_that_is_not_asked_for_fails_at_the_end() -> None:
    async def run() -> None:
        async with open_messages_server(["one", "two"]) as server:
            assert server.left == 2

    with trio.fail_after(30), pytest.raises(AssertionError, match="2 replies were not used"):
        await run()


async def test_the_bodys_own_failure_comes_out_bare() -> None:
    cause = KeyError("why")

    async def run() -> None:
        async with open_messages_server(["one"]):
            raise ZeroDivisionError from cause

    with trio.fail_after(30), pytest.raises(ZeroDivisionError) as caught:
        await run()
    assert caught.value.__cause__ is cause


async def test_a_client_that_speaks_no_http_or_asks_for_something_else_does_no_harm() -> None:
    with trio.fail_after(30):
        async with open_messages_server([]) as server:
            port = int(server.url.rpartition(":")[2])
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await stream.send_all(b"\x00\x01\r\n\r\n")
                assert await stream.receive_some() == b""
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await stream.send_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 404")
            await server.wait_connections(0)
            assert server.requests[0].path == "/"
            assert repr(server) == f"<MessagesServer {server.url} requests=1 connections=0>"
