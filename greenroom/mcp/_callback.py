"""Local HTTP endpoint to which a browser returns after a login, open as long as the login lasts.

Rule 1: it listens on the loopback interface only. Rule 2: only requests with the expected `state` are accepted; all
others get an answer and change nothing. Rule 3: a malformed request breaks at most its own connection.

Must not know: tokens, the SDK.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, final
from urllib.parse import parse_qs, urlsplit

import trio

from greenroom.core import UsageError, open_bare_nursery

_HOSTS: Final = ("127.0.0.1", "::1")
_NAME: Final = "localhost"
"""Host name in the URL: authorization servers register the ports of clients in this form."""
_PATH: Final = "/callback"
_MAX_BYTES: Final = 16 * 1024
_REQUEST_S: Final = 10.0
"""Time limit for a connection's request, and for the answer, in seconds."""
_MAX_CONNECTIONS: Final = 32
_DONE: Final = "<p>This is all that was needed here. You can close this page, and go back to the terminal.</p>"
_NOT_DONE: Final = "<p>The login was refused. You can close this page; the terminal says more.</p>"
_NOTHING: Final = "<p>No login is waiting for this.</p>"


@final
class Callback:
    """An endpoint that a browser can be redirected to. Made by `open_callback`."""

    def __init__(self, port: int) -> None:
        self.uri = f"http://{_NAME}:{port}{_PATH}"
        """The URL."""
        self._state: str | None = None
        self._values: Mapping[str, str] = {}
        self._came = trio.Event()
        self._connections = 0

    def expect(self, state: str) -> None:
        """Set the `state` that a browser has to bring."""
        self._state = state

    async def wait(self) -> Mapping[str, str]:
        """Wait until a browser has returned, and return its parameters: `code` or `error`, and any others."""
        await self._came.wait()
        return self._values

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer one connection."""
        if self._connections >= _MAX_CONNECTIONS:
            await trio.aclose_forcefully(stream)
            return
        self._connections += 1
        try:
            with trio.move_on_after(_REQUEST_S), suppress(trio.BrokenResourceError):
                target = await _requested(stream)
                if target is not None:
                    await self._answer(stream, target)
        finally:
            self._connections -= 1
            await trio.aclose_forcefully(stream)

    async def _answer(self, stream: trio.SocketStream, target: str) -> None:
        values = self._brought(target)
        if values is None or self._came.is_set():
            await stream.send_all(_page("404 Not Found", _NOTHING))
            return
        self._values = values
        try:
            await stream.send_all(_page("200 OK", _DONE if "code" in values else _NOT_DONE))
        finally:
            self._came.set()

    def _brought(self, target: str) -> Mapping[str, str] | None:
        """Return the parameters of a request; None if it is not the expected one."""
        try:
            parts = urlsplit(target)
            values = {name: texts[0] for name, texts in parse_qs(parts.query, max_num_fields=32).items()}
        except ValueError:
            return None
        state = values.get("state", "")
        is_known = self._state is not None and hmac.compare_digest(state.encode(), self._state.encode())
        return values if is_known and parts.path == _PATH and ("code" in values or "error" in values) else None


@asynccontextmanager
async def open_callback(port: int | None = None) -> AsyncIterator[Callback]:
    """Listen as long as the block lasts; leaving or cancelling it closes every socket.

    Args:
        port: The port that the client is registered with (`callbackPort`); None for any free one.

    Raises:
        UsageError: The port is taken.
    """
    listeners: list[trio.SocketListener] = []
    async with open_bare_nursery() as nursery:
        try:
            try:
                listeners += await trio.open_tcp_listeners(port or 0, host=_HOSTS[0])
            except OSError as problem:
                what = f"the port {port} (callbackPort)" if port else "a port of this machine"
                raise UsageError(f"cannot listen on {what}: {problem.strerror or problem}") from None
            bound: int = listeners[0].socket.getsockname()[1]
            with suppress(OSError):  # IPv6, if available: a browser may resolve the name to either
                listeners += await trio.open_tcp_listeners(bound, host=_HOSTS[1])
            callback = Callback(bound)
            await nursery.start(partial(trio.serve_listeners, callback.serve, listeners))
            yield callback
        finally:
            nursery.cancel_scope.cancel("the login is over")
            for listener in listeners:
                listener.socket.close()


async def _requested(stream: trio.SocketStream) -> str | None:
    """Return the target of a GET; None for any other request."""
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = await stream.receive_some()
        head += chunk
        if not chunk or len(head) > _MAX_BYTES:
            return None
    words = head.split(b"\r\n", 1)[0].decode("ascii", errors="replace").split(" ")
    return words[1] if len(words) == 3 and words[0] == "GET" else None


def _page(status: str, text: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>greenroom</title>{text}\n".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
