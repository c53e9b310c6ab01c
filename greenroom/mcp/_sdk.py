"""The official SDK, behind our port: the only module that knows its names, and the only one that imports it.

Rule 1: it is imported when the first server is connected, in a thread, because that takes half a second. Rule 2: what it
raises becomes an error of ours, or leaves the block and is the end of a connection. Rule 3: its own deadlines are off: ours
know about progress.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import trio

from greenroom._version import __version__
from greenroom.core import Blocking
from greenroom.core.sources import thawed
from greenroom.mcp._configs import Http, ServerConfig, Stdio
from greenroom.mcp._errors import CallFailed, ServerDown
from greenroom.mcp._peer import (
    BinaryPart,
    CallResult,
    Ending,
    LinkPart,
    Part,
    Peer,
    PeerInfo,
    ResourcePart,
    TextPart,
    ToolInfo,
)
from greenroom.mcp._stdio import MESSAGE_BYTES, Programs, talk
from greenroom.tools import PipedProcess

if TYPE_CHECKING:
    import httpx2
    import mcp_types
    from mcp import Client
    from mcp.client._transport import ReadStream, Transport, TransportStreams
    from mcp.shared.message import SessionMessage

MOST_PAGES: Final = 100
"""A list of tools with more pages is taken for one without an end."""
_REQUEST_S: Final = 30.0
"""How long the network may take to connect, or to take a request; an answer has the deadlines of its call."""
_LISTEN_AGAIN_S: Final = 30.0
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_FIRST_ERROR: Final = 400
_CONNECTION_CLOSED: Final = -32000
_NEEDS_USER: Final = ("requiresUserInteraction", "anthropic/requiresUserInteraction")
_OUTPUT_CHARS: Final = "anthropic/maxResultSizeChars"


@final
class SdkPeers:
    """Connects servers with the official SDK.

    Args:
        cwd: Where programs start, and what servers are told to be working on.
        programs: What starts them; None refuses.
        blocking: Where the SDK is imported.
    """

    def __init__(self, *, cwd: Path, programs: Programs | None, blocking: Blocking) -> None:
        self._cwd = cwd
        self._programs = programs
        self._blocking = blocking

    @asynccontextmanager
    async def __call__(self, config: ServerConfig, ending: Ending) -> AsyncIterator[Peer]:
        """Connect a server for as long as the block lasts."""
        try:
            await self._blocking.run(importlib.import_module, "mcp")
        except ImportError as problem:
            raise ServerDown(
                config.name, f"the MCP library is missing; pip install 'greenroom[mcp]' ({problem})"
            ) from None
        # Without a handler of the program's, the standard library prints what the SDK logs, over whatever is drawn.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        lost = trio.Event()
        way = config.way
        opened = self._start(config.name, way, ending, lost) if isinstance(way, Stdio) else _reach(way, ending, lost)
        changes = _Changes()
        async with (
            opened as transport,
            self._make_client(transport, way, changes) as client,
            trio.open_nursery() as nursery,
        ):
            peer = _SdkPeer(config.name, client, changes, ending, lost)
            nursery.start_soon(peer.listen)
            yield peer
            nursery.cancel_scope.cancel("the connection is closed")

    def _make_client(self, transport: Transport, way: Stdio | Http, changes: _Changes) -> Client:
        import mcp_types
        from mcp import Client

        root = mcp_types.Root.model_validate({"uri": self._cwd.as_uri(), "name": self._cwd.name})

        async def list_roots(context: Any) -> mcp_types.ListRootsResult:
            del context
            await trio.lowlevel.checkpoint()
            return mcp_types.ListRootsResult(roots=[root])

        return Client(
            transport,
            mode="legacy" if isinstance(way, Http) and way.dialect == "sse" else "auto",
            client_info=mcp_types.Implementation(name="greenroom", version=__version__),
            message_handler=changes.hear,
            list_roots_callback=list_roots,
            cache=None,
        )

    @asynccontextmanager
    async def _start(self, name: str, way: Stdio, ending: Ending, lost: trio.Event) -> AsyncIterator[Transport]:
        programs = self._programs
        if programs is None:
            raise ServerDown(name, "nothing here starts programs")
        process: PipedProcess | None = None
        try:
            async with programs.open_piped(
                (way.command, *way.args), cwd=way.cwd or self._cwd, complaints=programs.new_output(), env=way.env
            ) as process:
                yield talk(process, ending, lost)
        finally:
            if process is not None:
                _note_end(process, ending, was_lost=lost.is_set())


def _note_end(process: PipedProcess, ending: Ending, *, was_lost: bool) -> None:
    if was_lost and not ending.why:
        code = process.exit_code
        if code is None:
            ending.why = "it closed its output"
        else:
            ending.why = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
    ending.said = process.last_words or ending.said


@asynccontextmanager
async def _reach(way: Http, ending: Ending, lost: trio.Event) -> AsyncIterator[Transport]:
    import httpx2
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        await trio.lowlevel.checkpoint()
        status, request = response.status_code, response.request
        if status == _UNAUTHORIZED:
            ending.needs_auth = True
            ending.why = "it wants a login: it answered HTTP 401"
            lost.set()
        elif status == _NOT_FOUND and "mcp-session-id" in request.headers and request.method == "POST":
            ending.why = "it does not know the session any more"
            lost.set()
        elif request.method != "DELETE":
            ending.said = f"HTTP {status} {response.reason_phrase}".rstrip() if status >= _FIRST_ERROR else ""

    def make(*_: Any, **__: Any) -> httpx2.AsyncClient:
        timeout = httpx2.Timeout(_REQUEST_S, read=None)
        return httpx2.AsyncClient(headers=dict(way.headers), timeout=timeout, event_hooks={"response": [look]})

    if way.dialect == "sse":
        yield _watched(sse_client(way.url, httpx_client_factory=make), lost)
        return
    async with make() as http_client:
        transport = streamable_http_client(way.url, http_client=http_client, max_sse_event_size=MESSAGE_BYTES)
        yield _watched(transport, lost)


@asynccontextmanager
async def _watched(transport: Transport, lost: trio.Event) -> AsyncIterator[TransportStreams]:
    async with transport as (incoming, outgoing):
        yield _Watched(incoming, lost), outgoing


@final
class _Watched:
    """A stream of messages that says when it has ended."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], lost: trio.Event) -> None:
        self._stream = stream
        self._lost = lost

    @property
    def last_context(self) -> Any:
        """What the SDK keeps beside a message."""
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


@final
class _Changes:
    """Hears that a server has other tools, in the older way or the newer."""

    def __init__(self) -> None:
        self._changed = trio.Event()

    async def hear(self, message: object) -> None:
        import mcp_types

        await trio.lowlevel.checkpoint()
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.note()

    def note(self) -> None:
        self._changed.set()

    async def wait(self) -> None:
        await self._changed.wait()
        self._changed = trio.Event()


@final
class _SdkPeer:
    """A server that the SDK's client is connected to."""

    def __init__(self, name: str, client: Client, changes: _Changes, ending: Ending, lost: trio.Event) -> None:
        self._name = name
        self._client = client
        self._changes = changes
        self._ending = ending
        self._lost = lost
        said = client.server_info
        self.info = PeerInfo(
            name=said.name if said is not None else "",
            version=said.version if said is not None else "",
            protocol=client.protocol_version,
            instructions=client.instructions or "",
        )

    async def wait_changed(self) -> None:
        await self._changes.wait()

    async def wait_lost(self) -> None:
        await self._lost.wait()

    async def listen(self) -> None:
        """Ask servers that speak the newer protocol to say when their tools change."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        tools = self._client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        self._changes.note()
            except ListenNotSupportedError:
                return  # an older one says so without being asked
            except MCPError as problem:
                if problem.code != _CONNECTION_CLOSED:
                    return  # it does not take subscriptions
            except (SubscriptionLost, TimeoutError):
                pass
            await trio.sleep(_LISTEN_AGAIN_S)
            self._changes.note()  # what it said meanwhile, nobody heard

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        from mcp import MCPError

        if self._client.server_capabilities.tools is None:
            await trio.lowlevel.checkpoint()
            return ()
        found: dict[str, ToolInfo] = {}
        cursor: str | None = None
        try:
            for _ in range(MOST_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                for one in page.tools:
                    found.setdefault(one.name, _tool_info(one))
                cursor = page.next_cursor
                if not cursor:
                    return tuple(found.values())
        except (MCPError, RuntimeError, ValueError) as problem:
            raise CallFailed(f"{self._name} did not list its tools: {problem}") from problem
        raise CallFailed(f"{self._name} listed its tools on more than {MOST_PAGES} pages")

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        from mcp import MCPError

        async def report(progress: float, total: float | None, message: str | None) -> None:
            await trio.lowlevel.checkpoint()
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            on_progress(f"{message} ({share})" if message else share)

        try:
            result = await self._client.call_tool(tool, thawed(values), progress_callback=report)
        except MCPError as problem:
            if problem.code == _CONNECTION_CLOSED:
                raise ServerDown(self._name, self._ending.why or problem.message) from problem
            raise CallFailed(f"{tool} of {self._name} failed: {problem.message}") from problem
        except (RuntimeError, ValueError) as problem:
            raise CallFailed(f"{tool} of {self._name} gave a result that cannot be used: {problem}") from problem
        parts = tuple(_part(block) for block in result.content)
        return CallResult(parts=parts, structured=result.structured_content, is_error=result.is_error)


def _tool_info(tool: mcp_types.Tool) -> ToolInfo:
    meta = tool.meta or {}
    most = meta.get(_OUTPUT_CHARS)
    return ToolInfo(
        name=tool.name,
        description=tool.description or tool.title or "",
        input_schema=tool.input_schema,
        is_read_only=bool(tool.annotations is not None and tool.annotations.read_only_hint),
        needs_user=any(meta.get(key) is True for key in _NEEDS_USER),
        output_chars=most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else None,
    )


def _part(block: mcp_types.ContentBlock) -> Part:
    import mcp_types

    match block:
        case mcp_types.TextContent():
            return TextPart(block.text)
        case mcp_types.ImageContent():
            return BinaryPart(kind="image", mime_type=block.mime_type, base64=block.data)
        case mcp_types.AudioContent():
            return BinaryPart(kind="audio", mime_type=block.mime_type, base64=block.data)
        case mcp_types.ResourceLink():
            return LinkPart(
                uri=str(block.uri),
                name=block.title or block.name,
                description=block.description or "",
                mime_type=block.mime_type or "",
            )
        case mcp_types.EmbeddedResource():
            inner = block.resource
            if isinstance(inner, mcp_types.TextResourceContents):
                return ResourcePart(uri=str(inner.uri), text=inner.text)
            return BinaryPart(kind="resource", mime_type=inner.mime_type or "", base64=inner.blob, uri=str(inner.uri))
