"""The protocol over a real port of the loopback interface, with the client."""

from __future__ import annotations

import json

import pytest
import trio
import trio.testing

from greenroom.core import UsageError
from greenroom.gateway.rpc._client import open_client
from greenroom.gateway.rpc._rpc_frames import RpcError
from greenroom.serving import ConnectionEnded, Tcp, open_server
from tests.gateway.rpc.peers import KEY, OPERATOR, open_house


async def test_client_calls_and_hears_events_over_a_port() -> None:
    async with open_house() as house, open_server(house.rpc.endpoints(), listen=[Tcp()]) as server:
        with trio.fail_after(5):
            async with open_client(server.addresses[0], OPERATOR) as client:
                assert client.hello["protocol"] == 1
                assert (await client.call("health"))["method"] == "health"
                await client.subscribe(["chat"], sessions=[KEY])
                house.hub.publish("chat", KEY, {"text": "hi"})
                async for event in client.events:
                    assert (event.name, event.payload, event.seq) == ("chat", {"text": "hi"}, 1)
                    break
                with pytest.raises(RpcError) as caught:
                    await client.call("chat.history", {"sessionKey": KEY, "limit": 0})

    assert (caught.value.code, caught.value.path) == ("bad_request", "limit")


async def test_health_is_answered_without_a_token() -> None:
    awaited = ["channels"]
    async with (
        open_house(awaited=lambda: awaited[0]) as house,
        open_server(house.rpc.endpoints(), listen=[Tcp()]) as server,
    ):
        with trio.fail_after(5):
            before = await get(server.addresses[0])
            awaited[0] = ""
            after = await get(server.addresses[0])

    assert before[0] == 503
    assert before[1].keys() == {"ok", "version", "awaits"}
    assert after[0] == 200
    assert after[1].keys() == {"ok", "version"}


async def get(url: str) -> tuple[int, dict[str, object]]:
    """Return status and body of `/healthz`."""
    host, _, port = url.removeprefix("http://").partition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    async with stream:
        await stream.send_all(f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        received = b""
        while chunk := await stream.receive_some(4_096):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


async def test_token_is_not_sent_to_somebody_else() -> None:
    async with open_house() as house, open_server(house.rpc.endpoints(), listen=[Tcp()]) as server:
        with trio.fail_after(5), pytest.raises(UsageError):
            async with open_client(server.addresses[0], OPERATOR, is_there=lambda: False):
                raise AssertionError

        assert server.statistics().proven == 0


async def test_calls_that_wait_end_with_the_connection() -> None:
    async def never(*_: object) -> dict[str, object]:
        await trio.sleep_forever()
        raise AssertionError

    async with (
        open_house(replaced={"agent.wait": never}) as house,
        open_server(house.rpc.endpoints(), listen=[Tcp()]) as server,
    ):
        with trio.fail_after(5):
            async with open_client(server.addresses[0], OPERATOR) as client:
                async with trio.open_nursery() as nursery:

                    async def wait() -> None:
                        with pytest.raises(ConnectionEnded):
                            await client.call("agent.wait", {"runId": "r"})

                    nursery.start_soon(wait)
                    await trio.testing.wait_all_tasks_blocked()
                    await server.stop(1012, "restart")
                assert client.ended is not None
                assert client.ended.code == 1012
                assert [event async for event in client.events] == []
