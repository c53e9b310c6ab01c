"""Servers over HTTP and WebSocket: their configurations, and one that answers with a status only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

import trio

from greenroom.mcp import Http, McpServers, ServerConfig
from tests.mcp.real import BOUND_S

KINDS = ["streamable-http", "sse", "ws"]


def config_of(url: str, kind: str = "", *, name: str = "far", **headers: str) -> ServerConfig:
    dialects: dict[str, Literal["sse", "ws"]] = {"sse": "sse", "ws": "ws"}
    return ServerConfig(name=name, way=Http(url=url, headers=headers, dialect=dialects.get(kind, "http")))


async def until_changed(servers: McpServers, is_so: Callable[[], bool]) -> None:
    """Wait until something about the servers has changed so."""
    done = trio.Event()

    def look() -> None:
        if is_so():
            done.set()

    stop = servers.on_change(look)
    look()
    with trio.fail_after(BOUND_S):
        await done.wait()
    stop()


@asynccontextmanager
async def answering(status: int, reason: str) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answer every request with a status and nothing else; gives the address, and the requests so far."""
    asked: list[bytes] = []

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            asked.append(await stream.receive_some())
            await stream.send_all(
                f"HTTP/1.1 {status} {reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode()
            )

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listener.socket.getsockname()[1]}/mcp", asked
        nursery.cancel_scope.cancel()
