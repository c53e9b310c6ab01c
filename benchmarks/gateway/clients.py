"""GG7 and GG8: calls and events of clients, against a bare echo and a bare loop over the same kind of connections."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.lowlevel
from trio_websocket import ConnectionClosed, WebSocketRequest, connect_websocket, serve_websocket

from benchmarks.gateway.place import MAIN, new_folder, opened, replying
from benchmarks.measure import Target, run_group
from greenroom.gateway._gateway import Gateway
from greenroom.gateway.rpc._client import GatewayClient, open_client

CALLS = 200
BESIDE = 64
CLIENTS = 200
EVENTS = 20
OURS, ECHO = "calls of a gateway", "echo on trio-websocket"
OURS_BESIDE, ECHO_BESIDE = "calls, 64 side by side", "echo, 64 side by side"
FAN_OUT, LOOP, DEAF = "events to 200 clients", "a loop over 200 connections", "events, one client reads nothing"
PAYLOAD = {"sessionKey": MAIN, "state": "final", "message": "x" * 100}


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Gateway, Callable[[], Any]]]:
    """Serve a gateway on a port, and yield it with a way to connect."""
    with new_folder() as folder:
        async with opened(folder, replying("hi"), listens=True) as gateway:
            token = (folder / "state" / "token").read_text(encoding="utf-8").strip()
            yield gateway, lambda: open_client(gateway.url, token)


async def serve_echo(request: WebSocketRequest) -> None:
    """Answer each message with what it says."""
    socket = await request.accept()
    try:
        while True:
            asked = json.loads(await socket.get_message())
            await socket.send_message(json.dumps({"type": "res", "id": asked["id"], "ok": True, "payload": {}}))
    except ConnectionClosed:
        pass


@asynccontextmanager
async def bare_server(handler: Callable[[WebSocketRequest], Any]) -> AsyncIterator[tuple[trio.Nursery, int]]:
    async with trio.open_nursery() as nursery:
        server = await nursery.start(serve_websocket, handler, "127.0.0.1", 0, None)
        yield nursery, server.port
        nursery.cancel_scope.cancel()


async def our_calls(beside: int) -> float:
    async with served() as (_, connect), connect() as client:
        await client.call("agents.list")
        began = time.process_time()
        async with trio.open_nursery() as nursery:
            for _ in range(beside):
                nursery.start_soon(call_often, client, CALLS // beside or 3)
        return (time.process_time() - began) / (beside * (CALLS // beside or 3))


async def call_often(client: GatewayClient, times: int) -> None:
    for _ in range(times):
        await client.call("agents.list")


async def echoes(beside: int) -> float:
    """Side by side, as our client does it: one task reads, and wakes who waits for an id."""
    times = CALLS // beside or 3
    async with bare_server(serve_echo) as (nursery, port):
        socket = await connect_websocket(nursery, "127.0.0.1", port, "/", use_ssl=False)
        waiting: dict[str, trio.Event] = {}

        async def read() -> None:
            while True:
                waiting.pop(json.loads(await socket.get_message())["id"]).set()

        async def ask(name: int) -> None:
            for number in range(times):
                answered = waiting[f"{name}.{number}"] = trio.Event()
                await socket.send_message(
                    json.dumps({"type": "req", "id": f"{name}.{number}", "method": "x", "params": {}})
                )
                await answered.wait()

        nursery.start_soon(read)
        began = time.process_time()
        async with trio.open_nursery() as asking:
            for name in range(beside):
                asking.start_soon(ask, name)
        took = (time.process_time() - began) / (beside * times)
        nursery.cancel_scope.cancel()
    return took


def calls() -> None:
    run_group(
        "GG7: a call and its answer, CPU of both ends",
        {
            OURS: lambda: trio.run(our_calls, 1),
            ECHO: lambda: trio.run(echoes, 1),
            OURS_BESIDE: lambda: trio.run(our_calls, BESIDE),
            ECHO_BESIDE: lambda: trio.run(echoes, BESIDE),
        },
        [
            Target(bench="GG7 calls beside an echo", numerator=ECHO, denominator=OURS, limit=0.6),
            Target(bench="GG7 calls side by side", numerator=ECHO_BESIDE, denominator=OURS_BESIDE, limit=0.6),
        ],
        unit="us",
        scale=1e6,
        slices=1,
    )


async def our_events(*, has_deaf: bool = False) -> float:
    left, connected, done = CLIENTS - has_deaf, 0, trio.Event()

    async def follow(connect: Callable[[], Any], *, is_deaf: bool) -> None:
        nonlocal left, connected
        async with connect() as client:
            await client.subscribe(["chat"])
            connected += 1
            if is_deaf:
                await trio.sleep_forever()
            events = client.events
            for _ in range(EVENTS):
                await anext(events)
            left -= 1
            if not left:
                done.set()
            await trio.sleep_forever()

    async with served() as (gateway, connect), trio.open_nursery() as nursery:
        for number in range(CLIENTS):
            nursery.start_soon(lambda is_deaf: follow(connect, is_deaf=is_deaf), has_deaf and not number)
            await trio.sleep(0.002)
        while connected < CLIENTS:  # noqa: ASYNC110 - at the start only
            await trio.sleep(0.01)
        began = time.process_time()
        for _ in range(EVENTS):
            gateway.parts.hub.publish("chat", MAIN, PAYLOAD)
            await trio.lowlevel.checkpoint()
        await done.wait()
        took = (time.process_time() - began) / EVENTS / CLIENTS
        nursery.cancel_scope.cancel()
    return took


async def bare_loop() -> float:
    sockets: list[Any] = []

    async def keep(request: WebSocketRequest) -> None:
        sockets.append(await request.accept())
        await trio.sleep_forever()

    async with bare_server(keep) as (nursery, port):
        clients = [await connect_websocket(nursery, "127.0.0.1", port, "/", use_ssl=False) for _ in range(CLIENTS)]
        while len(sockets) < CLIENTS:  # noqa: ASYNC110 - at the start only
            await trio.sleep(0.01)

        async def read(client: Any) -> None:
            for _ in range(EVENTS):
                json.loads(await client.get_message())

        began = time.process_time()
        async with trio.open_nursery() as reading:
            for client in clients:
                reading.start_soon(read, client)
            for number in range(EVENTS):
                for socket in sockets:
                    text = json.dumps({"type": "event", "event": "chat", "payload": PAYLOAD, "seq": number})
                    await socket.send_message(text)
        took = (time.process_time() - began) / EVENTS / CLIENTS
        nursery.cancel_scope.cancel()
    return took


def fan_out() -> None:
    run_group(
        "GG8: an event for each of 200 clients, CPU of both ends",
        {
            FAN_OUT: lambda: trio.run(our_events),
            LOOP: lambda: trio.run(bare_loop),
            DEAF: lambda: trio.run(lambda: our_events(has_deaf=True)),
        },
        [
            Target(bench="GG8 events beside a bare loop", numerator=LOOP, denominator=FAN_OUT, limit=0.5),
            Target(bench="GG8 events with a deaf client", numerator=FAN_OUT, denominator=DEAF, limit=0.9),
        ],
        unit="us",
        scale=1e6,
        slices=1,
        rounds=3,
    )


GROUPS = {"calls": calls, "events": fan_out}
