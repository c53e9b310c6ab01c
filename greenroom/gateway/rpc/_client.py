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
from typing import Any, Final, final
from urllib.parse import urlsplit
from uuid import uuid4

import attrs
import trio

from greenroom._version import __version__
from greenroom.core import UsageError, open_bare_nursery
from greenroom.gateway.rpc._rpc_frames import PATH, PROTOCOL, RpcError, read_object, to_text
from greenroom.serving import CannotConnect, ConnectionEnded, TcpAddress, WebSocket, open_connection

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

    def __init__(self, socket: WebSocket) -> None:
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
            await self._socket.send(to_text({"type": "req", "id": id_, "method": method, "params": params or {}}))
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
        await self._socket.close()

    async def read(self) -> None:
        """Read frames until the connection is over."""
        try:
            while True:
                self._hear(await self._socket.receive())
        except ConnectionEnded as error:
            self.ended = error
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
    try:
        async with (
            open_connection(_address(url), PATH, max_bytes=_MAX_BYTES) as socket,
            open_bare_nursery() as nursery,
        ):
            try:
                client = GatewayClient(socket)
                nursery.start_soon(client.read)
                if not is_there():
                    raise UsageError(f"no gateway answers at {url}; start one with: greenroom gateway")
                client.hello = await client.call("connect", _connect_params(token, name, scopes))
                yield client
                await client.close()
            finally:
                nursery.cancel_scope.cancel("the client is closed")
    except CannotConnect as error:
        if error.was_reached:
            raise UsageError(f"{url} is not a gateway: {error.why}") from None
        raise UsageError(f"cannot connect to the gateway at {url}: {error.why}") from None


def _address(url: str) -> TcpAddress:
    parts = urlsplit(url)
    has_tls = parts.scheme != "http"
    return TcpAddress(parts.hostname or "127.0.0.1", parts.port or (443 if has_tls else 80), has_tls)


def _connect_params(token: str, name: str, scopes: Iterable[str] | None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "minProtocol": PROTOCOL,
        "maxProtocol": PROTOCOL,
        "client": {"id": name, "version": __version__},
        "auth": {"token": token},
    }
    return made if scopes is None else made | {"scopes": list(scopes)}
