"""Login at a server by a person with a browser (OAuth's authorization code with PKCE), and logout.

Rule 1: stored tokens stay until there are new ones. Rule 2: a server that hangs ends the login within seconds; a person
has minutes. Rule 3: no message holds a secret.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, final
from urllib.parse import parse_qs, urlsplit

import attrs
import trio

from greenroom.core import InternalError, UsageError
from greenroom.core.ports import Ports
from greenroom.mcp._callback import Callback, open_callback
from greenroom.mcp._configs import Http, ServerConfig
from greenroom.mcp._login import NOT_LOGGED_IN, Login, browser_login
from greenroom.mcp._mcp_errors import LoginFailed, told
from greenroom.mcp._peer import ConnectionEnd
from greenroom.mcp._sdk import SdkPeers
from greenroom.mcp._tokens import TokenFile, token_file
from greenroom.tools import SystemProcesses

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

Show: TypeAlias = Callable[[str], Awaitable[None]]
"""Shows a person the URL to open; cancelled as soon as the browser has come back."""
PERSON_S: Final = 300.0
"""Time limit for the person, in seconds."""
SERVER_S: Final = 30.0
"""Time limit for the servers, in seconds, before and after the person."""
_CODE: Final = re.compile(r"[A-Za-z0-9_]{1,60}")


@final
@attrs.frozen(kw_only=True)
class LoggedIn:
    """The result of a login."""

    path: Path | None
    """File of the tokens; None if the server required no login."""
    tools: int
    """Number of tools of the server."""


async def log_in(
    config: ServerConfig, show: Show, *, cwd: Path, tokens: Path, ports: Ports, programs: SystemProcesses | None = None
) -> LoggedIn:
    """Log in at a server and store the tokens for later sessions. On cancellation, nothing is stored and all sockets
    are closed.

    Args:
        config: The server, of type `http` or `sse`.
        show: Shows a person the URL.
        cwd: The folder of the project.
        tokens: The folder of the tokens.
        ports: The disk and the clock.
        programs: Starts its `headersHelper`.

    Raises:
        UsageError: The server does not support login with a browser, or its `callbackPort` is taken.
        LoginFailed: The server, its authorization server or the person refused.
    """
    way = _checked(config)
    port = way.oauth.callback_port if way.oauth is not None else None
    kept: list[TokenFile] = []
    ending = ConnectionEnd()
    errors: list[BaseException] = []
    tools = 0
    async with open_callback(port) as callback:
        scope = trio.CancelScope(deadline=trio.current_time() + SERVER_S)
        visit = _Visit(callback, show, scope)

        async def open_login(way: Http, file: TokenFile | None) -> Login | None:
            await trio.lowlevel.checkpoint()
            if file is None or any(name.lower() == "authorization" for name in way.headers):
                raise LoginFailed(config.name, "its headersHelper sets an Authorization header")
            return browser_login(way, file, callback.uri, visit.go, visit.come_back, partial(kept.append, file))

        peers = SdkPeers(cwd=cwd, programs=programs, ports=ports, tokens=tokens, open_login=open_login)
        try:
            with scope:
                async with peers(config, ending) as peer:
                    tools = len(await peer.list_tools())
        except* Exception as group:  # the boundary: servers are foreign programs
            errors.append(group)
            if group.subgroup(InternalError) is not None:
                raise
    if scope.cancelled_caught:
        raise LoginFailed(config.name, visit.too_late)
    if errors:
        raise LoginFailed(config.name, ending.why.removeprefix(NOT_LOGGED_IN) or told(errors[0])) from errors[0]
    return LoggedIn(path=kept[0].path if kept else None, tools=tools)


async def log_out(config: ServerConfig, *, tokens: Path, ports: Ports) -> Path | None:
    """Remove the stored tokens of a server, whatever the file holds; return its path, None if there was none.

    Raises:
        UsageError: The server is not remote.
        LoginFailed: The file cannot be removed.
    """
    if not isinstance(config.way, Http):
        raise UsageError(f"the MCP server {config.name!r} is of type {config.type}, which has no login")
    path = token_file(tokens, config.way.url, ports).path
    try:
        await ports.blocking.run(path.unlink)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise LoginFailed(config.name, f"cannot remove {path}: {problem.strerror}") from None
    return path


def _checked(config: ServerConfig) -> Http:
    way, name = config.way, config.name
    if not isinstance(way, Http) or way.dialect == "ws":
        raise UsageError(
            f"the MCP server {name!r} is of type {config.type}; only http and sse support login with a browser"
        )
    if any(name.lower() == "authorization" for name in way.headers):
        raise UsageError(f"the entry of the MCP server {name!r} has an Authorization header; remove it first")
    if way.oauth is not None and way.oauth.client_secret:
        raise UsageError(f"the MCP server {name!r} uses the clientSecret of its entry; no login is needed")
    return way


@final
class _Visit:
    """A person's way to the authorization server, and back."""

    def __init__(self, callback: Callback, show: Show, scope: trio.CancelScope) -> None:
        self._callback = callback
        self._show = show
        self._scope = scope
        self._address = ""
        self._is_out = False

    @property
    def too_late(self) -> str:
        """The message for an expired time limit."""
        if self._is_out:
            return f"nobody logged in within {PERSON_S / 60:g} minutes"
        return f"the server did not answer within {SERVER_S:g} s"

    async def go(self, address: str) -> None:
        """Receive the URL that the person has to open."""
        from mcp.client.auth import OAuthFlowError

        await trio.lowlevel.checkpoint()
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not address.isprintable() or " " in address:
            raise OAuthFlowError("its authorization server must have an http or https URL")
        self._address = address
        self._callback.expect(parse_qs(parts.query).get("state", [""])[0])

    async def come_back(self) -> AuthorizationCodeResult:
        """Show the URL, and wait until the browser comes back."""
        from mcp.client.auth import OAuthFlowError
        from mcp.shared.auth import AuthorizationCodeResult

        self._is_out, self._scope.deadline = True, trio.current_time() + PERSON_S
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._show, self._address)
            values = await self._callback.wait()
            nursery.cancel_scope.cancel("the browser has come back")
        self._is_out, self._scope.deadline = False, trio.current_time() + SERVER_S
        if "code" not in values:
            said = values["error"]
            raise OAuthFlowError("it was refused" + (f" ({said})" if _CODE.fullmatch(said) else ""))
        return AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))
