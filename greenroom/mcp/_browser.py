"""Logging in at a server with a person at a browser (OAuth's authorization code with PKCE), and forgetting that again.

Rule 1: what was kept before stays until there are new tokens. Rule 2: a server that hangs ends the login; a person has minutes.
Rule 3: no message holds a secret.
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

from greenroom.core import InternalError, Ports, UsageError
from greenroom.mcp._callback import Callback, open_callback
from greenroom.mcp._configs import Http, ServerConfig
from greenroom.mcp._errors import LoginFailed, told
from greenroom.mcp._login import NOT_LOGGED_IN, Login, browser_login
from greenroom.mcp._peer import Ending
from greenroom.mcp._sdk import SdkPeers
from greenroom.mcp._stdio import Programs
from greenroom.mcp._tokens import TokenFile, token_file

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

Show: TypeAlias = Callable[[str], Awaitable[None]]
"""Shows a person the address to go to; cancelled as soon as the browser has come back."""
PERSON_S: Final = 300.0
"""How long a person has, in seconds."""
SERVER_S: Final = 30.0
"""How long the servers may take, in seconds, before and after."""
_CODE: Final = re.compile(r"[A-Za-z0-9_]{1,60}")


@final
@attrs.frozen(kw_only=True)
class LoggedIn:
    """What a login came to."""

    path: Path | None
    """Where the tokens are kept; None where the server wanted no login."""
    tools: int
    """How many tools the server has."""


async def log_in(
    config: ServerConfig, show: Show, *, cwd: Path, tokens: Path, ports: Ports, programs: Programs | None = None
) -> LoggedIn:
    """Log in at a server, and keep the tokens for the sessions to come. Cancelled, nothing is kept and no socket is left.

    Args:
        config: The server, of type `http` or `sse`.
        show: Shows a person the address.
        cwd: The folder of the project.
        tokens: The folder in which tokens are kept.
        ports: The disk and the clock.
        programs: What starts its `headersHelper`.

    Raises:
        UsageError: It is no server that one logs in at with a browser, or its `callbackPort` is taken.
        LoginFailed: The server, its authorization server or the person did not let it.
    """
    way = _checked(config)
    port = way.oauth.callback_port if way.oauth is not None else None
    kept: list[TokenFile] = []
    ending = Ending()
    errors: list[BaseException] = []
    tools = 0
    async with open_callback(port) as callback:
        scope = trio.CancelScope(deadline=trio.current_time() + SERVER_S)
        visit = _Visit(callback, show, scope)

        async def open_login(way: Http, file: TokenFile | None) -> Login | None:
            await trio.lowlevel.checkpoint()
            if file is None or any(name.lower() == "authorization" for name in way.headers):
                raise LoginFailed(config.name, "its headersHelper gives an Authorization header")
            return browser_login(way, file, callback.uri, visit.go, visit.come_back, partial(kept.append, file))

        peers = SdkPeers(cwd=cwd, programs=programs, ports=ports, tokens=tokens, open_login=open_login)
        try:
            with scope:
                async with peers(config, ending) as peer:
                    tools = len(await peer.list_tools())
        except* Exception as group:  # the boundary: servers are somebody else's programs
            errors.append(group)
            if group.subgroup(InternalError) is not None:
                raise
    if scope.cancelled_caught:
        raise LoginFailed(config.name, visit.too_late)
    if errors:
        raise LoginFailed(config.name, ending.why.removeprefix(NOT_LOGGED_IN) or told(errors[0])) from errors[0]
    return LoggedIn(path=kept[0].path if kept else None, tools=tools)


async def log_out(config: ServerConfig, *, tokens: Path, ports: Ports) -> Path | None:
    """Forget the tokens that are kept for a server, whatever the file holds; returns it, None where there was none.

    Raises:
        UsageError: It is not at an address.
        LoginFailed: The file cannot be removed.
    """
    if not isinstance(config.way, Http):
        raise UsageError(f"the MCP server {config.name!r} is of type {config.type}, and has no login")
    path = token_file(tokens, config.way.url, ports).path
    try:
        await ports.blocking.run(path.unlink)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise LoginFailed(config.name, f"{path} cannot be removed: {problem.strerror}") from None
    return path


def _checked(config: ServerConfig) -> Http:
    way, name = config.way, config.name
    if not isinstance(way, Http) or way.dialect == "ws":
        raise UsageError(f"the MCP server {name!r} is of type {config.type}; a browser logs in at http and sse alone")
    if any(one.lower() == "authorization" for one in way.headers):
        raise UsageError(f"the entry of the MCP server {name!r} has an Authorization header; take that out first")
    if way.oauth is not None and way.oauth.client_secret:
        raise UsageError(
            f"the MCP server {name!r} is logged in at with the clientSecret of its entry, without a person"
        )
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
        """What to say when the time is up."""
        if self._is_out:
            return f"nobody logged in within {PERSON_S / 60:g} minutes"
        return f"the server did not answer within {SERVER_S:g} s"

    async def go(self, address: str) -> None:
        """Take the address that the person is to go to."""
        from mcp.client.auth import OAuthFlowError

        await trio.lowlevel.checkpoint()
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not address.isprintable() or " " in address:
            raise OAuthFlowError("its authorization server has an address that no browser should be sent to")
        self._address = address
        self._callback.expect(parse_qs(parts.query).get("state", [""])[0])

    async def come_back(self) -> AuthorizationCodeResult:
        """Show the address, and wait until the browser comes back."""
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
