"""WebSocket connections that this side opens: addresses, TLS, the handshake, and why one cannot be opened.

    async with open_connection(TcpAddress("127.0.0.1", 8000), "/link", protocol="greenroom.link.1", ...) as socket:
        await socket.send("hello")

Rule 1: leaving the block closes the socket, whatever the other side does. Rule 2: an error of connecting has one text, whoever connects.
Rule 3: a Unix socket of another user is not spoken to. Must not know: what is said over a connection.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, final

import attrs
import trio

from greenroom.core import PeerError, open_bare_nursery
from greenroom.serving._connection import ABNORMAL, ConnectionEnded, WebSocket
from greenroom.serving._streams import ClosedEarly, shake_hands
from greenroom.serving._unix_sockets import connect_unix, is_same_user

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

CONNECT_S: Final = 10.0
"""Default time to connect, and again for the handshake, in seconds."""
_DEFAULT_PORTS: Final = {True: 443, False: 80}


@final
@attrs.frozen
class UnixAddress:
    """A Unix socket of this machine."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"

    @property
    def authority(self) -> str:
        """Name of the host for a request."""
        return "localhost"


@final
@attrs.frozen
class TcpAddress:
    """A host and a port."""

    host: str
    port: int
    has_tls: bool = False

    def __str__(self) -> str:
        return f"{'https' if self.has_tls else 'http'}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port as a request has them: an IPv6 address in brackets, and no port that the scheme implies."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.has_tls] else f"{host}:{self.port}"


Address: TypeAlias = UnixAddress | TcpAddress


@final
class CannotConnect(PeerError):
    """A WebSocket connection cannot be opened.

    Attributes:
        address: Where.
        why: The reason, in words.
        was_reached: True if a server answers there that takes no such connections.
    """

    def __init__(self, address: Address, why: str, *, was_reached: bool) -> None:
        super().__init__(f"cannot connect to {address}: {why}")
        self.address = address
        self.why = why
        self.was_reached = was_reached


@asynccontextmanager
async def open_connection(
    address: Address,
    path: str,
    *,
    max_bytes: int,
    protocol: str | None = None,
    tls: ssl.SSLContext | None = None,
    limit_s: float = CONNECT_S,
) -> AsyncIterator[WebSocket]:
    """Open a connection until the block is left.

    Args:
        address: Where the server listens.
        path: Path of its endpoint.
        max_bytes: Maximum size of a message that is taken, in bytes.
        protocol: The subprotocol; none by default.
        tls: Certificates that count; by default those of the system.
        limit_s: Time to connect, and again for the handshake, in seconds.

    Raises:
        CannotConnect: Nobody takes such connections there.
        ConnectionEnded: The connection failed while the block lasted.
    """
    from trio_websocket import ConnectionRejected, HandshakeError

    is_open = False
    try:
        with trio.fail_after(limit_s):
            stream = await _opened(address, tls)
    except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
        raise CannotConnect(address, _why(error, limit_s), was_reached=False) from error
    try:
        async with open_bare_nursery() as nursery:
            try:
                try:
                    with trio.fail_after(limit_s):
                        socket = await _upgraded(nursery, stream, address, path, protocol, max_bytes)
                except (HandshakeError, OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
                    why = _why(error, limit_s) + _guess(address, error)
                    raise CannotConnect(address, why, was_reached=True) from error
                is_open = True
                yield WebSocket(socket)
            finally:
                nursery.cancel_scope.cancel("the connection is closed")
    except ExceptionGroup as group:  # of the library's reader
        if is_open:
            raise ConnectionEnded(ABNORMAL) from group
        rejected = group.subgroup(ConnectionRejected)
        why = "the server there rejects it" if rejected is not None else "the connection failed"
        raise CannotConnect(address, why, was_reached=True) from group
    finally:
        await trio.aclose_forcefully(stream)


async def _upgraded(
    nursery: trio.Nursery, stream: trio.abc.Stream, address: Address, path: str, protocol: str | None, max_bytes: int
) -> WebSocketConnection:
    from trio_websocket import wrap_client_stream

    async def shake(watched: trio.abc.Stream) -> WebSocketConnection:
        return await wrap_client_stream(
            nursery,
            watched,  # type: ignore[arg-type]  # any stream will do
            address.authority,
            path,
            subprotocols=None if protocol is None else [protocol],
            max_message_size=max_bytes,
        )

    return await shake_hands(stream, shake)


async def _opened(address: Address, tls: ssl.SSLContext | None) -> trio.abc.Stream:
    if isinstance(address, UnixAddress):
        stream = await connect_unix(address.path)
        if not is_same_user(stream):
            await trio.aclose_forcefully(stream)
            raise OSError("another user's process listens there")
        return stream
    if not address.has_tls:
        return await trio.open_tcp_stream(address.host, address.port)
    secured = await trio.open_ssl_over_tcp_stream(
        address.host, address.port, ssl_context=tls or ssl.create_default_context(), https_compatible=True
    )
    try:
        await secured.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(secured)
        raise
    return secured


def _guess(address: Address, error: BaseException) -> str:
    """Return the likely reason of a side that closed without a word: Trio sends no alert of TLS when a handshake fails."""
    if isinstance(error, ClosedEarly) and isinstance(address, TcpAddress):
        return "; it may demand a certificate" if address.has_tls else "; it may expect https"
    return ""


def _why(error: BaseException, limit_s: float) -> str:
    """Return why a connection cannot be opened, in words."""
    cause = error.__cause__
    match error:
        case trio.TooSlowError():
            return f"nobody answered within {limit_s:g} s"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not accepted here: {error.verify_message.lower()}"
        case ssl.SSLError():
            return f"TLS failed: {(error.reason or 'no reason').lower().replace('_', ' ')}"
        case OSError() if error.strerror:
            return error.strerror.lower()
        case ExceptionGroup():
            return _why(error.exceptions[0], limit_s)
    return _why(cause, limit_s) if cause is not None else str(error) or type(error).__name__
