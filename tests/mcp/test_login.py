"""Servers that want a login, over real sockets: credentials, kept tokens, a helper that gives headers; and no secret on record."""

from __future__ import annotations

import json
import stat
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.ports import Ports
from greenroom.mcp import BadTokens, Http, ServerConfig, ServerStatus
from greenroom.mcp._configs import OAuth
from greenroom.mcp._tokens import token_file
from greenroom.tools import ToolError
from tests.mcp.real import BOUND_S, free_port, on_port, on_record, session, until, wait_for_port

pytestmark = [
    pytest.mark.slow,  # a Python that imports the SDK takes a second to start
    pytest.mark.filterwarnings("ignore:Async generator 'httpx?2.*' was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Async generator 'httpcore2.*' was garbage collected:ResourceWarning"),
    pytest.mark.usefixtures("collected_here"),
]
GUARDED = Path(__file__).with_name("guarded.py")
SECRET = "s3cret-of-the-client"


@attrs.define(eq=False)
class Issuer:
    """An authorization server: gives a new token for the right secret, or for the last refresh token."""

    accepted: Path
    """Where the server that is guarded looks tokens up."""
    url: str = ""
    given: int = 0
    asked: list[tuple[str, str]] = attrs.field(factory=list)
    """The paths that were asked for, and what with."""
    lasts_s: int = 3_600

    def answer(self, path: str, headers: dict[str, str], body: str) -> tuple[int, Any]:
        self.asked.append((path, body))
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if path.startswith("/.well-known/"):
            return 200, {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "response_types_supported": ["code"],
            }
        if path != "/as/token":
            return 404, {}
        by_secret = b64decode(headers.get("authorization", "Basic ").partition(" ")[2]).decode() == f"me:{SECRET}"
        by_token = form.get("refresh_token") == f"refresh-{self.given}"
        if not (by_secret if form["grant_type"] == "client_credentials" else by_token):
            return 400, {"error": "invalid_client", "error_description": f"you said {body} and {headers}"}
        self.given += 1
        self.accepted.write_text(f"access-{self.given}", encoding="utf-8")
        return 200, self.tokens()

    def tokens(self) -> dict[str, Any]:
        return {
            "access_token": f"access-{self.given}",
            "refresh_token": f"refresh-{self.given}",
            "token_type": "Bearer",
            "expires_in": self.lasts_s,
        }

    async def serve(self, stream: trio.SocketStream) -> None:
        async with stream:
            request = b""
            while b"\r\n\r\n" not in request:
                request += await stream.receive_some()
            head, _, body = request.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in lines)}
            while len(body) < int(headers.get("content-length", "0")):
                body += await stream.receive_some()
            status, values = self.answer(first.split()[1], headers, body.decode())
            said = json.dumps(values).encode()
            await stream.send_all(
                f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(said)}\r\n"
                "connection: close\r\n\r\n".encode()
                + said
            )


@asynccontextmanager
async def issuing(folder: Path) -> AsyncIterator[tuple[Issuer, str]]:
    """Run an authorization server, and the server that it guards; gives the first, and the address of the second."""
    issuer = Issuer(folder / "accepted")
    issuer.accepted.write_text("")
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, issuer.serve, 0, host="127.0.0.1"))
        issuer.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/as"
        with on_port(GUARDED, issuer.url, str(issuer.accepted)) as port:
            await wait_for_port(port)
            yield issuer, f"http://127.0.0.1:{port}/mcp"
        nursery.cancel_scope.cancel()


def far(url: str, **more: Any) -> ServerConfig:
    return ServerConfig(name="far", way=Http(url=url, **more))


def credentials(issuer: Issuer, secret: str = SECRET) -> OAuth:
    return OAuth(client_id="me", client_secret=secret, issuer=issuer.url, scope="read")


def kept_in(folder: Path, url: str) -> Path:
    return token_file(folder, url, Ports()).path


# --- credentials --------------------------------------------------------------------------------------------------------


async def test_a_program_logs_in_with_its_credentials_and_keeps_the_tokens(tmp_path: Path) -> None:
    tokens = tmp_path / "home" / "mcp-tokens"
    async with issuing(tmp_path) as (issuer, url):
        async with session(tmp_path, far(url, oauth=credentials(issuer)), tokens=tokens) as one:
            assert one.servers.states()[0].status is ServerStatus.CONNECTED
            assert await one.call("echo", text="in") == "in"
            issuer.accepted.write_text("")  # the token is worth nothing any more: another one is fetched
            assert await one.call("echo", text="again") == "again"
            told = on_record(one)
        async with session(tmp_path, far(url, oauth=credentials(issuer)), tokens=tokens) as one:
            assert await one.call("echo", text="kept") == "kept"

    path = kept_in(tokens, url)
    assert issuer.given == 2  # the second session had the tokens of the first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o700
    assert json.loads(path.read_text())["tokens"]["access_token"] == "access-2"
    assert SECRET not in path.read_text()
    assert not any(secret in told for secret in (SECRET, "access-", "refresh-"))


async def test_credentials_that_are_refused_need_a_login_and_are_not_shown(tmp_path: Path) -> None:
    async with (
        issuing(tmp_path) as (issuer, url),
        session(tmp_path, far(url, oauth=credentials(issuer, "wrong-s3cret"))) as one,
    ):
        (state,) = one.servers.states()
        told = on_record(one)

    assert state.status is ServerStatus.NEEDS_AUTH
    assert state.why == "login failed: Token exchange failed (400): invalid_client"
    assert "wrong-s3cret" not in told
    assert b64encode(b"me:wrong-s3cret").decode() not in told


async def test_a_secret_goes_to_its_own_authorization_server_alone(tmp_path: Path) -> None:
    async with issuing(tmp_path) as (issuer, url):
        oauth = attrs.evolve(credentials(issuer), issuer="http://127.0.0.1:9/other")
        async with session(tmp_path, far(url, oauth=oauth)) as one:
            (state,) = one.servers.states()

    assert state.status is ServerStatus.NEEDS_AUTH
    assert "/as/token" not in {path for path, _ in issuer.asked}


# --- kept tokens --------------------------------------------------------------------------------------------------------


def keep(path: Path, mode: int = 0o600, **values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))
    path.chmod(mode)


async def test_kept_tokens_are_used_and_renewed_when_their_time_is_up(tmp_path: Path) -> None:
    async with issuing(tmp_path) as (issuer, url):
        path = kept_in(tmp_path / "tokens", url)
        server = issuer.answer("/.well-known/oauth-authorization-server", {}, "")[1]
        # Two hours old, and good for one: it is renewed before anything is asked.
        keep(path, tokens=issuer.tokens(), obtained_s=Ports().clock.wall().timestamp() - 7_200, server=server)
        values = json.loads(path.read_text())
        async with session(tmp_path, far(url), tokens=tmp_path / "tokens") as one:
            without_client = one.servers.states()[0]
        keep(path, **values, client={"client_id": "me"})
        async with session(tmp_path, far(url), tokens=tmp_path / "tokens") as one:
            assert await one.call("echo", text="in") == "in"
            told = on_record(one)

    assert without_client.status is ServerStatus.NEEDS_AUTH
    assert json.loads(path.read_text())["tokens"]["refresh_token"] == "refresh-1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "access-" not in told


@pytest.mark.parametrize(
    ("mode", "values", "words"),
    [
        (0o640, {"tokens": {"access_token": "t0ken"}}, "others can read or change it; run chmod 600"),
        (0o600, {"tokens": {"access_token": ["t0ken"]}}, "'tokens' violates OAuth"),
        (0o600, {"url": "http://other", "tokens": {"access_token": "t0ken"}}, "is not for http://127.0.0.1"),
    ],
)
async def test_tokens_that_cannot_be_used_are_said_to_be_so(
    tmp_path: Path, mode: int, values: dict[str, Any], words: str
) -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    keep(kept_in(tmp_path, url), mode, **values)
    async with session(tmp_path, far(url), tokens=tmp_path) as one:
        (state,) = one.servers.states()
        told = on_record(one)

    assert state.status is ServerStatus.NEEDS_AUTH
    assert words in state.why
    assert "t0ken" not in told


async def test_where_a_secret_logs_in_no_person_is_sent_to_a_browser(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    keep(kept_in(tmp_path, url), 0o640)
    oauth = OAuth(client_id="me", client_secret=SECRET, issuer="http://127.0.0.1:9/as")
    async with session(tmp_path, far(url, oauth=oauth), tokens=tmp_path) as one:
        (state,) = one.servers.states()

    assert state.status is ServerStatus.NEEDS_AUTH
    assert state.why.endswith("others can read or change it; run chmod 600")


async def test_without_anything_to_log_in_with_it_is_said_what_to_do(tmp_path: Path) -> None:
    async with issuing(tmp_path) as (_, url), session(tmp_path, far(url), tokens=tmp_path / "tokens") as one:
        (state,) = one.servers.states()

    assert state.status is ServerStatus.NEEDS_AUTH
    assert "run `greenroom mcp login far`, send a token as a header, give its entry oauth with clientId" in state.why
    assert str(kept_in(tmp_path / "tokens", url)) in state.why
    assert not (tmp_path / "tokens").exists()


@given(st.text(), st.binary(max_size=60))
def test_a_file_of_tokens_has_one_plain_name_for_each_address(tail: str, content: bytes) -> None:
    folder = Path("/tokens")
    path = token_file(folder, f"https://tracker.example/mcp{tail}", Ports()).path

    assert path.parent == folder
    assert path.name.startswith("tracker.example-mcp")
    assert path.name.isascii()
    assert path == token_file(folder, f"https://tracker.example/mcp{tail}", Ports()).path
    assert path != token_file(folder, f"https://tracker.example/mcp{tail}x", Ports()).path


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
async def test_a_file_that_holds_no_object_is_refused(tmp_path: Path, content: str) -> None:
    file = token_file(tmp_path, "http://a", Ports())
    assert await file.read() == {}
    file.path.write_text(content)
    file.path.chmod(0o600)
    with pytest.raises(BadTokens):
        await file.read()


# --- a helper -----------------------------------------------------------------------------------------------------------


async def test_a_helper_gives_headers_anew_for_each_connection(tmp_path: Path) -> None:
    """A token that is worth nothing any more is replaced by the next one, without anybody."""
    async with issuing(tmp_path) as (issuer, url):
        issuer.accepted.write_text("one")
        helper = tmp_path / "helper.sh"
        helper.write_text(
            'echo "$GREENROOM_MCP_SERVER_NAME $CLAUDE_CODE_MCP_SERVER_URL" >> ran\n'
            'printf \'{"Authorization": "Bearer %s"}\' "$(cat accepted)"\n'
        )
        config = far(url, headers={"authorization": "Bearer stale"}, headers_helper=f"sh {helper}")
        async with session(tmp_path, config) as one:
            assert await one.call("echo", text="in") == "in"
            issuer.accepted.write_text("two")
            (echo,) = one.servers.tools
            with trio.fail_after(BOUND_S):
                with pytest.raises(ToolError, match="it was lost while it ran echo: it requires a login"):
                    await one.call_tool(echo, text="refused")
                await until(lambda: one.servers.states()[0].status is ServerStatus.CONNECTED)
            assert await one.call("echo", text="again") == "again"
            told = on_record(one)

    assert (tmp_path / "ran").read_text().splitlines() == [f"far {url}"] * 2
    assert "Bearer" not in told


@pytest.mark.parametrize(
    ("helper", "words"),
    [
        ("echo 'no luck' >&2; exit 3", "its headersHelper failed with exit code 3: no luck"),
        ("echo s3cret", "its headersHelper must print a JSON object"),
        ("echo '[]'", "its headersHelper must print an object of strings"),
        ("echo '{\"a\": 1}'", "its headersHelper must print an object of strings"),
        (r"""printf '%s' '{"a": "\u00e9"}'""", "its headersHelper printed characters that are not allowed in a header"),
    ],
)
@pytest.mark.usefixtures("at_once")
async def test_a_helper_that_fails_is_the_reason(tmp_path: Path, helper: str, words: str) -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    async with session(tmp_path, far(url, headers_helper=helper)) as one:
        (state,) = one.servers.states()

    assert state.status is ServerStatus.FAILED
    assert words in state.why
    assert "s3cret" not in state.why
