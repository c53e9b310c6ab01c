"""The two tools with which models look at resources of servers; there only where a server says that it has some.

Rule 1: what is read is treated as the result of a call is: one limit, files for the rest. Rule 2: which servers an agent may
look at is asked at each call. Must not know: who may, and why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.mcp._errors import McpError
from greenroom.mcp._peer import CallResult, TextPart
from greenroom.mcp._results import Keep, render
from greenroom.mcp._server import Server
from greenroom.tools import ToolContext, ToolError

LIST_RESOURCES: Final = "ListMcpResourcesTool"
READ_RESOURCE: Final = "ReadMcpResourceTool"

_SERVER: Final = {"type": "string", "description": "The name of the server."}
_URI: Final = {"type": "string", "description": "The URI of the resource."}


@final
@attrs.frozen
class Library:
    """The servers whose resources an agent may look at, and how what they hold is shown."""

    servers: Callable[[], Iterable[Server]]
    """Those that have any, as of now; of one name the first counts."""
    most: int
    """How much of a result a model gets, in characters."""
    keep: Keep = attrs.field(repr=False)

    def by_name(self) -> dict[str, Server]:
        """Return the servers by their names."""
        found: dict[str, Server] = {}
        for one in self.servers():
            found.setdefault(one.name, one)
        return found

    def find(self, name: object) -> Server:
        """Return a server.

        Raises:
            ToolError: There is none of that name whose resources may be looked at.
        """
        there_are = self.by_name()
        server = there_are.get(name) if isinstance(name, str) else None
        if server is None:
            known = ", ".join(there_are) or "none"
            raise ToolError(f"there is no MCP server {name!r} with resources; there are: {known}")
        return server

    async def show(self, result: CallResult, ctx: ToolContext) -> str:
        """Return what the model reads, and let it see what it can be shown."""
        shown = await render(result, self.keep, self.most)
        for image in shown.images:
            ctx.show(image)
        return shown.text


@final
@attrs.frozen
class ListResources:
    """Lists the resources of servers."""

    library: Library
    name: ClassVar[str] = LIST_RESOURCES
    description: ClassVar[str] = (
        "List the resources that MCP servers offer: of one server, or of all of them. Each entry has its server, uri, name, "
        "and what the server says about it."
    )
    input_schema: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"type": "object", "properties": {"server": _SERVER}, "additionalProperties": False}
    )
    is_read_only: ClassVar[bool] = True

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """List them; a server that fails is named behind the others.

        Raises:
            ToolError: There is no such server, or none that was asked could list its resources.
        """
        name = input.get("server")
        asked = list(self.library.by_name().values()) if name is None else [self.library.find(name)]
        entries: list[dict[str, str]] = []
        problems: list[str] = []
        for server in asked:
            try:
                listed = await server.list_resources()
            except McpError as problem:
                problems.append(str(problem))
                continue
            for one in listed:
                said = {"uri": one.uri, "name": one.name, "mimeType": one.mime_type, "description": one.description}
                entries.append({"server": server.name, **{key: text for key, text in said.items() if text}})
        if len(problems) == len(asked) > 0:
            raise ToolError("\n".join(problems))
        text = json.dumps(entries, ensure_ascii=False, indent=2) if entries else "There are no resources."
        return await self.library.show(CallResult(parts=(TextPart("\n".join([text, *problems])),)), ctx)


@final
@attrs.frozen
class ReadResource:
    """Reads one resource."""

    library: Library
    name: ClassVar[str] = READ_RESOURCE
    description: ClassVar[str] = "Read a resource of an MCP server, by the server's name and the resource's URI."
    input_schema: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "type": "object",
            "properties": {"server": _SERVER, "uri": _URI},
            "required": ["server", "uri"],
            "additionalProperties": False,
        }
    )
    is_read_only: ClassVar[bool] = True

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Read it; text, or an image, or the name of the file in which it is kept.

        Raises:
            ToolError: There is no such server, or it did not give it.
        """
        server, uri = self.library.find(input.get("server")), input.get("uri")
        if not isinstance(uri, str) or not uri.strip():
            raise ToolError(f"{READ_RESOURCE} needs the uri of a resource, as {LIST_RESOURCES} lists them")
        try:
            parts = await server.read_resource(uri)
        except McpError as problem:
            raise ToolError(str(problem)) from problem
        return await self.library.show(CallResult(parts=parts), ctx) or "(it is empty)"


ResourceTool: TypeAlias = ListResources | ReadResource


def make_resource_tools(library: Library) -> Sequence[ResourceTool]:
    """Return the tools; none where no server has resources."""
    return (ListResources(library), ReadResource(library)) if library.by_name() else ()
