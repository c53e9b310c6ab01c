"""Connections to other nodes: addresses, the WebSocket of the side that dials, and the handshakes of both sides."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, final
from urllib.parse import urlsplit

import attrs
import trio

from greenroom.core import PeerError, UsageError, open_bare_nursery
from greenroom.remote.links._link import LinkConnection
from greenroom.remote.wire import (
    MAX_MESSAGE,
    NO_COMMON_VERSION,
    SUBPROTOCOL,
    Hello,
    NoCommonVersion,
    WireError,
    agreed_version,
    is_proof,
    proof_message,
    prove,
    read_hello,
    read_proof,
)
from greenroom.serving import ConnectionEnded, check_path, connect_unix, is_same_user

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

LINK_PATH: Final = "/link"
"""Where links are taken."""
SHAKE_S: Final = 5.0
"""Time for connection and handshake, each, in seconds."""
_ABNORMAL: Final = 1006
_NOT_PROVEN: Final = 1008


@final
class Unreachable(PeerError):
    """A node cannot be reached, or another node answers.

    Attributes:
        node: Its name.
        address: Where it was looked for.
        is_final: True if a retry cannot succeed: the token is wrong, or there is no common version.
    """

    def __init__(self, node: str, address: str, why: str, *, is_final: bool = False) -> None:
        super().__init__(f"cannot reach node {node!r} at {address}: {why}")
        self.node = node
        self.address = address
        self.is_final = is_final


@final
@attrs.frozen
class UnixAddress:
    """A Unix socket of this machine."""

    path: Path


@final
@attrs.frozen
class TcpAddress:
    """A host and a port; without TLS only on this machine."""

    host: str
    port: int
    has_tls: bool

    @property
    def authority(self) -> str:
        """Host and port as a URL has them; an IPv6 address stands in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Address: TypeAlias = UnixAddress | TcpAddress


def read_address(text: str) -> Address:
    """Return an address: `unix:/path`, `http://127.0.0.1:port` on this machine, `https://host:port` elsewhere.

    Raises:
        UsageError: It is none of them; the text says why.
    """
    if text.startswith(("unix:", "uds:")):
        path = Path(text.partition(":")[2])
        check_path(path)
        return UnixAddress(path)
    try:
        parts = urlsplit(text)
        if parts.hostname and parts.port and not (parts.path.strip("/") or parts.query):
            if parts.scheme == "http" and not _is_loopback(parts.hostname):
                raise UsageError(f"http reaches 127.0.0.1 and [::1] only: use https for another machine, got {text!r}")
            if parts.scheme in ("http", "https"):
                return TcpAddress(parts.hostname, parts.port, parts.scheme == "https")
    except ValueError:
        pass
    raise UsageError(
        f"the address of a node must be unix:/path, http://127.0.0.1:port or https://host:port, got {text!r}"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@final
class _Dialled:
    """A connection that this side has opened."""

    def __init__(self, socket: WebSocketConnection) -> None:
        self._socket = socket

    async def receive(self) -> str | bytes:
        """Return the next message."""
        from trio_websocket import ConnectionClosed

        try:
            return await self._socket.get_message()
        except ConnectionClosed as error:
            raise self._ended(error) from None

    async def send(self, message: str | bytes) -> None:
        """Send a message."""
        from trio_websocket import ConnectionClosed
        from wsproto.utilities import LocalProtocolError

        try:
            await self._socket.send_message(message)
        except ConnectionClosed as error:
            raise self._ended(error) from None
        except LocalProtocolError:
            raise ConnectionEnded(_ABNORMAL) from None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close it; the other side need not agree."""
        with trio.move_on_after(1):
            await self._socket.aclose(code, reason.encode()[:123].decode(errors="ignore") or None)

    @staticmethod
    def _ended(error: Exception) -> ConnectionEnded:
        reason = getattr(error, "reason", None)
        return ConnectionEnded(_ABNORMAL) if reason is None else ConnectionEnded(reason.code, reason.reason or "")


class Dial(Protocol):
    """Opens connections to other nodes."""

    def __call__(
        self, node: str, address: Address, *, tls: ssl.SSLContext | None = None
    ) -> AbstractAsyncContextManager[LinkConnection]:
        """Connect to a node; leaving the block closes the connection. Raises `Unreachable`."""


@asynccontextmanager
async def dialled(node: str, address: Address, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[LinkConnection]:
    """Connect to a node; leaving the block closes the socket, whatever the other side does.

    Raises:
        Unreachable: Nobody takes links there.
    """
    from trio_websocket import ConnectionRejected, HandshakeError, wrap_client_stream

    is_open = False
    where = _shown(address)
    try:
        with trio.fail_after(SHAKE_S):
            stream = await _opened(address, tls)
    except (OSError, ssl.SSLError, trio.BrokenResourceError, trio.TooSlowError) as error:
        raise Unreachable(node, where, _why(error)) from error
    try:
        host = "localhost" if isinstance(address, UnixAddress) else address.authority
        async with open_bare_nursery() as nursery:
            try:
                try:
                    with trio.fail_after(SHAKE_S):
                        socket = await wrap_client_stream(
                            nursery,
                            stream,  # type: ignore[arg-type]  # any stream will do
                            host,
                            LINK_PATH,
                            subprotocols=[SUBPROTOCOL],
                            max_message_size=MAX_MESSAGE,
                        )
                except (HandshakeError, OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
                    raise Unreachable(node, where, f"no node takes links there: {_why(error)}") from error
                is_open = True
                yield _Dialled(socket)
            finally:
                nursery.cancel_scope.cancel("the connection is closed")
    except ExceptionGroup as group:  # of the library's reader
        rejected = group.subgroup(ConnectionRejected)
        why = "the server there rejects it" if rejected is not None else "the connection failed"
        raise (ConnectionEnded(_ABNORMAL) if is_open else Unreachable(node, where, why)) from group
    finally:
        await trio.aclose_forcefully(stream)


async def _opened(address: Address, tls: ssl.SSLContext | None) -> trio.abc.Stream:
    if isinstance(address, UnixAddress):
        stream = await connect_unix(address.path)
        if not is_same_user(stream):
            await trio.aclose_forcefully(stream)
            raise OSError("another user's process listens there")
        return stream
    if not address.has_tls:
        return await trio.open_tcp_stream(address.host, address.port)
    context = tls or ssl.create_default_context()
    secured = await trio.open_ssl_over_tcp_stream(
        address.host, address.port, ssl_context=context, https_compatible=True
    )
    try:
        await secured.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(secured)
        raise
    return secured


def _why(error: Exception) -> str:
    match error:
        case trio.TooSlowError():
            return f"nobody answered within {SHAKE_S:g} s"
        case trio.BrokenResourceError() if error.__cause__ is not None:
            return str(error.__cause__)
        case OSError() if error.strerror:
            return error.strerror.lower()
    return str(error) or type(error).__name__


def _shown(address: Address) -> str:
    if isinstance(address, UnixAddress):
        return f"unix:{address.path}"
    return f"{'https' if address.has_tls else 'http'}://{address.authority}"


async def greet(connection: LinkConnection, ours: Hello, token: bytes, *, node: str, address: Address) -> Hello:
    """Prove both sides of a connection that this side dialled to each other; return the other side's hello.

    Raises:
        Unreachable: The other side is not the node that was meant, does not know the token, or speaks no version of ours.
        ConnectionEnded: The connection ended.
    """
    where = _shown(address)
    refused: tuple[int, Unreachable]
    try:
        with trio.fail_after(SHAKE_S):
            await connection.send(ours.to_bytes())
            theirs = read_hello(await connection.receive())
            agreed_version(ours, theirs)
            if theirs.node != node:
                raise Unreachable(node, where, f"the node there is called {theirs.node!r}", is_final=True)
            await connection.send(proof_message(prove(token, "dials", dialler=ours, listener=theirs)))
            proof = read_proof(await connection.receive())
        if not is_proof(proof, token, "listens", dialler=ours, listener=theirs):
            raise Unreachable(node, where, "the node there does not know the token", is_final=True)
        return theirs
    except trio.TooSlowError:
        raise Unreachable(node, where, f"no hello within {SHAKE_S:g} s") from None
    except NoCommonVersion as error:
        refused = NO_COMMON_VERSION, Unreachable(node, where, str(error), is_final=True)
    except WireError as error:
        refused = error.code, Unreachable(node, where, str(error))
    except ConnectionEnded as error:
        if error.code == NO_COMMON_VERSION:
            raise Unreachable(node, where, error.reason or "no common version", is_final=True) from None
        if error.code == _NOT_PROVEN:
            raise Unreachable(
                node, where, "the token is wrong, or the node is not expected there", is_final=True
            ) from None
        raise
    code, unreachable = refused
    await connection.close(code, str(unreachable))
    raise unreachable
