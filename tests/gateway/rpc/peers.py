"""A gateway's protocol with handlers of the tests, and clients that write frames to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import attrs
import trio
import trio.testing
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from greenroom.core import open_bare_nursery
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.gateway.rpc._hub import EventHub
from greenroom.gateway.rpc._methods import METHODS, Answer, Handler, RpcCall, bind
from greenroom.gateway.rpc._rpc import Rpc, open_rpc
from greenroom.gateway.rpc._rpc_frames import PATH
from greenroom.gateway.rpc._rpc_tokens import NamedToken, Tokens
from greenroom.serving import Incident, Server, open_server
from greenroom.serving._heads import Names
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, make_ports, unlocked

OPERATOR: Final = "0123456789abcdef" * 4
HOST: Final = "localhost:18789"
NAMES: Final = Names(hosts=frozenset({HOST}), origins=frozenset({f"http://{HOST}"}), other_origins=frozenset())
START_S: Final = 1e9
KEY: Final = "agent:main:main"


@attrs.define
class Recorded:
    """Handlers that note their calls; one may be replaced for a test."""

    calls: list[tuple[str, Any]] = attrs.field(factory=list)
    replaced: dict[str, Handler] = attrs.field(factory=dict)

    def handlers(self) -> dict[str, Handler]:
        """Return a handler for every method."""
        return {spec.name: self._handle for spec in METHODS}

    async def _handle(self, call: RpcCall, params: Any) -> Answer:
        self.calls.append((call.method, params))
        await trio.lowlevel.checkpoint()
        if call.method in self.replaced:
            return await self.replaced[call.method](call, params)
        return {"method": call.method, "number": len(self.calls)}

    def count(self, method: str) -> int:
        """Return how often a method was called."""
        return sum(name == method for name, _ in self.calls)


@attrs.define
class Peer:
    """A client that speaks the protocol frame by frame."""

    socket: WebSocketConnection
    hello: dict[str, Any] = attrs.field(factory=dict)
    events: list[dict[str, Any]] = attrs.field(factory=list)
    answers: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    sent: int = 0

    async def send(self, **frame: Any) -> None:
        """Send a frame."""
        await self.socket.send_message(json.dumps(frame))

    async def receive(self) -> dict[str, Any]:
        """Return the next frame, and keep it by its kind."""
        frame: dict[str, Any] = json.loads(await self.socket.get_message())
        if frame["type"] == "event":
            self.events.append(frame)
        else:
            self.answers[frame["id"]] = frame
        return frame

    async def ask(self, method: str, params: Any = None) -> str:
        """Send a request, and return its id."""
        self.sent += 1
        await self.send(type="req", id=str(self.sent), method=method, params=params or {})
        return str(self.sent)

    async def answer(self, id_: str) -> dict[str, Any]:
        """Return the answer to a request."""
        while id_ not in self.answers:
            await self.receive()
        return self.answers.pop(id_)

    async def call(self, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request, and return its answer."""
        return await self.answer(await self.ask(method, params))

    async def next_events(self, count: int) -> list[dict[str, Any]]:
        """Return the next events."""
        while len(self.events) < count:
            await self.receive()
        found, self.events = self.events[:count], self.events[count:]
        return found

    async def close_code(self) -> int:
        """Read until the connection is closed, and return its code."""
        try:
            while True:
                await self.receive()
        except ConnectionClosed as error:
            return error.reason.code if error.reason else 1006


def connect_params(token: str = OPERATOR, **more: Any) -> dict[str, Any]:
    """Return the parameters of a right `connect`."""
    return {
        "minProtocol": 1,
        "maxProtocol": 1,
        "client": {"id": "test", "version": "1"},
        "auth": {"token": token},
        **more,
    }


@attrs.define
class House:
    """A served protocol."""

    rpc: Rpc
    hub: EventHub
    tokens: Tokens
    record: GatewayRecord
    recorded: Recorded
    server: Server
    incidents: list[Incident]
    errors: list[tuple[str, Exception]]

    async def dial(self) -> Any:
        """Return a stream to the server."""
        ours, theirs = trio.testing.memory_stream_pair()
        self.server.take(theirs, "memory", NAMES)
        await trio.lowlevel.checkpoint()
        return ours

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Peer]:
        """Open a WebSocket connection, without `connect`."""
        stream = await self.dial()
        try:
            async with open_bare_nursery() as nursery:
                yield Peer(await wrap_client_stream(nursery, stream, HOST, PATH))
                nursery.cancel_scope.cancel()
        finally:
            await trio.aclose_forcefully(stream)

    @asynccontextmanager
    async def connected(self, token: str = OPERATOR, **more: Any) -> AsyncIterator[Peer]:
        """Open a connection, and connect."""
        async with self.opened() as peer:
            answer = await peer.call("connect", connect_params(token, **more))
            assert answer["ok"], answer
            peer.hello = answer["payload"]
            yield peer


def wall() -> float:
    """Return a wall clock's time that goes with the virtual one."""
    return START_S + trio.current_time()


@asynccontextmanager
async def open_house(
    disk: MemoryDisk | None = None,
    *,
    named: Sequence[NamedToken] = (),
    replaced: Mapping[str, Callable[[RpcCall, Any], Awaitable[Answer]]] | None = None,
    awaited: Callable[[], str] = str,
    max_connections: int = 200,
) -> AsyncIterator[House]:
    """Serve the protocol in memory, where virtual time holds."""
    recorded, hub, tokens = Recorded(replaced=dict(replaced or {})), EventHub(), Tokens(OPERATOR, named)
    incidents: list[Incident] = []
    errors: list[tuple[str, Exception]] = []
    async with AsyncExitStack() as stack:
        record = await stack.enter_async_context(open_gateway_journal(FOLDER, ports=make_ports(disk), lock=unlocked))
        rpc = await stack.enter_async_context(
            open_rpc(
                bind(recorded.handlers()),
                hub=hub,
                tokens=tokens,
                record=record,
                wall=wall,
                awaited=awaited,
                report=lambda method, error: errors.append((method, error)),
            )
        )
        server = await stack.enter_async_context(
            open_server(rpc.endpoints(max_connections=max_connections), listen=[], report=incidents.append)
        )
        yield House(rpc, hub, tokens, record, recorded, server, incidents, errors)
        for each in incidents:
            if each.error is not None:
                raise each.error
