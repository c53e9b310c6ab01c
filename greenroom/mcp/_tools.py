"""A tool of a server, as an agent has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

import attrs

from greenroom.core import Ports
from greenroom.mcp._errors import McpError
from greenroom.mcp._names import tool_name
from greenroom.mcp._peer import ToolInfo
from greenroom.mcp._results import MOST_OUTPUT_CHARS, render
from greenroom.mcp._server import Server
from greenroom.tools import ToolContext, ToolError

DESCRIPTION_CHARS: Final = 2_048
"""How much a model reads about a tool, or of a server's instructions."""
_NO_INPUT: Final[Mapping[str, Any]] = MappingProxyType({"type": "object", "properties": {}})


@final
@attrs.define(eq=False)
class Keeper:
    """Keeps what is no text, or too long, in files of a folder."""

    _ports: Ports
    _folder: Path | None
    _count: int = 0

    async def keep(self, owner: str, suffix: str, content: bytes) -> Path | None:
        """Write a file and return its path; None where nothing can be kept."""
        if self._folder is None:
            return None
        self._count += 1
        path = self._folder / f"mcp-{owner}-{self._count}{suffix}"
        blocking, disk = self._ports.blocking, self._ports.disk
        try:
            await blocking.run(disk.make_folder, self._folder)
            await blocking.run(disk.write, path, content)
        except OSError:
            return None  # the text says so
        return path


@final
@attrs.frozen(eq=False)
class McpTool:
    """A tool of a server; it stays the same when the server is connected again."""

    server: Server
    info: ToolInfo
    name: str
    """What a model calls it by."""
    _output_chars: int
    _keeper: Keeper = attrs.field(repr=False)

    @property
    def description(self) -> str:
        """What the server says about it."""
        return cut(self.info.description)

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """What the server says that it takes."""
        return self.info.input_schema or _NO_INPUT

    @property
    def is_read_only(self) -> bool:
        """What the server says; it decides what runs side by side, and no permission."""
        return self.info.is_read_only

    @property
    def needs_user(self) -> bool:
        """Whether a person has to agree to each call, whatever the rules allow."""
        return self.info.needs_user

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Call it; cancelled, the server is told.

        Raises:
            ToolError: The server is not connected, answered with an error, or not in time.
        """
        try:
            result = await self.server.call(self.info.name, input, ctx.progress)
        except McpError as problem:
            raise ToolError(str(problem)) from problem
        owner = self.server.ref.id if self.server.ref is not None else "server"
        most = min(self.info.output_chars or self._output_chars, MOST_OUTPUT_CHARS)
        shown = await render(result, lambda suffix, content: self._keeper.keep(owner, suffix, content), most)
        if result.is_error:
            raise ToolError(shown.text or f"{self.info.name} failed, and {self.server.name} does not say why")
        for image in shown.images:
            ctx.show(image)
        return shown.text


def make_tools(
    servers: Iterable[Server], *, output_chars: int, keeper: Keeper, on_clash: Callable[[str, str], None]
) -> tuple[McpTool, ...]:
    """Return the tools of servers, each name once: providers refuse a request that has one twice.

    Args:
        servers: In the order of precedence.
        output_chars: How much of a result is shown.
        keeper: Where the rest goes.
        on_clash: Called with the name that is taken and the server whose tool is left out.
    """
    made: dict[str, McpTool] = {}
    for server in servers:
        for info in server.tools:
            name = tool_name(server.name, info.name)
            if name in made:
                on_clash(name, server.name)
            else:
                made[name] = McpTool(server, info, name, output_chars, keeper)
    return tuple(made.values())


def cut(text: str) -> str:
    """Return a text with no more than a model should read of it."""
    return text if len(text) <= DESCRIPTION_CHARS else text[: DESCRIPTION_CHARS - 1] + "…"
