"""The two tools with which models read resources of servers; offered only if a server declares some.

The content of a resource is treated like the result of a call: one size limit, files for the rest. The servers that an
agent may read are determined at each call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.mcp._call_results import Keep, render
from greenroom.mcp._mcp_errors import McpError
from greenroom.mcp._peer import CallResult, TextPart
from greenroom.mcp._server import Server
from greenroom.tools import ToolContext, ToolError

LIST_RESOURCES: Final = "ListMcpResourcesTool"
READ_RESOURCE: Final = "ReadMcpResourceTool"

_SERVER: Final = {"type": "string", "description": "The name of the server."}
_URI: Final = {"type": "string", "description": "The URI of the resource."}


@final
@attrs.frozen
class Library:
    """The servers whose resources an agent may read, and the presentation of their content."""

    servers: Callable[[], Iterable[Server]]
    """Servers that currently have resources; of several with one name, the first."""
    most: int
    """The part of a result that a model gets, in characters."""
    keep: Keep = attrs.field(repr=False)

    def by_name(self) -> dict[str, Server]:
        """Return the servers by name."""
        found: dict[str, Server] = {}
        for server in self.servers():
            found.setdefault(server.name, server)
        return found

    def find(self, name: object) -> Server:
        """Return a server.

        Raises:
            ToolError: No server of that name has readable resources.
        """
        there_are = self.by_name()
        server = there_are.get(name) if isinstance(name, str) else None
        if server is None:
            known = ", ".join(there_are) or "none"
            raise ToolError(f"unknown MCP server {name!r}; expected one of: {known}")
        return server

    async def show(self, result: CallResult, ctx: ToolContext) -> str:
        """Return the text for the model, and attach the images that it can be shown."""
        shown = await render(result, self.keep, self.most)
        for image in shown.images:
            ctx.show(image)
        return shown.text


@final
@attrs.frozen
class ListResources:
    """Tool that lists the resources of servers."""

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
        """List them; servers that fail are named after the others.

        Raises:
            ToolError: The server does not exist, or none of the servers could list its resources.
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
            for entry in listed:
                said = {
                    "uri": entry.uri,
                    "name": entry.name,
                    "mimeType": entry.mime_type,
                    "description": entry.description,
                }
                entries.append({"server": server.name, **{key: text for key, text in said.items() if text}})
        if len(problems) == len(asked) > 0:
            raise ToolError("\n".join(problems))
        text = json.dumps(entries, ensure_ascii=False, indent=2) if entries else "There are no resources."
        return await self.library.show(CallResult(parts=(TextPart("\n".join([text, *problems])),)), ctx)


@final
@attrs.frozen
class ReadResource:
    """Tool that reads one resource."""

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
        """Read it; returns text, an image, or the name of the file that it was saved to.

        Raises:
            ToolError: The server does not exist, or refused.
        """
        server, uri = self.library.find(input.get("server")), input.get("uri")
        if not isinstance(uri, str) or not uri.strip():
            raise ToolError(f"{READ_RESOURCE} requires the uri of a resource; {LIST_RESOURCES} lists them")
        try:
            parts = await server.read_resource(uri)
        except McpError as problem:
            raise ToolError(str(problem)) from problem
        return await self.library.show(CallResult(parts=parts), ctx) or "(it is empty)"


ResourceTool: TypeAlias = ListResources | ReadResource


def make_resource_tools(library: Library) -> Sequence[ResourceTool]:
    """Return the tools; none if no server has resources."""
    return (ListResources(library), ReadResource(library)) if library.by_name() else ()
