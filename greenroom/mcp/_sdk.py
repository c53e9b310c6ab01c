"""Connections with the official SDK. The SDK is used only here, in `_sdk_peer`, `_sdk_elicitations` and `_sdk_pages`, for
logins (`_login`, `_browser`), and by transports (`_stdio`, `_hosted`, `_websocket`).

Rule 1: it is imported when the first server is connected, in a thread, because that takes half a second. Rule 2: its
exceptions become errors of ours, or leave the block and end the connection. Rule 3: its own deadlines are disabled:
ours take progress into account.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from greenroom._version import __version__
from greenroom.core.ports import Ports
from greenroom.mcp._channel_messages import ChannelPush
from greenroom.mcp._configs import HostedServer, Http, ServerConfig, Stdio
from greenroom.mcp._elicitations import Elicit
from greenroom.mcp._header_helper import run_helper
from greenroom.mcp._login import NOT_LOGGED_IN, Login, OpenLogin, login_command, open_login
from greenroom.mcp._mcp_errors import ServerDown
from greenroom.mcp._message_decoder import MESSAGE_BYTES
from greenroom.mcp._peer import ConnectionEnd, Peer
from greenroom.mcp._pending_requests import Answers, with_answers
from greenroom.mcp._sdk_elicitations import answering
from greenroom.mcp._sdk_pages import Pages
from greenroom.mcp._sdk_peer import ChangeNotices, SdkPeer
from greenroom.mcp._stdio import talk
from greenroom.mcp._tokens import BadTokens, token_file
from greenroom.mcp._websocket import reach_websocket
from greenroom.tools import PipedProcess, SystemProcesses

if TYPE_CHECKING:
    import httpx2
    import mcp_types
    from mcp import Client
    from mcp.client._transport import ReadStream, Transport, TransportStreams
    from mcp.shared.message import SessionMessage

_REQUEST_S: Final = 30.0
"""Time limit for the network to connect, or to accept a request; an answer has the deadlines of its call."""
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_NO_STREAM: Final = 405
"""Status of a server that sends nothing of its own accord, which is allowed."""
_FIRST_ERROR: Final = 400


@final
class SdkPeers:
    """Connections to servers with the official SDK.

    Args:
        cwd: Working directory of programs, and the root that servers are given.
        programs: Starts programs; None refuses.
        ports: Threads, in which the SDK is imported; the disk for tokens.
        tokens: The folder of the tokens; None stores none.
        open_login: Returns logins; by default with what is known, without a person.
        elicit: Shows the servers' questions to a person; None: questions are declined.
        on_elicited: Called when a server reports that the action at a URL is done.
        on_push: Called with the name of a server and a message that it pushes.
    """

    def __init__(
        self,
        *,
        cwd: Path,
        programs: SystemProcesses | None,
        ports: Ports,
        tokens: Path | None = None,
        open_login: OpenLogin = open_login,
        elicit: Elicit | None = None,
        on_elicited: Callable[[str, str], object] = lambda *_: None,
        on_push: Callable[[str, ChannelPush], object] = lambda *_: None,
    ) -> None:
        self._on_push = on_push
        self._elicit = elicit
        self._on_elicited = on_elicited
        self._cwd = cwd
        self._programs = programs
        self._ports = ports
        self._tokens = tokens
        self._open_login = open_login

    @asynccontextmanager
    async def __call__(self, config: ServerConfig, ending: ConnectionEnd) -> AsyncIterator[Peer]:
        """Connect a server as long as the block lasts."""
        try:
            await self._ports.blocking.run(importlib.import_module, "mcp")
        except ImportError as problem:
            raise ServerDown(
                config.name, f"the MCP library is missing; pip install 'greenroom[mcp]' ({problem})"
            ) from None
        # Without a handler of the program, the standard library prints the SDK's log over the display.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        lost = trio.Event()
        way = config.way
        opened: AbstractAsyncContextManager[Transport]
        if isinstance(way, Stdio):
            opened = self._start(config.name, way, ending, lost)
        elif isinstance(way, HostedServer):
            opened = nullcontext(way.line.talk(partial(_note_loss, ending, lost)))
        else:
            opened = await self._prepare(config.name, way, ending, lost)
        pages = None if self._elicit is None else Pages(config.name, self._elicit)

        def note_done(asked: str) -> None:
            if pages is not None:
                pages.note_done(asked)
            self._on_elicited(config.name, asked)

        changes, answers = ChangeNotices(note_done), Answers(partial(self._on_push, config.name))
        async with (
            opened as transport,
            self._make_client(config, with_answers(transport, answers), changes) as client,
            trio.open_nursery() as nursery,
        ):
            answers.version = client.protocol_version
            peer = SdkPeer(config.name, client, changes, ending, lost, answers, pages)
            nursery.start_soon(peer.listen)
            yield peer
            nursery.cancel_scope.cancel("the connection is closed")

    def _make_client(self, config: ServerConfig, transport: Transport, changes: ChangeNotices) -> Client:
        import mcp_types
        from mcp import Client

        way = config.way
        # Servers inside a program, and transports older than the newer handshake, support the original one.
        is_older = isinstance(way, HostedServer) or (isinstance(way, Http) and way.dialect != "http")
        root = mcp_types.Root.model_validate({"uri": self._cwd.as_uri(), "name": self._cwd.name})

        async def list_roots(context: Any) -> mcp_types.ListRootsResult:
            del context
            await trio.lowlevel.checkpoint()
            return mcp_types.ListRootsResult(roots=[root])

        return Client(
            transport,
            mode="legacy" if is_older else "auto",
            client_info=mcp_types.Implementation(name="greenroom", version=__version__),
            message_handler=changes.receive,
            list_roots_callback=list_roots if config.offers_roots else None,
            elicitation_callback=None if self._elicit is None else answering(config.name, self._elicit),
            cache=None,
        )

    async def _prepare(
        self, name: str, way: Http, ending: ConnectionEnd, lost: trio.Event
    ) -> AbstractAsyncContextManager[Transport]:
        more = await run_helper(name, way, self._programs, self._cwd)
        if more:
            theirs = {key.lower() for key in more}
            kept = {key: text for key, text in way.headers.items() if key.lower() not in theirs}
            way = attrs.evolve(way, headers={**kept, **more})
        if way.dialect == "ws":
            return reach_websocket(name, way, ending, lost, self._ports.blocking)
        file = None if self._tokens is None else token_file(self._tokens, way.url, self._ports)
        try:
            login = await self._open_login(way, file)
        except BadTokens as problem:
            has_secret = way.oauth is not None and way.oauth.client_secret
            what_to_do = "" if has_secret else f"; or run `{login_command(name)}`"
            ending.needs_auth, ending.why = True, f"{problem}{what_to_do}"
            raise
        return _reach(name, way, ending, lost, login, "" if file is None else str(file.path))

    @asynccontextmanager
    async def _start(self, name: str, way: Stdio, ending: ConnectionEnd, lost: trio.Event) -> AsyncIterator[Transport]:
        programs = self._programs
        if programs is None:
            raise ServerDown(name, "cannot start programs here")
        process: PipedProcess | None = None
        try:
            async with programs.open_piped(
                (way.command, *way.args), cwd=way.cwd or self._cwd, complaints=programs.new_output(), env=way.env
            ) as process:
                yield talk(process, ending, lost)
        finally:
            if process is not None:
                _note_end(process, ending, was_lost=lost.is_set())


def _note_loss(ending: ConnectionEnd, lost: trio.Event, why: str) -> None:
    ending.why, ending.is_over = ending.why or why, True
    lost.set()


def _note_end(process: PipedProcess, ending: ConnectionEnd, *, was_lost: bool) -> None:
    if was_lost and not ending.why:
        code = process.exit_code
        if code is None:
            ending.why = "it closed its output"
        else:
            ending.why = f"it exited with code {code}" if code >= 0 else f"it was killed by signal {-code}"
    ending.said = process.last_words or ending.said


@asynccontextmanager
async def _reach(
    name: str, way: Http, ending: ConnectionEnd, lost: trio.Event, login: Login | None, token_path: str
) -> AsyncIterator[Transport]:
    import httpx2
    from mcp.client.auth import OAuthFlowError
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    from greenroom.mcp._http_messages import decoded, limit_answer

    def want_login(why: str) -> None:
        ending.needs_auth, ending.why = True, why
        lost.set()

    def look(response: httpx2.Response) -> None:
        status, request = response.status_code, response.request
        if status == _UNAUTHORIZED:
            want_login(login_wanted(name, way, login, token_path))
        elif status == _NOT_FOUND and "mcp-session-id" in request.headers and request.method == "POST":
            ending.why = "it no longer knows the session"
            lost.set()
        elif request.method != "DELETE" and (request.method, status) != ("GET", _NO_STREAM):
            ending.said = f"HTTP {status} {response.reason_phrase}".rstrip() if status >= _FIRST_ERROR else ""

    class Client(httpx2.AsyncClient):
        """Inspects the response of each request, except those of a login."""

        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            try:
                response = await super().send(request, **options)
            except (OAuthFlowError, BadTokens) as problem:
                if login is not None:  # nothing else raises these
                    want_login(f"{NOT_LOGGED_IN}{login.in_words(problem)}{login.what_to_do(name)}")
                raise
            look(response)
            return await decoded(response) if options.get("stream") else response

    def make(*_: Any, **__: Any) -> httpx2.AsyncClient:
        timeout = httpx2.Timeout(_REQUEST_S, read=None)
        auth = None if login is None else login.provider
        return Client(headers=dict(way.headers), timeout=timeout, auth=auth, event_hooks={"response": [limit_answer]})

    if way.dialect == "sse":
        yield _watched(sse_client(way.url, httpx_client_factory=make), lost)
        return
    async with make() as http_client:
        transport = streamable_http_client(way.url, http_client=http_client, max_sse_event_size=MESSAGE_BYTES)
        yield _watched(transport, lost)


def login_wanted(name: str, way: Http, login: Login | None, token_path: str) -> str:
    """Return the message that a server requires a login, with the remedy."""
    said = "it requires a login: it answered HTTP 401"
    if login is not None:
        return f"{said} to {login.how}{login.what_to_do(name) or '; renew the credentials'}"
    if way.headers_helper:
        return f"{said} to what its headersHelper gave"
    if any(name.lower() == "authorization" for name in way.headers):
        return f"{said} to the Authorization header of its entry"
    where = f", or keep tokens in {token_path}" if token_path else ""
    return (
        f"{said}; run `{login_command(name)}`, send a token as a header, give its entry oauth with clientId, "
        f"clientSecret and issuer{where}"
    )


@asynccontextmanager
async def _watched(transport: Transport, lost: trio.Event) -> AsyncIterator[TransportStreams]:
    async with transport as (incoming, outgoing):
        yield _Watched(incoming, lost), outgoing


@final
class _Watched:
    """A stream of messages that reports when it has ended."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], lost: trio.Event) -> None:
        self._stream = stream
        self._lost = lost

    @property
    def last_context(self) -> Any:
        """The context that the SDK attaches to a message."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._stream.receive()
        except Exception:
            self._lost.set()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await anext(self._stream)
        except Exception:
            self._lost.set()
            raise

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: Any) -> bool | None:  # noqa: PYI036 - handed on as they come
        return await self._stream.__aexit__(*about)  # noqa: ASYNC102 - the SDK's own, in its task
