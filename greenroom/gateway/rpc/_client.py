"""A client of a gateway.

    async with open_client("http://127.0.0.1:18789", token) as client:
        await client.subscribe(["chat"])
        await client.change("chat.send", {"sessionKey": "main", "message": "hello"})
        async for event in client.events:
            ...

Rule 1: a token is sent only to a peer that is known to be the gateway: the port of a dead one may be anybody's.
Rule 2: a client that lost events is told by the event `gap`, and reads anew what that names.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import urlsplit
from uuid import uuid4

import attrs
import trio

from greenroom._version import __version__
from greenroom.core import UsageError, open_bare_nursery
from greenroom.gateway.rpc._rpc_frames import PATH, PROTOCOL, RpcError, read_object, to_text
from greenroom.serving import ConnectionEnded

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

CONNECT_S: Final = 10.0
"""Time to connect, in seconds."""
_MAX_BYTES: Final = 4 * 1_048_576


@final
@attrs.frozen(kw_only=True)
class PushedEvent:
    """An event of a gateway."""

    name: str
    payload: Mapping[str, Any]
    seq: int
    """Its number on this connection; the numbers have no holes."""


@final
class GatewayClient:
    """A connection to a gateway. Made by `open_client`."""

    def __init__(self, socket: WebSocketConnection) -> None:
        self.hello: Mapping[str, Any] = {}
        """The answer to `connect`."""
        self._socket = socket
        self._next = 0
        self._waiting: dict[str, _Waiter] = {}
        self._put, self._take = trio.open_memory_channel[PushedEvent](math.inf)
        self.ended: ConnectionEnded | None = None
        """The end of the connection; None while it lasts."""

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """RpcCall a method, and return its answer. If cancelled, the gateway may do it all the same.

        Args:
            method: The method.
            params: Its parameters; those of a change have an `idempotencyKey`.

        Raises:
            RpcError: The gateway refused, or failed.
            ConnectionEnded: The connection is over; a change may have been made, and can be asked for again with its key.
        """
        if self.ended is not None:
            raise self.ended
        self._next += 1
        id_, waiter = str(self._next), _Waiter()
        self._waiting[id_] = waiter
        try:
            await self._send(to_text({"type": "req", "id": id_, "method": method, "params": params or {}}))
            await waiter.has_come.wait()
        finally:
            self._waiting.pop(id_, None)
        if waiter.frame is None:
            raise self._over()
        if waiter.frame.get("ok") is not True:
            raise RpcError.from_json(waiter.frame.get("error"))
        payload = waiter.frame.get("payload")
        return payload if isinstance(payload, dict) else {}

    async def change(
        self, method: str, params: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> Mapping[str, Any]:
        """RpcCall a method that changes something; the arguments are those of `call`.

        Args:
            method: The method.
            params: Its parameters.
            key: The key of the change; a new one unless it is asked for again.

        Raises:
            RpcError: As for `call`.
            ConnectionEnded: As for `call`.
        """
        return await self.call(method, {**(params or {}), "idempotencyKey": key or str(uuid4())})

    async def subscribe(
        self, events: Iterable[str], *, sessions: Iterable[str] | None = None, level: str = "all"
    ) -> None:
        """Ask for events, beside those that were asked for before.

        Args:
            events: Their names.
            sessions: Only those of these sessions; by default of all.
            level: `lifecycle` for beginnings and ends only.

        Raises:
            RpcError: As for `call`.
            ConnectionEnded: As for `call`.
        """
        keys = {} if sessions is None else {"sessionKeys": list(sessions)}
        await self.call("events.subscribe", {"events": list(events), "level": level, **keys})

    @property
    def events(self) -> AsyncIterator[PushedEvent]:
        """The events in their order; the iteration ends with the connection."""
        return self._take

    async def close(self) -> None:
        """Close the connection."""
        with trio.move_on_after(1):
            await self._socket.aclose()

    async def read(self) -> None:
        """Read frames until the connection is over."""
        from trio_websocket import ConnectionClosed

        try:
            while True:
                self._hear(await self._socket.get_message())
        except ConnectionClosed as error:
            reason = error.reason
            self.ended = ConnectionEnded(1006) if reason is None else ConnectionEnded(reason.code, reason.reason or "")
        finally:
            self._put.close()
            for waiter in self._waiting.values():
                waiter.has_come.set()

    def _hear(self, message: str | bytes) -> None:
        frame = read_object(message) if isinstance(message, str) else None
        match frame:
            case {"type": "event", "event": str(name), "payload": dict(payload), "seq": int(seq)}:
                self._put.send_nowait(PushedEvent(name=name, payload=payload, seq=seq))
            case {"type": "res", "id": str(id_)} if id_ in self._waiting:
                self._waiting[id_].frame = frame
                self._waiting[id_].has_come.set()

    def _over(self) -> ConnectionEnded:
        return self.ended or ConnectionEnded(1006)

    async def _send(self, frame: str) -> None:
        from trio_websocket import ConnectionClosed

        try:
            await self._socket.send_message(frame)
        except ConnectionClosed:
            raise self._over() from None


@final
class _Waiter:
    def __init__(self) -> None:
        self.has_come = trio.Event()
        self.frame: dict[str, Any] | None = None


def _always() -> bool:
    return True


@asynccontextmanager
async def open_client(
    url: str,
    token: str,
    *,
    is_there: Callable[[], bool] = _always,
    name: str = "greenroom",
    scopes: Iterable[str] | None = None,
) -> AsyncIterator[GatewayClient]:
    """Connect to a gateway until the block is left.

    Args:
        url: The gateway, such as `http://127.0.0.1:18789`.
        token: A token of it.
        is_there: Returns True if the peer that answers at the URL is the gateway. It is asked once somebody has answered, before the token
            is sent: for a state folder, whether its lock is held by the process that wrote its address.
        name: Name of the program, for the gateway's log.
        scopes: What the connection is for; by default all that the token is good for.

    Raises:
        UsageError: Nobody answers there, or somebody who is not the gateway.
        RpcError: The gateway refuses the token, or the version.
        ConnectionEnded: The gateway closed the connection.
    """
    stream = await _dialed(url)
    try:
        async with open_bare_nursery() as nursery:
            try:
                client = GatewayClient(await _upgraded(nursery, stream, url))
                nursery.start_soon(client.read)
                if not is_there():
                    raise UsageError(f"no gateway answers at {url}; start one with: greenroom gateway")
                client.hello = await client.call("connect", _connect_params(token, name, scopes))
                yield client
                await client.close()
            finally:
                nursery.cancel_scope.cancel("the client is closed")
    finally:
        await trio.aclose_forcefully(stream)


async def _dialed(url: str) -> trio.abc.Stream:
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or {"http": 80}.get(parts.scheme, 443)
    try:
        with trio.fail_after(CONNECT_S):
            if parts.scheme == "http":
                return await trio.open_tcp_stream(host, port)
            return await trio.open_ssl_over_tcp_stream(host, port, https_compatible=True)
    except (OSError, trio.TooSlowError) as error:
        raise UsageError(f"cannot connect to the gateway at {url}: {_why(error)}") from None


async def _upgraded(nursery: trio.Nursery, stream: trio.abc.Stream, url: str) -> WebSocketConnection:
    from trio_websocket import HandshakeError, wrap_client_stream

    try:
        with trio.fail_after(CONNECT_S):
            return await wrap_client_stream(nursery, stream, urlsplit(url).netloc, PATH, max_message_size=_MAX_BYTES)  # type: ignore[arg-type]  # any stream will do
    except (HandshakeError, trio.BrokenResourceError, trio.TooSlowError) as error:
        raise UsageError(f"{url} is not a gateway: {_why(error)}") from None


def _connect_params(token: str, name: str, scopes: Iterable[str] | None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "minProtocol": PROTOCOL,
        "maxProtocol": PROTOCOL,
        "client": {"id": name, "version": __version__},
        "auth": {"token": token},
    }
    return made if scopes is None else made | {"scopes": list(scopes)}


def _why(error: Exception) -> str:
    match error:
        case trio.TooSlowError():
            return "nobody answers in time"
        case OSError() if error.strerror:
            return error.strerror.lower()
    return str(error) or type(error).__name__
