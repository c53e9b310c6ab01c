"""One WebSocket connection, as either side sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

import trio

from greenroom.core import PeerError

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

    from greenroom.serving._proof import Proof
    from greenroom.serving._secrets import Judge

CLOSE_S: Final = 2.0
"""Time within which a peer must answer a close, in seconds."""
ABNORMAL: Final = 1006
_MAX_REASON: Final = 123


@final
class ConnectionEnded(PeerError):
    """A connection is over.

    Attributes:
        code: Code with which it was closed; 1006 if it broke.
        reason: Reason that the closing side gave; a peer's is its own text.
    """

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"the connection was closed ({code})")
        self.code = code
        self.reason = reason


class WebSocket:
    """An open WebSocket connection, of either side. Made by `open_connection`, or by the server."""

    def __init__(self, socket: WebSocketConnection, *, ended_with: Callable[[], int | None] = lambda: None) -> None:
        self._socket = socket
        self._ended_with = ended_with
        self._has_closed = trio.Event()
        self._closed: ConnectionEnded | None = None

    async def receive(self) -> str | bytes:
        """Return the next message. If cancelled, no message is lost.

        Raises:
            ConnectionEnded: The connection is over.
        """
        from trio_websocket import ConnectionClosed

        try:
            return await self._socket.get_message()
        except ConnectionClosed as error:
            raise self._ended(error) from None

    async def send(self, message: str | bytes) -> None:
        """Send a message, and wait until the system has taken it. If cancelled, the connection can only be closed.

        Raises:
            ConnectionEnded: The connection is over.
        """
        from trio_websocket import ConnectionClosed
        from wsproto.utilities import LocalProtocolError

        try:
            await self._socket.send_message(message)
        except ConnectionClosed as error:
            raise self._ended(error) from None
        except LocalProtocolError:  # the peer is closing, and the library has not got round to it
            raise ConnectionEnded(ABNORMAL) from None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the connection, and wait up to 2 s for the peer to agree. It may be called at any time, and again.

        Args:
            code: Code, such as 1000, 1001 or one from 4000 on.
            reason: Reason, as text for the peer, of at most 123 bytes; what is longer is cut.
        """
        if self._closed is not None:
            with trio.move_on_after(CLOSE_S):
                await self._has_closed.wait()
            return
        self._closed = ConnectionEnded(code, reason)
        text = reason.encode("utf-8")[:_MAX_REASON].decode("utf-8", "ignore")
        try:
            with trio.move_on_after(CLOSE_S):
                await self._socket.aclose(code, text or None)
        finally:
            self._has_closed.set()

    def _ended(self, error: Exception) -> ConnectionEnded:
        if self._closed is not None:
            return self._closed
        code = self._ended_with()
        closed = getattr(error, "reason", None)
        if code is None and closed is not None:
            return ConnectionEnded(closed.code, closed.reason or "")
        return ConnectionEnded(code or ABNORMAL)


@final
class Connection(WebSocket):
    """An open WebSocket connection, as an endpoint sees it. Made by the server."""

    def __init__(
        self,
        socket: WebSocketConnection,
        proof: Proof,
        judge: Judge,
        *,
        path: str,
        query: str,
        address: str,
        ended_with: Callable[[], int | None],
    ) -> None:
        super().__init__(socket, ended_with=ended_with)
        self.path = path
        """Path of the request, as it was sent."""
        self.query = query
        """What followed its first `?`."""
        self.address = address
        """Address of the peer without its port; `unix` for a Unix socket."""
        self._judge = judge
        self._proof = proof

    @property
    def grant(self) -> object:
        """What the peer's credential means; None while the connection is unproven."""
        return self._proof.grant

    @property
    def is_proven(self) -> bool:
        """True if the peer has proven itself."""
        return self._proof.grant is not None

    async def prove(self, credential: str, *, judge: Judge | None = None) -> object:
        """Judge a credential, and return what it means; from then on the connection has the limits of a proven one.

        Args:
            credential: What the peer has shown.
            judge: Judge instead of the endpoint's, for credentials that hold for this connection only.

        Raises:
            NotProven: It is wrong, which is said after 1 s, or the endpoint is full. The caller may still send an answer.
        """
        return await self._proof.examine(credential, judge or self._judge)
