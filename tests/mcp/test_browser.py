"""Logging in with a browser: a real server that is its own authorization server, and a browser that is an HTTP client."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
import pytest
import trio

from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.mcp import Http, LoggedIn, LoginFailed, ServerConfig, ServerStatus, Stdio, log_in, log_out
from greenroom.mcp._callback import open_callback
from greenroom.mcp._configs import OAuth
from greenroom.mcp._tokens import token_file
from tests.mcp.real import AUTHORIZING, BOUND_S, free_port, on_port, on_record, session, wait_for_port

pytestmark = [
    pytest.mark.slow,  # a Python that imports the SDK takes a second to start
    pytest.mark.filterwarnings("ignore:Async generator 'httpx?2.*' was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Async generator 'httpcore2.*' was garbage collected:ResourceWarning"),
    pytest.mark.usefixtures("collected_here"),
]
S = ServerStatus


@attrs.define
class Place:
    """A server, a folder that says what it does, and a person with a browser."""

    folder: Path
    port: int
    seen: list[str] = attrs.field(factory=list)
    """The addresses that the person was shown."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def tokens(self) -> Path:
        return self.folder / "home" / "mcp-tokens"

    @property
    def file(self) -> Path:
        return token_file(self.tokens, self.url, Ports()).path

    def config(self, **oauth: Any) -> ServerConfig:
        return ServerConfig(name="far", way=Http(url=self.url, oauth=OAuth(**oauth) if oauth else None))

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    async def browse(self, address: str) -> None:
        """Go to an address, and wherever that leads."""
        import httpx2

        self.seen.append(address)
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as client:
            answer = await client.get(address)
            assert answer.status_code == 200
            assert "You can close this page" in answer.text

    async def log_in(self, **oauth: Any) -> LoggedIn:
        with trio.fail_after(BOUND_S):
            return await log_in(self.config(**oauth), self.browse, cwd=self.folder, tokens=self.tokens, ports=Ports())


@asynccontextmanager
async def authorizing(folder: Path) -> AsyncIterator[Place]:
    with on_port(AUTHORIZING, str(folder)) as port:
        await wait_for_port(port)
        yield Place(folder, port)


async def test_a_person_logs_in_and_sessions_have_the_tokens(tmp_path: Path) -> None:
    async with authorizing(tmp_path) as far:
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            (before,) = one.servers.states()
        came_to = await far.log_in()
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            assert await one.call("echo", text="in") == "in"
            told = on_record(one)
        gone = await log_out(far.config(), tokens=far.tokens, ports=Ports())
        again = await log_out(far.config(), tokens=far.tokens, ports=Ports())
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            (after,) = one.servers.states()

    assert (before.status, after.status) == (S.NEEDS_AUTH, S.NEEDS_AUTH)
    assert "it requires a login: it answered HTTP 401; run `greenroom mcp login far`" in before.why
    assert came_to == LoggedIn(path=far.file, tools=1)
    (client,) = map(json.loads, far.lines("clients"))
    assert (client["client_name"], client["application_type"]) == ("greenroom", "native")
    (address,) = far.seen
    asked = parse_qs(urlsplit(address).query)
    assert asked["redirect_uri"] == client["redirect_uris"]
    assert asked["redirect_uri"][0].startswith("http://localhost:")
    assert asked["code_challenge_method"] == ["S256"]
    assert (gone, again) == (far.file, None)
    assert not any(secret in told for secret in far.lines("given")[0].split())


async def test_what_is_kept_is_for_nobody_else_and_is_renewed(tmp_path: Path) -> None:
    async with authorizing(tmp_path) as far:
        (tmp_path / "short").touch()
        await far.log_in()
        mode, before = stat.S_IMODE(far.file.stat().st_mode), json.loads(far.file.read_text())
        await trio.sleep(max(0.0, before["obtained_s"] + 1.1 - Ports().clock.wall().timestamp()))
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            assert await one.call("echo", text="in") == "in"

    after = json.loads(far.file.read_text())
    assert mode == stat.S_IMODE(far.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(far.tokens.stat().st_mode) == 0o700
    given = [line.split() for line in far.lines("given")]
    assert [before["tokens"]["access_token"], before["tokens"]["refresh_token"]] == given[0]
    assert [after["tokens"]["access_token"], after["tokens"]["refresh_token"]] in given[1:]
    assert len(far.seen) == 1  # nobody was asked again


async def test_tokens_that_are_not_taken_any_more_name_the_command(tmp_path: Path) -> None:
    async with authorizing(tmp_path) as far:
        await far.log_in()
        (tmp_path / "forget").touch()
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            (state,) = one.servers.states()

    assert state.status is S.NEEDS_AUTH
    assert state.why == (
        f"login failed: the tokens of {far.file} are no longer accepted; run `greenroom mcp login far`"
    )


async def test_a_client_that_is_known_comes_back_to_its_port_and_asks_for_its_scopes(tmp_path: Path) -> None:
    port = free_port()
    known = {"client_id": "me", "redirect_uris": [f"http://localhost:{port}/callback"], "scope": "read write"}
    (tmp_path / "known-client").write_text(json.dumps({**known, "token_endpoint_auth_method": "none"}))
    async with authorizing(tmp_path) as far:
        await far.log_in(client_id="me", callback_port=port, scope="read write")
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            (state,) = one.servers.states()

    assert state.status is S.CONNECTED
    assert far.lines("clients") == []  # nothing was registered
    assert far.lines("asked") == ["read write"]
    assert json.loads(far.file.read_text())["client"]["client_id"] == "me"


async def test_a_login_that_is_refused_keeps_what_there_was(tmp_path: Path) -> None:
    async with authorizing(tmp_path) as far:
        await far.log_in()
        before = far.file.read_bytes()
        (tmp_path / "refuse").touch()
        with pytest.raises(LoginFailed) as caught:
            await far.log_in()

    assert caught.value.why == "it was refused (access_denied)"
    assert far.file.read_bytes() == before


async def test_a_damaged_file_is_one_line_and_a_login_writes_it_anew(tmp_path: Path) -> None:
    async with authorizing(tmp_path) as far:
        far.tokens.mkdir(parents=True)
        far.file.write_text("{")
        far.file.chmod(0o600)
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            (state,) = one.servers.states()
        await far.log_in()
        async with session(tmp_path, far.config(), tokens=far.tokens) as one:
            (after,) = one.servers.states()

    assert state.status is S.NEEDS_AUTH
    assert state.why == f"{far.file} is not valid JSON; rewrite or remove it; or run `greenroom mcp login far`"
    assert after.status is S.CONNECTED


async def test_who_gives_up_in_the_middle_leaves_no_socket_and_no_file(tmp_path: Path) -> None:
    async with authorizing(tmp_path) as far:
        shown: list[str] = []

        async def show(address: str) -> None:
            shown.append(address)
            scope.cancel()
            await trio.sleep_forever()

        with trio.fail_after(BOUND_S), trio.CancelScope() as scope:
            await log_in(far.config(), show, cwd=tmp_path, tokens=far.tokens, ports=Ports())

    back = urlsplit(parse_qs(urlsplit(shown[0]).query)["redirect_uri"][0])
    for host in ("127.0.0.1", "::1"):
        with pytest.raises(OSError, match=r"."):
            await trio.open_tcp_stream(host, back.port or 0)
    assert not far.tokens.exists()


async def test_a_person_has_minutes_and_a_server_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with authorizing(tmp_path) as far:
        monkeypatch.setattr("greenroom.mcp._browser.PERSON_S", 0.3)
        with pytest.raises(LoginFailed, match=r"nobody logged in within 0\.005 minutes"), trio.fail_after(BOUND_S):
            await log_in(far.config(), sleeping, cwd=tmp_path, tokens=far.tokens, ports=Ports())
    monkeypatch.setattr("greenroom.mcp._browser.SERVER_S", 0.3)
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, swallow, 0, host="127.0.0.1"))
        silent = ServerConfig(name="far", way=Http(url=f"http://127.0.0.1:{listener.socket.getsockname()[1]}/mcp"))
        with pytest.raises(LoginFailed, match=r"the server did not answer within 0\.3 s"), trio.fail_after(BOUND_S):
            await log_in(silent, sleeping, cwd=tmp_path, tokens=far.tokens, ports=Ports())
        nursery.cancel_scope.cancel()


async def sleeping(_: str) -> None:
    await trio.sleep_forever()


async def swallow(stream: trio.SocketStream) -> None:
    async with stream:
        await trio.sleep_forever()


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (Stdio(command="x"), "is of type stdio; only http and sse support login with a browser"),
        (Http(url="ws://h", dialect="ws"), "is of type ws"),
        (Http(url="http://h", headers={"authorization": "s3cret"}), "has an Authorization header; remove it first"),
        (
            Http(url="http://h", oauth=OAuth(client_id="c", client_secret="s3cret", issuer="http://i")),
            "no login is needed",
        ),
    ],
)
async def test_servers_without_such_a_login_say_why(tmp_path: Path, way: Stdio | Http, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        await log_in(ServerConfig(name="far", way=way), sleeping, cwd=tmp_path, tokens=tmp_path, ports=Ports())

    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


# --- where the browser comes back to -----------------------------------------------------------------------------------


async def ask(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    stream = await trio.open_tcp_stream(host, port)
    async with stream:
        await stream.send_all(request)
        await stream.send_eof()
        answer = b""
        while chunk := await stream.receive_some():
            answer += chunk
        return answer


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /callback?code=x&state=other HTTP/1.1", b"404"),
        (b"GET /callback?code=x HTTP/1.1", b"404"),
        (b"GET /callback?state=mine HTTP/1.1", b"404"),
        (b"GET /favicon.ico?code=x&state=mine HTTP/1.1", b"404"),
        (b"GET //[x?code=x&state=mine HTTP/1.1", b"404"),
        (b"GET /callback?state=m\xc3\xa9&code=x HTTP/1.1", b"404"),
        (b"POST /callback?code=x&state=mine HTTP/1.1", b""),
        (b"\x16\x03\x01", b""),
        (b"x" * 20_000, b""),
        (b"", b""),
    ],
)
async def test_strangers_change_nothing(request_line: bytes, status: bytes) -> None:
    async with open_callback() as callback:
        callback.expect("mine")
        port = urlsplit(callback.uri).port or 0
        with trio.fail_after(BOUND_S):
            try:
                answer = await ask(port, request_line + b"\r\n\r\n")
            except trio.BrokenResourceError:
                answer = b""
            assert answer.split(b" ")[1:2] == ([status] if status else [])
            assert b"200 OK" in await ask(port, b"GET /callback?code=c%20d&state=mine&iss=i HTTP/1.1\r\n\r\n")
            assert await callback.wait() == {"code": "c d", "state": "mine", "iss": "i"}
            assert b"404" in await ask(port, b"GET /callback?code=other&state=mine HTTP/1.1\r\n\r\n")
            assert (await callback.wait())["code"] == "c d"


async def test_before_a_login_has_begun_nobody_is_heard() -> None:
    async with open_callback() as callback:
        port = urlsplit(callback.uri).port or 0
        assert b"404" in await ask(port, b"GET /callback?code=x&state= HTTP/1.1\r\n\r\n")


async def test_a_port_that_is_taken_is_said_to_be_so() -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with listener:
        with pytest.raises(UsageError, match=rf"cannot listen on the port {port} \(callbackPort\)"):
            async with open_callback(port):
                pass
