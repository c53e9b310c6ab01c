"""Servers behind a websocket, over real sockets: what is sent to open one, and every way in which it closes."""

from __future__ import annotations

import datetime as dt
import json
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest, serve_websocket

from greenroom.mcp import Http, McpSettings, ServerConfig, ServerStatus
from greenroom.mcp._message_decoder import MESSAGE_BYTES
from greenroom.mcp._websocket import _WaitingFrames
from greenroom.tools import ToolError
from tests.mcp.over_http import answering
from tests.mcp.real import BOUND_S, free_port, session, until

pytestmark = [
    pytest.mark.slow,  # the SDK is imported, which takes a second
    # When the other side closes, trio-websocket 0.12.2 leaves the server's socket to the collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
S = ServerStatus
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
Call = Callable[[WebSocketConnection, dict[str, Any]], Awaitable[None]]


def far(url: str, **more: Any) -> ServerConfig:
    return ServerConfig(name="far", way=Http(url=url, dialect="ws", **more))


async def say(socket: WebSocketConnection, request: dict[str, Any], result: Any) -> None:
    await socket.send_message(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))


async def echo(socket: WebSocketConnection, request: dict[str, Any]) -> None:
    text = request["params"]["arguments"]["text"]
    await say(socket, request, {"content": [{"type": "text", "text": text}]})


@asynccontextmanager
async def serving(call: Call = echo, *, secured: ssl.SSLContext | None = None) -> AsyncIterator[Served]:
    """Serve one tool, whose calls do what is asked for."""
    served = Served()

    async def serve(request: WebSocketRequest) -> None:
        served.opened.append(request)
        socket = await request.accept(subprotocol=request.proposed_subprotocols[0])
        try:
            while True:
                message = json.loads(await socket.get_message())
                match message.get("method"):
                    case "initialize":
                        version = message["params"]["protocolVersion"]
                        about = {"name": "raw", "version": "0"}
                        said = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
                        await say(socket, message, said)
                    case "tools/list":
                        await say(socket, message, {"tools": [TOOL]})
                    case "tools/call":
                        await call(socket, message)
        except ConnectionClosed:
            pass
        finally:
            served.why_closed.append(socket.closed)

    async with trio.open_nursery() as nursery:
        server = await nursery.start(partial(serve_websocket, serve, "127.0.0.1", 0, secured))
        scheme = "ws" if secured is None else "wss"
        served.url = f"{scheme}://127.0.0.1:{server.port}/a/b?c=d"
        yield served
        nursery.cancel_scope.cancel()


class Served:
    """Requests that a server has received."""

    def __init__(self) -> None:
        self.url = ""
        self.opened: list[WebSocketRequest] = []
        self.why_closed: list[Any] = []


async def test_a_websocket_is_opened_as_the_entry_says_and_closed_with_a_word(tmp_path: Path) -> None:
    helper = """printf '{"Authorization": "Bearer fresh"}'"""
    async with serving() as served:
        config = far(served.url, headers={"authorization": "Bearer stale", "X-Team": "red"}, headers_helper=helper)
        async with session(tmp_path, config) as one:
            assert await one.call("echo", text="héllo") == "héllo"
            (state,) = one.servers.states()
        with trio.fail_after(BOUND_S):
            await until(lambda: bool(served.why_closed))

    assert (state.status, state.type) == (S.CONNECTED, "ws")
    (request,) = served.opened
    headers = {name: value for name, value in request.headers if name in {b"authorization", b"x-team"}}
    assert headers == {b"authorization": b"Bearer fresh", b"x-team": b"red"}
    assert request.path == "/a/b?c=d"
    assert request.proposed_subprotocols == ("mcp",)
    assert served.why_closed[0].code == 1000


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (1001, "going home", "it closed the connection (code 1001: going home)"),
        (1000, None, "it closed the connection (code 1000)"),
    ],
)
async def test_a_close_ends_calls_at_once_and_another_websocket_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str | None, words: str
) -> None:
    monkeypatch.setattr("greenroom.mcp._websocket.PING_S", math.inf)  # which would notice as well, only later

    async def close(socket: WebSocketConnection, request: dict[str, Any]) -> None:
        if len(served.opened) > 1:
            await echo(socket, request)
        else:
            await socket.aclose(code, reason)

    async with serving(close) as served, session(tmp_path, far(served.url)) as one:
        (tool,) = one.servers.tools
        with pytest.raises(ToolError) as caught:
            await one.call_tool(tool, text="in")
        # The next one waits for the new connection.
        assert await one.call_tool(tool, text="again") == "again"

    assert str(caught.value).endswith(f"it was lost while it ran echo: {words}")


async def test_what_a_server_may_not_send_ends_the_connection_and_is_named(tmp_path: Path) -> None:
    async def flood(socket: WebSocketConnection, request: dict[str, Any]) -> None:
        await socket.send_message("no message")
        await socket.send_message(b"\xff\x00")
        if request["params"]["arguments"]["text"] == "noise":
            await echo(socket, request)
        else:
            await socket.send_message("x" * (MESSAGE_BYTES + 1))

    async with serving(flood) as served, session(tmp_path, far(served.url)) as one:
        (tool,) = one.servers.tools
        assert await one.call_tool(tool, text="noise") == "noise"
        with pytest.raises(ToolError, match=f"it sent a message of more than {MESSAGE_BYTES} bytes"):
            await one.call_tool(tool, text="flood")


@pytest.mark.usefixtures("at_once")
async def test_a_network_that_swallows_everything_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers the ping, and no packet says so."""
    monkeypatch.setattr("greenroom.mcp._websocket.PING_S", 0.3)

    async def swallow(_: int | None) -> bytes:
        await trio.sleep_forever()
        raise AssertionError

    async def hang(socket: WebSocketConnection, request: dict[str, Any]) -> None:
        del request
        socket._stream.receive_some = swallow  # type: ignore[method-assign, assignment]
        await trio.sleep_forever()

    async with serving(hang) as served, session(tmp_path, far(served.url)) as one:
        (tool,) = one.servers.tools
        with pytest.raises(ToolError, match=r"it did not answer a ping within 0\.3 s"):
            await one.call_tool(tool, text="in")


async def test_a_websocket_that_wants_a_login_is_not_asked_again(tmp_path: Path) -> None:
    async with answering(401, "Unauthorized") as (url, asked):
        async with session(tmp_path, far(url.replace("http:", "ws:"))) as one:
            (state,) = one.servers.states()

    assert state.status is S.NEEDS_AUTH
    assert state.why == "it requires a login: it answered HTTP 401; send a token as a header or by a headersHelper"
    assert len(asked) == 1


@pytest.mark.usefixtures("at_once")
async def test_an_address_without_a_websocket_is_tried_and_given_up(tmp_path: Path) -> None:
    nobody = f"ws://127.0.0.1:{free_port()}/mcp"
    async with answering(404, "Not Found") as (url, asked):
        async with session(tmp_path, far(url.replace("http:", "ws:"))) as one:
            (state,) = one.servers.states()
        async with session(tmp_path, far(nobody)) as one:
            (other,) = one.servers.states()

    assert (state.status, state.why) == (S.FAILED, "the websocket handshake failed: it answered HTTP 404")
    assert len(asked) == 3
    assert other.status is S.FAILED
    assert "refused" in other.why or "failed" in other.why


@pytest.mark.usefixtures("at_once")
async def test_an_answer_that_breaks_the_protocol_is_said_in_words(tmp_path: Path) -> None:
    switching = "Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: of-another-key"
    async with (
        answering(101, switching) as (url, _),
        session(tmp_path, far(url.replace("http:", "ws:"))) as one,
    ):
        (state,) = one.servers.states()

    assert (state.status, state.why) == (S.FAILED, "the websocket handshake failed: its answer violates the protocol")


@pytest.mark.usefixtures("at_once")
async def test_a_server_that_never_opens_the_websocket_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greenroom.mcp._websocket.CONNECT_S", 0.2)

    async def listen(stream: trio.SocketStream) -> None:
        async with stream:
            while await stream.receive_some():
                pass

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, listen, 0, host="127.0.0.1"))
        config = far(f"ws://127.0.0.1:{listener.socket.getsockname()[1]}/")
        async with session(tmp_path, config, settings=McpSettings(start_timeout_s=5)) as one:
            (state,) = one.servers.states()
        nursery.cancel_scope.cancel()

    assert (state.status, state.why) == (S.FAILED, "the websocket handshake timed out after 0.2 s")


@pytest.mark.usefixtures("at_once")
async def test_a_websocket_over_tls_needs_a_certificate_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, authority = certificate(tmp_path)
    async with serving(secured=context) as served:
        async with session(tmp_path, far(served.url)) as one:
            (refused,) = one.servers.states()
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        async with session(tmp_path, far(served.url)) as one:
            assert await one.call("echo", text="safe") == "safe"

    assert refused.status is S.FAILED
    assert "no secure connection" in refused.why
    assert "certificate verify failed" in refused.why


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return what a server on the loopback interface has, and the file that makes it trusted."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = folder / "key.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    secret.write_bytes(key.private_bytes(*form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, secret)
    return context, path


async def test_flood_over_a_websocket_leaves_the_last_of_each_kind() -> None:
    waiting = _WaitingFrames()
    answer = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'

    def progress(token: int, number: int) -> bytes:
        params = {"progressToken": token, "progress": number}
        return json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).encode()

    for number in range(1_000):
        for token in (1, 2):
            waiting.put(progress(token, number))
            assert waiting.has_room
    waiting.put(answer)
    waiting.put(progress(1, 1_000))
    waiting.close()
    taken = []
    while (frame := await waiting.take()) is not None:
        taken.append(frame)

    assert taken == [
        *(progress(token, number) for number in range(996, 1_000) for token in (1, 2) if (token, number) != (1, 996)),
        answer,
        progress(1, 1_000),
    ]


async def test_messages_that_nobody_reads_stay_on_the_network() -> None:
    waiting = _WaitingFrames()

    waiting.put(b"x" * MESSAGE_BYTES)
    assert not waiting.has_room
    await waiting.take()
    assert waiting.has_room
    for _ in range(64):
        waiting.put(b"{}")
    assert not waiting.has_room
