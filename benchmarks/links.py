"""Links between processes beside a bare WebSocket over the same kind of socket: `make bench-remote`.

Both sides run in this process, so CPU time is that of both. The bare connection sends one value a frame, and an ask is compared with an echo.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import trio
from trio_websocket import WebSocketConnection, wrap_client_stream, wrap_server_stream

import greenroom as gr
from benchmarks.measure import Target, run_group, run_groups
from greenroom.core import open_bare_nursery
from greenroom.mailbox import Delivery
from greenroom.remote import LinkPeer, MessageCodec, RemoteRef, open_node
from greenroom.serving import UnixSocket, connect_unix, open_unix_listener

TELLS: Final = 5_000
ASKS: Final = 300
TOKEN: Final = b"0123456789abcdef" * 2


@attrs.frozen
class Job:
    """A value of some 64 bytes."""

    name: str
    size: int
    place: str


@attrs.frozen
class Sum(gr.Request[int]):
    """Asks for the number of messages."""


JOB: Final = Job("resize the picture", 123_456, "queue/pictures/today")
CODEC: Final = MessageCodec([Job, Sum])


class Counter(gr.Behavior[Any]):
    count = 0

    def on_message(self, message: Any, ctx: gr.Context) -> None:
        if isinstance(message, Sum):
            ctx.reply(self.count)
        else:
            self.count += 1


async def _linked(work: Callable[[RemoteRef[Any]], Awaitable[None]], *, is_wall: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="gr") as folder:
        path = Path(folder) / "s"
        async with AsyncExitStack() as stack:
            there = await stack.enter_async_context(gr.open_runtime())
            here = await stack.enter_async_context(gr.open_runtime())
            known = {"here": LinkPeer(token=TOKEN)}
            host = await stack.enter_async_context(
                open_node(there, name="there", codec=CODEC, peers=known, listen=[UnixSocket(path)])
            )
            peers = {"there": LinkPeer(token=TOKEN, address=f"unix:{path}")}
            node = await stack.enter_async_context(open_node(here, name="here", codec=CODEC, peers=peers))
            host.publish("counter", await there.spawn(Counter))
            ref = await (await node.connect("there")).find("counter")
            assert ref is not None
            return await _timed(partial(work, ref), is_wall=is_wall)


async def _timed(work: Callable[[], Awaitable[None]], *, is_wall: bool) -> float:
    clock = time.perf_counter if is_wall else time.process_time
    began = clock()
    await work()
    return clock() - began


async def _tell(ref: RemoteRef[Any], message: Any) -> None:
    for _ in range(TELLS):
        while ref.tell(message) is Delivery.FULL:
            await ref.wait_room()
    await ref.ask(Sum())


async def _ask(ref: RemoteRef[Any]) -> None:
    for _ in range(ASKS):
        await ref.ask(Sum())


async def _bare(work: Callable[[WebSocketConnection], Awaitable[None]], *, echoes: bool, is_wall: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="gr") as folder:
        path = Path(folder) / "s"
        listener = await open_unix_listener(path, backlog=1)

        async def serve() -> None:
            stream = await listener.accept()
            async with open_bare_nursery() as inner:
                request = await wrap_server_stream(inner, stream)
                socket = await request.accept()
                count = 0
                while True:
                    value = orjson.loads(await socket.get_message())
                    count += 1
                    if echoes or value is None:
                        await socket.send_message(orjson.dumps(count))

        async with open_bare_nursery() as nursery:
            nursery.start_soon(serve)
            stream = await connect_unix(path)
            socket = await wrap_client_stream(nursery, stream, "localhost", "/")
            try:
                return await _timed(partial(work, socket), is_wall=is_wall)
            finally:
                nursery.cancel_scope.cancel()
                listener.socket.close()


async def _send(socket: WebSocketConnection, value: Any) -> None:
    for _ in range(TELLS):
        await socket.send_message(orjson.dumps(value))
    await socket.send_message(b"null")
    await socket.get_message()


async def _echo(socket: WebSocketConnection) -> None:
    for _ in range(ASKS):
        await socket.send_message(b"1")
        await socket.get_message()


def _run(function: Callable[..., Awaitable[float]], *arguments: Any, **options: Any) -> Callable[[], float]:
    return lambda: trio.run(partial(function, *arguments, **options))


def bench_tells() -> None:
    """Measure messages."""
    bare = attrs.asdict(JOB)
    run_group(
        "a message to an actor of another process, CPU of both sides",
        {
            "link, 1": _run(_linked, partial(_tell, message=1), is_wall=False),
            "frame, 1": _run(_bare, partial(_send, value=1), echoes=False, is_wall=False),
            "link, object": _run(_linked, partial(_tell, message=JOB), is_wall=False),
            "frame, object": _run(_bare, partial(_send, value=bare), echoes=False, is_wall=False),
        },
        [
            Target(bench="tell", numerator="frame, 1", denominator="link, 1", limit=2.5),
            Target(bench="tell an object", numerator="frame, object", denominator="link, object", limit=2.5),
        ],
        unit="us",
        scale=1e6 / TELLS,
    )


def bench_asks() -> None:
    """Measure asks."""
    run_group(
        "an ask, one at a time",
        {
            "ask": _run(_linked, _ask, is_wall=True),
            "echo": _run(_bare, _echo, echoes=True, is_wall=True),
        },
        [Target(bench="ask", numerator="ask", denominator="echo", limit=2.0, at_least=False)],
        unit="us",
        scale=1e6 / ASKS,
    )


if __name__ == "__main__":
    run_groups("python -m benchmarks.links", __doc__, {"tell": bench_tells, "ask": bench_asks})
