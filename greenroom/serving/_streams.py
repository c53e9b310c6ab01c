"""Streams behind the WebSocket library, its handshakes, and closing a stream so that what was sent last arrives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, final

import trio

from greenroom.serving._frames import FrameGauge

T = TypeVar("T")
LINGER_S: Final = 1.0
"""Time within which a peer must close after it was answered, in seconds."""
_LINGER_READS: Final = 64
_CHUNK_BYTES: Final = 4_096
TOO_LARGE: Final = 1009
_CLOSE_TOO_LARGE: Final = b"\x88\x02" + TOO_LARGE.to_bytes(2, "big")
"""A whole frame: nothing of the message that was too large reaches the library, so it cannot send it."""


async def linger(stream: trio.abc.Stream) -> None:
    """Say that nothing more comes, and drop what still arrives until the peer closes: a system that finds unread bytes at a close
    resets the connection, and the peer may lose its answer.
    """
    with (
        trio.move_on_after(LINGER_S),
        suppress(trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError),
    ):
        if isinstance(stream, trio.abc.HalfCloseableStream):
            await stream.send_eof()
        for _ in range(_LINGER_READS):
            if not await stream.receive_some(_CHUNK_BYTES):
                return


@final
class UpgradedStream(trio.abc.Stream):
    """A stream whose request has been read: the library reads a head, then what the peer sent behind its own, then the stream.

    Nothing behind the head is given out before `accept`: the library would lose it. Closing it closes nothing: the server does that.
    """

    def __init__(self, stream: trio.abc.Stream, head: bytes, behind: bytes, gauge: FrameGauge) -> None:
        self._stream = stream
        self._head = head
        self._behind = behind
        self._gauge = gauge
        self._sending = trio.StrictFIFOLock()
        self._is_accepted = trio.Event()
        self._is_closed = False
        self.is_too_large = False
        """True if the peer was closed for a message that was too large."""

    def accept(self) -> None:
        """Give out what lies behind the head."""
        self._is_accepted.set()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Return the next bytes; none if the peer has sent a message that is too large."""
        if self._head:
            await trio.lowlevel.checkpoint()
            head, self._head = self._head, b""
            return head
        if self._behind or not self._is_accepted.is_set():  # else the stream has a checkpoint of its own
            await self._is_accepted.wait()
        if self._is_closed:
            raise trio.ClosedResourceError
        if self.is_too_large:
            await trio.lowlevel.checkpoint()
            return b""
        chunk: bytes | bytearray = self._behind
        self._behind = b""
        if not chunk:
            chunk = await self._stream.receive_some(max_bytes)
        if self._gauge.take(chunk):
            return chunk
        self.is_too_large = True
        await self.send_all(_CLOSE_TOO_LARGE)
        return b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send whole frames, one after the other."""
        if self._sending.locked():
            await self._sending.acquire()
        else:
            self._sending.acquire_nowait()  # without a checkpoint: the stream has its own
        try:
            if self._is_closed:
                raise trio.ClosedResourceError
            await self._stream.send_all(data)
        finally:
            self._sending.release()

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until sending may go on."""
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        """Refuse further use."""
        self._is_closed = True
        await trio.lowlevel.checkpoint()


@final
class ClosedEarly(OSError):
    """The other side closed a connection before the handshake."""

    def __init__(self) -> None:
        super().__init__("the other side closed the connection before the handshake")


async def shake_hands(stream: trio.abc.Stream, shake: Callable[[Any], Awaitable[T]]) -> T:
    """Return the result of a handshake of the library.

    Args:
        stream: The stream of the connection.
        shake: Called with the stream to use.

    Raises:
        ClosedEarly: The other side closed the connection before it; the library would wait.
    """
    with trio.CancelScope() as scope:
        return await shake(WatchedStream(stream, scope))
    raise ClosedEarly


@final
class WatchedStream(trio.abc.Stream):
    """A stream that cancels a scope when the other side has closed it.

    Args:
        stream: The stream.
        scope: Cancelled then.
    """

    def __init__(self, stream: trio.abc.Stream, scope: trio.CancelScope) -> None:
        self._stream = stream
        self._scope = scope

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send all of it."""
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError:
            self._scope.cancel()
            raise

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until there is room."""
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Return what has come; empty if the other side has closed it."""
        try:
            received = await self._stream.receive_some(max_bytes)
        except trio.BrokenResourceError:
            self._scope.cancel()
            raise
        if not received:
            self._scope.cancel()
        return received

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()
