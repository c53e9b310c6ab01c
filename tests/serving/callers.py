"""A small application behind a server, and peers that write bytes to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import trio
import trio.testing
from trio_websocket import WebSocketConnection, wrap_client_stream

from greenroom.core import open_bare_nursery
from greenroom.serving import (
    Connection,
    Incident,
    Request,
    Resource,
    Response,
    Secrets,
    Server,
    Tcp,
    Upgrade,
    open_server,
)
from greenroom.serving._heads import Names

RIGHT: Final = "0123456789abcdef" * 4
SECRETS: Final = Secrets({RIGHT: "admin", "another" * 8: "reader"})
HOST: Final = "localhost:8000"
ORIGIN: Final = "http://localhost:8000"
NAMES: Final = Names(
    hosts=frozenset({HOST}), origins=frozenset({ORIGIN}), other_origins=frozenset({"https://friend.example"})
)
KEY: Final = "dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE: Final = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Protocol: greenroom.test.1\r\n"
)


@attrs.define
class App:
    """An application that notes when it is called."""

    calls: list[str] = attrs.field(factory=list)
    incidents: list[Incident] = attrs.field(factory=list)

    async def page(self, request: Request) -> Response:
        self.calls.append(f"page {request.path}")
        return Response(body=b"a page", content_type="text/html")

    async def secret(self, request: Request) -> Response:
        self.calls.append(f"secret {request.grant}")
        return Response(body=b"a secret")

    async def post(self, request: Request) -> Response:
        self.calls.append(f"post {len(request.body)}")
        return Response(body=request.body)

    async def fail(self, request: Request) -> Response:
        self.calls.append("fail")
        raise LookupError(request.path)

    async def hang(self, request: Request) -> Response:
        self.calls.append("hang")
        await trio.sleep_forever()
        raise AssertionError

    def judge(self, credential: str) -> object:
        self.calls.append("judge")
        return SECRETS.find(credential)

    async def echo(self, connection: Connection) -> None:
        """Take a credential as the first message; send back all others."""
        self.calls.append("echo")
        await connection.prove(str(await connection.receive()))
        await connection.send("hello")
        while True:
            await connection.send(await connection.receive())

    async def watch(self, connection: Connection) -> None:
        self.calls.append(f"watch {connection.grant}")
        await connection.send("seen")
        await connection.receive()

    async def break_down(self, connection: Connection) -> None:
        self.calls.append("break_down")
        await connection.prove(str(await connection.receive()))
        raise LookupError("broken")

    def endpoints(self) -> list[Resource | Upgrade]:
        """Return an endpoint of each kind."""
        protocol = "greenroom.test.1"
        return [
            Resource(path="/page", answer=self.page),
            Resource(path="/files/*", answer=self.page),
            Resource(path="/secret", answer=self.secret, judge=self.judge, max_proven=2),
            Resource(path="/post", answer=self.post, methods=("POST",), max_body_bytes=10_000),
            Resource(path="/fail", answer=self.fail),
            Resource(path="/hang", answer=self.hang),
            Upgrade(path="/rpc", serve=self.echo, judge=self.judge, protocol=protocol, max_proven=2),
            Upgrade(path="/link", serve=self.echo, judge=self.judge, protocol=protocol, refuses_origins=True),
            Upgrade(path="/watch", serve=self.watch, judge=self.judge, protocol=protocol, has_credential_in_head=True),
            Upgrade(path="/broken", serve=self.break_down, judge=self.judge, protocol=protocol),
        ]


@attrs.define
class Served:
    """A server, in memory or on the loopback interface, and ways to reach it."""

    app: App
    server: Server
    dial: Callable[[], Any]

    async def exchange(self, *sent: bytes) -> bytes:
        """Return everything that the server says to these bytes until it closes."""
        stream = await self.dial()
        try:
            for chunk in sent:
                await stream.send_all(chunk)
            return await read_all(stream)
        except trio.BrokenResourceError:
            return b"(broken)"
        finally:
            await trio.aclose_forcefully(stream)

    async def status(self, *sent: bytes) -> int:
        """Return the status of the answer; 0 if the server closes without one."""
        answer = await self.exchange(*sent)
        return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0

    async def is_well(self) -> bool:
        """Return True if the server answers a request."""
        return await self.status(request("/page")) == 200

    @asynccontextmanager
    async def connected(
        self, path: str = "/rpc", *offered: str, host: str = HOST, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> AsyncIterator[WebSocketConnection]:
        """Connect as a program does."""
        stream = await self.dial()
        try:
            async with open_bare_nursery() as nursery:
                yield await wrap_client_stream(
                    nursery,
                    stream,
                    host,
                    path,
                    subprotocols=offered or ("greenroom.test.1",),
                    extra_headers=list(headers),
                )
                nursery.cancel_scope.cancel()
        finally:
            await trio.aclose_forcefully(stream)

    async def asks(self, credential: str) -> str | bytes | int:
        """Return what the server says to a credential at `/rpc`, or the code with which it closes."""
        from trio_websocket import ConnectionClosed

        async with self.connected() as connection:
            try:
                await connection.send_message(credential)
                return await connection.get_message()
            except ConnectionClosed as error:
                return error.reason.code if error.reason else 0


@asynccontextmanager
async def open_served(*, address: str = "memory") -> AsyncIterator[Served]:
    """Serve the application in memory, where virtual time holds."""
    app = App()
    async with open_server(app.endpoints(), listen=[], report=app.incidents.append) as server:

        async def dial() -> trio.abc.Stream:
            ours, theirs = trio.testing.memory_stream_pair()
            server.take(theirs, address, NAMES)
            await trio.lowlevel.checkpoint()
            return ours

        yield Served(app, server, dial)


@asynccontextmanager
async def open_loopback() -> AsyncIterator[Served]:
    """Serve the application on a port that answers to `HOST`, too."""
    app = App()
    async with open_server(
        app.endpoints(),
        listen=[Tcp()],
        hosts=[HOST],
        origins=[ORIGIN, "https://friend.example"],
        report=app.incidents.append,
    ) as server:
        port = int(server.addresses[0].rpartition(":")[2])

        async def dial() -> trio.abc.Stream:
            return await trio.open_tcp_stream("127.0.0.1", port)

        yield Served(app, server, dial)


async def read_all(stream: trio.abc.ReceiveStream) -> bytes:
    """Return everything up to the end, or to a break."""
    received = b""
    try:
        while chunk := await stream.receive_some(65_536):
            received += chunk
    except trio.BrokenResourceError:
        pass
    return received


def request(path: str, *lines: str, method: str = "GET", host: str | None = HOST, body: str = "") -> bytes:
    """Return a request."""
    hosts = [] if host is None else [f"Host: {host}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *hosts, *lines, "", body]).encode("latin-1")


def upgrade(path: str = "/rpc", *lines: str) -> bytes:
    """Return a request for a WebSocket."""
    return request(path, *UPGRADE.splitlines(), *lines)
