"""Requests to a server through the SDK's client, converted to our types.

The SDK's exceptions become errors of ours. An endless list is an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import trio

from greenroom.core.sources import thawed
from greenroom.mcp._mcp_errors import CallFailed, ServerDown
from greenroom.mcp._message_decoder import shown
from greenroom.mcp._peer import (
    BinaryPart,
    CallResult,
    Change,
    ConnectionEnd,
    LinkPart,
    Part,
    PeerInfo,
    PromptArgument,
    PromptInfo,
    PromptPart,
    ResourceInfo,
    ResourcePart,
    TextPart,
    ToolInfo,
)
from greenroom.mcp._pending_requests import MALFORMED, Answers, why_malformed
from greenroom.mcp._schema_checks import fault_of
from greenroom.mcp._sdk_pages import Pages

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

T = TypeVar("T")

MAX_PAGES: Final = 100
"""A list with more pages counts as endless."""
_LISTEN_AGAIN_S: Final = 30.0
_NAME_CHARS: Final = 60
_CONNECTION_CLOSED: Final = -32000
_CLOSED: Final = "Connection closed"
"""The SDK's message beside this code, which servers use for errors of their own."""
_NEEDS_USER: Final = ("requiresUserInteraction", "anthropic/requiresUserInteraction")
_OUTPUT_CHARS: Final = "anthropic/maxResultSizeChars"


@final
class ChangeNotices:
    """Receiver of a server's change notifications, in the older form or the newer.

    Args:
        on_elicited: Called with the id of a question whose action at a URL is done.
    """

    def __init__(self, on_elicited: Callable[[str], object]) -> None:
        self._on_elicited = on_elicited
        self._heard: set[Change] = set()
        self._changed = trio.Event()

    async def receive(self, message: object) -> None:
        """Receive a message of a server that is not an answer."""
        import mcp_types

        await trio.lowlevel.checkpoint()
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.note(Change.TOOLS)
        elif isinstance(message, mcp_types.PromptListChangedNotification):
            self.note(Change.PROMPTS)
        elif isinstance(message, mcp_types.ElicitCompleteNotification):
            self._on_elicited(message.params.elicitation_id)

    def note(self, *changes: Change) -> None:
        """Record a change."""
        self._heard.update(changes)
        self._changed.set()

    async def wait(self) -> frozenset[Change]:
        """Wait for a change since the last call, and return the lists that changed."""
        await self._changed.wait()
        self._changed = trio.Event()
        heard, self._heard = frozenset(self._heard), set()
        return heard


@final
class SdkPeer:
    """A server that the SDK's client is connected to."""

    def __init__(
        self,
        name: str,
        client: Client,
        changes: ChangeNotices,
        ending: ConnectionEnd,
        lost: trio.Event,
        answers: Answers,
        pages: Pages | None = None,
    ) -> None:
        self._answers = answers
        self._pages = pages
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
            has_resources=client.server_capabilities.resources is not None,
            is_channel=answers.is_channel,
        )

    async def wait_changed(self) -> frozenset[Change]:
        """Wait for changes; see `Peer`."""
        return await self._changes.wait()

    async def wait_lost(self) -> None:
        """Wait for the loss of the connection; see `Peer`."""
        await self._lost.wait()

    async def listen(self) -> None:
        """Subscribe to changes of tools and prompts, if the server supports the newer protocol."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, ToolsListChanged

        offers = self._client.server_capabilities
        has_tools = bool(offers.tools is not None and offers.tools.list_changed)
        has_prompts = bool(offers.prompts is not None and offers.prompts.list_changed)
        if not (has_tools or has_prompts):
            return
        while True:
            try:
                async with self._client.listen(
                    tools_list_changed=has_tools, prompts_list_changed=has_prompts
                ) as subscription:
                    async for event in subscription:
                        self._changes.note(Change.TOOLS if isinstance(event, ToolsListChanged) else Change.PROMPTS)
            except ListenNotSupportedError:
                return  # an older server notifies without a subscription
            except MCPError as problem:
                if problem.code != _CONNECTION_CLOSED:
                    return  # it does not support subscriptions
            except (SubscriptionLost, TimeoutError):
                pass
            await trio.sleep(_LISTEN_AGAIN_S)
            self._changes.note(*Change)  # changes before the subscription were missed

    # --- lists ------------------------------------------------------------------------------------------------------

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        """Return all tools; see `Peer`."""
        if self._client.server_capabilities.tools is None:
            await trio.lowlevel.checkpoint()
            return ()

        async def page(cursor: str | None) -> tuple[Iterable[ToolInfo], str | None]:
            listed = await self._client.list_tools(cursor=cursor)
            return map(_tool_info, listed.tools), listed.next_cursor

        tools = await self._whole_list("tools", page, lambda item: item.name)
        return tuple(tool for tool in tools if self._is_of_use(tool))

    async def list_prompts(self) -> tuple[PromptInfo, ...]:
        """Return all prompts; see `Peer`."""
        if self._client.server_capabilities.prompts is None:
            await trio.lowlevel.checkpoint()
            return ()

        async def page(cursor: str | None) -> tuple[Iterable[PromptInfo], str | None]:
            listed = await self._client.list_prompts(cursor=cursor)
            return map(_prompt_info, listed.prompts), listed.next_cursor

        return await self._whole_list("prompts", page, lambda item: item.name)

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        """Return all resources; see `Peer`."""

        async def page(cursor: str | None) -> tuple[Iterable[ResourceInfo], str | None]:
            listed = await self._client.list_resources(cursor=cursor)
            return map(_resource_info, listed.resources), listed.next_cursor

        return await self._whole_list("resources", page, lambda item: item.uri)

    async def _whole_list(
        self,
        what: str,
        page: Callable[[str | None], Awaitable[tuple[Iterable[T], str | None]]],
        key: Callable[[T], str],
    ) -> tuple[T, ...]:
        found: dict[str, T] = {}
        cursor: str | None = None
        with self._in_our_words(f"{self._name} did not list its {what}"):
            for _ in range(MAX_PAGES):
                listed, cursor = await page(cursor)
                for entry in listed:
                    if found.setdefault(key(entry), entry) is not entry:
                        self._leave_out(what, key(entry), f"another of its {what} has the same name")
                if not cursor:
                    return tuple(found.values())
        raise CallFailed(f"{self._name} listed its {what} on more than {MAX_PAGES} pages")

    def _is_of_use(self, tool: ToolInfo) -> bool:
        fault = fault_of(tool.name, tool.input_schema)
        if fault:
            self._leave_out("tools", tool.name, fault)
        return not fault

    def _leave_out(self, what: str, name: str, why: str) -> None:
        self._answers.left_out.setdefault(f"{what}/list", []).append(f"{shown(name, _NAME_CHARS)} is ignored: {why}")

    @property
    def left_out(self) -> tuple[str, ...]:
        """Unusable entries of its latest lists; see `Peer`."""
        return tuple(line for lines in self._answers.left_out.values() for line in lines)

    # --- what is asked for ------------------------------------------------------------------------------------------

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        """Call a tool; see `Peer`."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            await trio.lowlevel.checkpoint()
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            on_progress(f"{message} ({share})" if message else share)

        with self._in_our_words(
            f"{tool} of {self._name} failed", broken=f"{tool} of {self._name} gave a malformed answer"
        ):
            result = await self._call_tool(
                partial(self._client.call_tool, tool, thawed(values), progress_callback=report)
            )
        parts = tuple(_part(block) for block in result.content)
        return CallResult(parts=parts, structured=result.structured_content, is_error=result.is_error)

    async def _call_tool(self, call: Callable[[], Awaitable[mcp_types.CallToolResult]]) -> mcp_types.CallToolResult:
        """Make a call; repeat it once if a person has to open a URL first."""
        from mcp import MCPError

        try:
            return await call()
        except MCPError as problem:
            refused = problem
        if self._pages is None or not await self._pages.open(refused):
            raise refused
        return await call()

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        """Return the messages of a prompt; see `Peer`."""
        with self._in_our_words(f"{self._name} did not give its prompt {prompt}"):
            result = await self._client.get_prompt(prompt, dict(values))
        return tuple(PromptPart(message.role, _part(message.content)) for message in result.messages)

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        """Return the content of a resource; see `Peer`."""
        with self._in_our_words(f"{self._name} did not give {uri}"):
            result = await self._client.read_resource(uri)
        return tuple(_content(content) for content in result.contents)

    @contextmanager
    def _in_our_words(self, failed: str, *, broken: str = "") -> Iterator[None]:
        from mcp import MCPError

        try:
            yield
        except MCPError as problem:
            is_closed = problem.code == _CONNECTION_CLOSED and problem.message == _CLOSED
            if is_closed or self._ending.needs_auth:
                raise ServerDown(self._name, self._ending.why or problem.message) from problem
            why = broken if broken and problem.code == MALFORMED else failed
            raise CallFailed(f"{why}: {problem.message}") from problem
        except (RuntimeError, ValueError) as problem:
            raise CallFailed(f"{broken or failed}: {why_malformed(problem)}") from problem


def _tool_info(tool: mcp_types.Tool) -> ToolInfo:
    meta = tool.meta or {}
    most = meta.get(_OUTPUT_CHARS)
    return ToolInfo(
        name=tool.name,
        description=tool.description or tool.title or "",
        input_schema=_as_object(tool.input_schema),
        is_read_only=bool(tool.annotations is not None and tool.annotations.read_only_hint),
        needs_user=any(meta.get(key) is True for key in _NEEDS_USER),
        output_chars=most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else None,
    )


def _as_object(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema that declares the type object, as providers require."""
    return {"type": "object", **schema} if schema and schema.get("type") is None else schema


def _prompt_info(prompt: mcp_types.Prompt) -> PromptInfo:
    return PromptInfo(
        name=prompt.name,
        description=prompt.description or prompt.title or "",
        arguments=tuple(
            PromptArgument(
                name=argument.name, description=argument.description or "", is_required=bool(argument.required)
            )
            for argument in prompt.arguments or ()
        ),
    )


def _resource_info(resource: mcp_types.Resource) -> ResourceInfo:
    return ResourceInfo(
        uri=str(resource.uri),
        name=resource.title or resource.name,
        description=resource.description or "",
        mime_type=resource.mime_type or "",
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
            return _content(block.resource)


def _content(inner: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> Part:
    import mcp_types

    if isinstance(inner, mcp_types.TextResourceContents):
        return ResourcePart(uri=str(inner.uri), text=inner.text)
    return BinaryPart(kind="resource", mime_type=inner.mime_type or "", base64=inner.blob, uri=str(inner.uri))
