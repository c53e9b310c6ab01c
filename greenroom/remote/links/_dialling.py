"""Connections to other nodes: their addresses, and the handshakes of both sides."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, final
from urllib.parse import urlsplit

import trio

from greenroom.core import PeerError, UsageError
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
from greenroom.serving import (
    Address,
    CannotConnect,
    Connection,
    ConnectionEnded,
    TcpAddress,
    UnixAddress,
    check_path,
    open_connection,
)

if TYPE_CHECKING:
    import ssl

LINK_PATH: Final = "/link"
"""Where links are taken."""
SHAKE_S: Final = 5.0
"""Time for connection and handshake, each, in seconds."""
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
        ConnectionEnded: The connection failed while the block lasted.
    """
    connecting = open_connection(
        address, LINK_PATH, max_bytes=MAX_MESSAGE, protocol=SUBPROTOCOL, tls=tls, limit_s=SHAKE_S
    )
    try:
        async with connecting as socket:
            yield socket
    except CannotConnect as error:
        why = f"no node takes links there: {error.why}" if error.was_reached else error.why
        raise Unreachable(node, str(address), why) from error


async def greet(connection: LinkConnection, ours: Hello, token: bytes, *, node: str, address: Address) -> Hello:
    """Prove both sides of a connection that this side dialled to each other; return the other side's hello.

    Raises:
        Unreachable: The other side is not the node that was meant, does not know the token, or speaks no version of ours.
        ConnectionEnded: The connection ended.
    """
    where = str(address)
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


async def welcome(
    connection: Connection, hello_for: Callable[[Hello], Hello], token_of: Callable[[str], bytes]
) -> Hello:
    """Prove both sides of a connection that the other side dialled to each other; return the other side's hello.

    Args:
        connection: The connection.
        hello_for: Returns the hello that answers that of the other side.
        token_of: Returns the token of a node by its name; for one that is not expected, one that nobody knows.

    Raises:
        WireError: What the other side sent is no handshake, or there is no common version.
        NotProven: It does not know the token.
        ConnectionEnded: The connection ended.
    """
    theirs = read_hello(await connection.receive())
    ours = hello_for(theirs)
    await connection.send(ours.to_bytes())
    try:
        agreed_version(ours, theirs)
    except NoCommonVersion as error:
        raise WireError(NO_COMMON_VERSION, str(error)) from None
    proof = read_proof(await connection.receive())
    token = token_of(theirs.node)
    is_right = partial(is_proof, token=token, role="dials", dialler=theirs, listener=ours)
    await connection.prove(proof, judge=lambda shown: theirs.node if is_right(shown) else None)
    await connection.send(proof_message(prove(token, "listens", dialler=theirs, listener=ours)))
    return theirs
