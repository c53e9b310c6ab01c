"""Transport to a server over a websocket: one message per frame, with the subprotocol `mcp`.

The SDK no longer has a client for it. Rule 1: every way of closing is noticed and reported; a dead network is detected
by a ping. Rule 2: a frame that is not a message is remembered and skipped. Rule 3: the socket is closed however the
block is left.

Must not know: the content of messages.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final
from urllib.parse import urlsplit

import trio

from greenroom.core import open_bare_nursery
from greenroom.core.ports import Blocking
from greenroom.mcp._configs import Http
from greenroom.mcp._mcp_errors import ServerDown
from greenroom.mcp._message_decoder import KEPT, MESSAGE_BYTES, noise_in, read, topic
from greenroom.mcp._peer import ConnectionEnd
from greenroom.mcp._stdio import as_item

if TYPE_CHECKING:
    from mcp.client._transport import Transport, TransportStreams
    from trio_websocket import ConnectionClosed, WebSocketConnection

CONNECT_S: Final = 30.0
"""Time limit for the network, and for the server, to open a connection."""
PING_S: Final = 30.0
"""Interval of pings to the server, and time limit for each answer."""
_GOODBYE_S: Final = 0.2
"""Time limit for the closing handshake."""
_SUBPROTOCOL: Final = "mcp"
_WAITING: Final = 64
"""Maximum number of queued messages to a server that does not read, and of those from it that wait to be read."""
_UNAUTHORIZED: Final = 401
_TOO_BIG: Final = 1009
_PORTS: Final = {"ws": 80, "wss": 443}
_Stream: TypeAlias = "trio.SocketStream | trio.SSLStream[trio.SocketStream]"


@asynccontextmanager
async def reach_websocket(
    name: str, way: Http, ending: ConnectionEnd, lost: trio.Event, blocking: Blocking
) -> AsyncIterator[Transport]:
    """Connect to a server as long as the block lasts; yields a transport for the SDK. On cancellation, the socket is
    closed.

    Raises:
        ServerDown: The server does not answer, or not as a websocket. HTTP 401 is recorded as a required login.
    """
    from trio_websocket import ConnectionRejected

    stream: _Stream | None = None
    connection: WebSocketConnection | None = None
    try:
        async with open_bare_nursery() as nursery:
            try:
                with _in_time(name):
                    stream = await _open_stream(name, way, blocking)
                with _in_time(name):
                    connection = await _shake_hands(name, nursery, stream, way)
                try:
                    yield _talk(connection, ending, lost)
                finally:
                    with trio.CancelScope(deadline=trio.current_time() + _GOODBYE_S, shield=True):
                        await connection.aclose()
            finally:
                nursery.cancel_scope.cancel("the connection is closed")
    except ExceptionGroup as group:  # of the library's reader, when the server rejects the connection
        rejected = next((error for error in _leaves(group) if isinstance(error, ConnectionRejected)), None)
        if rejected is None and connection is None:
            raise ServerDown(name, "the websocket handshake failed: its answer violates the protocol") from group
        if rejected is None:
            raise
        raise _refused(name, way, rejected.status_code, ending) from group
    finally:
        if stream is not None:
            await trio.aclose_forcefully(stream)


@contextmanager
def _in_time(name: str) -> Iterator[None]:
    try:
        with trio.fail_after(CONNECT_S):
            yield
    except trio.TooSlowError:
        raise ServerDown(name, f"the websocket handshake timed out after {CONNECT_S:g} s") from None


def _leaves(group: BaseExceptionGroup) -> Iterator[BaseException]:
    for exception in group.exceptions:
        if isinstance(exception, BaseExceptionGroup):
            yield from _leaves(exception)
        else:
            yield exception


def _refused(name: str, way: Http, status: int, ending: ConnectionEnd) -> ServerDown:
    if status != _UNAUTHORIZED:
        return ServerDown(name, f"the websocket handshake failed: it answered HTTP {status}")
    what_to_do = (
        " to what its headersHelper gave" if way.headers_helper else "; send a token as a header or by a headersHelper"
    )
    ending.needs_auth, ending.why = True, f"it requires a login: it answered HTTP {status}{what_to_do}"
    return ServerDown(name, ending.why)


async def _open_stream(name: str, way: Http, blocking: Blocking) -> _Stream:
    parts = urlsplit(way.url)
    host = parts.hostname or ""
    stream = await trio.open_tcp_stream(host, parts.port or _PORTS[parts.scheme])
    if parts.scheme == "ws":
        return stream
    try:
        context = await blocking.run(ssl.create_default_context)  # it reads the certificates of the machine
        secured = trio.SSLStream(stream, context, server_hostname=host, https_compatible=True)
        await secured.do_handshake()
    except trio.BrokenResourceError as problem:
        await trio.aclose_forcefully(stream)
        raise ServerDown(name, f"no secure connection: {problem.__cause__ or problem}") from problem
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secured


async def _shake_hands(name: str, nursery: trio.Nursery, stream: _Stream, way: Http) -> WebSocketConnection:
    from trio_websocket import ConnectionClosed, HandshakeError, wrap_client_stream

    parts = urlsplit(way.url)
    resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        return await wrap_client_stream(
            nursery,
            stream,
            parts.netloc.rpartition("@")[2],
            resource,
            subprotocols=[_SUBPROTOCOL],
            extra_headers=[(key.encode(), text.encode()) for key, text in way.headers.items()],
            max_message_size=MESSAGE_BYTES,
        )
    except (HandshakeError, ConnectionClosed) as problem:
        raise ServerDown(name, "the websocket handshake failed: it closed the connection") from problem


@asynccontextmanager
async def _talk(
    connection: WebSocketConnection, ending: ConnectionEnd, lost: trio.Event
) -> AsyncIterator[TransportStreams]:
    import anyio
    from mcp.shared.message import SessionMessage

    inward, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outward = anyio.create_memory_object_stream[SessionMessage](_WAITING)
    frames = _Frames(connection, ending)

    async with inward, incoming, outgoing, outward, trio.open_nursery() as nursery:

        async def lose() -> None:
            lost.set()
            await inward.aclose()  # otherwise callers would wait for their answers indefinitely

        async def receive() -> None:
            await frames.receive()

        async def read() -> None:
            if await frames.read(inward):
                await lose()

        async def write() -> None:
            if await frames.write(outward):
                await lose()

        async def watch() -> None:
            await frames.wait_silent()
            await lose()

        for task in (receive, read, write, watch):
            nursery.start_soon(task)
        yield incoming, outgoing
        nursery.cancel_scope.cancel("the connection is closed")


@final
class _WaitingFrames:
    """Messages that were received and not read yet."""

    def __init__(self) -> None:
        self.changed = trio.Event()
        self._frames: list[tuple[tuple[bytes, bytes] | None, bytes]] = []
        self._bytes = 0
        self._is_closed = False

    @property
    def has_room(self) -> bool:
        """True if another message may be received."""
        return len(self._frames) < _WAITING and self._bytes < MESSAGE_BYTES

    def put(self, frame: bytes) -> None:
        """Add a message; of repeated notifications about the same thing, the oldest one beyond the limit goes."""
        about = topic(frame)
        if about is not None:
            same = [index for index, (other, _) in enumerate(self._frames) if other == about]
            if len(same) >= KEPT:
                self._bytes -= len(self._frames.pop(same[0])[1])
        self._frames.append((about, frame))
        self._bytes += len(frame)
        self._wake()

    async def take(self) -> bytes | None:
        """Return the next message; None when there will be none."""
        while not self._frames:
            if self._is_closed:
                await trio.lowlevel.checkpoint()
                return None
            await self.changed.wait()
        _, frame = self._frames.pop(0)
        self._bytes -= len(frame)
        self._wake()
        await trio.lowlevel.checkpoint()
        return frame

    def close(self) -> None:
        """End the messages: what waits is still taken."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = trio.Event()


@final
class _Frames:
    def __init__(self, connection: WebSocketConnection, ending: ConnectionEnd) -> None:
        self._connection = connection
        self._ending = ending
        self._waiting = _WaitingFrames()

    async def receive(self) -> None:
        """Take the server's messages off the network until it has closed.

        Of repeated notifications that are not read yet, the last ones are kept, so that a flood costs little.
        """
        from trio_websocket import ConnectionClosed

        waiting = self._waiting
        try:
            while True:
                frame = await self._connection.get_message()
                while not waiting.has_room:
                    await waiting.changed.wait()
                waiting.put(frame.encode(errors="replace") if isinstance(frame, str) else frame)
        except ConnectionClosed as closed:
            self._note(closed)
            waiting.close()

    async def read(self, inward: Any) -> bool:
        """Forward the server's messages; return True when it has closed, False if the reader has gone."""
        import anyio

        while (content := await self._waiting.take()) is not None:
            said = read(content)
            if not said:
                self._ending.said = self._ending.said or noise_in(content)
            try:
                for message in said:
                    await inward.send(as_item(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return False
        return True

    async def write(self, outward: Any) -> bool:
        """Forward messages to the server; return True if it no longer accepts any, False if none are left."""
        from trio_websocket import ConnectionClosed

        async for message in outward:
            said = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await self._connection.send_message(said)
            except ConnectionClosed as closed:
                self._note(closed)
                return True
        return False

    async def wait_silent(self) -> None:
        """Wait until the server does not answer a ping."""
        from trio_websocket import ConnectionClosed

        while True:
            await trio.sleep(PING_S)
            try:
                with trio.fail_after(PING_S):
                    await self._connection.ping()
            except ConnectionClosed as closed:
                self._note(closed)
                return
            except trio.TooSlowError:
                self._ending.why = self._ending.why or f"it did not answer a ping within {PING_S:g} s"
                return

    def _note(self, closed: ConnectionClosed) -> None:
        reason = closed.reason
        if self._ending.why:
            return
        if reason is None:
            self._ending.why = "the connection broke off"
        elif reason.code == _TOO_BIG:
            self._ending.why = f"it sent a message of more than {MESSAGE_BYTES} bytes"
        else:
            said = f": {reason.reason[:200]}" if reason.reason else ""
            self._ending.why = f"it closed the connection (code {reason.code}{said})"
