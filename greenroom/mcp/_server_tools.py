"""Tools of servers, as offered to agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

import attrs

from greenroom.core import task_id
from greenroom.core.ports import Ports
from greenroom.core.texts import cut_text, escape_text
from greenroom.mcp._background_calls import LinkedCall
from greenroom.mcp._call_results import MAX_OUTPUT_CHARS, Shown, render, text_of
from greenroom.mcp._mcp_errors import McpError
from greenroom.mcp._peer import CallResult, ToolInfo
from greenroom.mcp._server import Server
from greenroom.mcp._tool_names import tool_name
from greenroom.tools import ToolContext, ToolError

DESCRIPTION_CHARS: Final = 2_048
"""Maximum length of a tool's description, or a server's instructions, for a model."""
_NO_INPUT: Final[Mapping[str, Any]] = MappingProxyType({"type": "object", "properties": {}})


@final
@attrs.define(eq=False)
class Keeper:
    """Storage for content that is not text, or too long, in files of a folder."""

    _ports: Ports
    _folder: Path | None
    _count: int = 0

    async def keep(self, owner: str, suffix: str, content: bytes) -> Path | None:
        """Write a file and return its path; None if nothing can be saved."""
        if self._folder is None:
            return None
        self._count += 1
        path = self._folder / f"mcp-{owner}-{self._count}{suffix}"
        return path if await self.write(path, content) else None  # the text says so

    def new_output(self) -> Path | None:
        """Return a name for the output file of a task; None if nothing can be saved."""
        return None if self._folder is None else self._folder / f"{task_id(self._ports.ids, 'm')}.output"

    async def write(self, path: Path, content: bytes) -> bool:
        """Write a file of the folder; return True on success."""
        blocking, disk = self._ports.blocking, self._ports.disk
        try:
            await blocking.run(disk.make_folder, path.parent)
            await blocking.run(disk.write, path, content)
        except OSError:
            return False
        return True


@final
@attrs.frozen(eq=False)
class McpTool:
    """A tool of a server; it stays the same object when the server is reconnected."""

    server: Server
    info: ToolInfo
    name: str
    """Its name for models."""
    _output_chars: int
    _keeper: Keeper = attrs.field(repr=False)

    @property
    def description(self) -> str:
        """The server's description."""
        return cut(self.info.description)

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The server's schema of its arguments."""
        return self.info.input_schema or _NO_INPUT

    @property
    def is_read_only(self) -> bool:
        """The server's own claim; it affects concurrency, not permissions."""
        return self.info.is_read_only

    @property
    def needs_user(self) -> bool:
        """True if a person has to agree to each call, whatever the rules allow."""
        return self.info.needs_user

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Call it; on cancellation, the server is notified.

        A call of the main agent moves to the background after a while (`McpSettings.background_after_s`).

        Raises:
            ToolError: The server is not connected, answered with an error, or not in time.
        """
        moves_after_s = self.server.moves_after_s
        may_move = ctx.is_main and ctx.may_leave and moves_after_s < math.inf
        output = self._keeper.new_output() if may_move else None
        if output is None:
            result = await self._ask(input, ctx.progress)
        else:
            call = LinkedCall(
                server=self.server.name,
                tool=self.info.name,
                ask=partial(self._ask, input),
                write_down=self._write_down,
                output=output,
                ctx=ctx,
                pausing=self.server.dialogs.pausing,
            )
            done = await call.run(moves_after_s)
            if isinstance(done, str):
                return done
            result = done
        shown = await self._render(result, may_show=True)
        if result.is_error:
            raise ToolError(shown.text or f"{self.info.name} of {self.server.name} failed without a reason")
        for image in shown.images:
            ctx.show(image)
        return shown.text

    async def ask(self, values: Mapping[str, Any]) -> str:
        """Call it for the program itself, and return the text of the result; on cancellation, the server is notified.

        Raises:
            McpError: The server is not connected, answered with an error, or not in time.
        """
        return text_of(await self.server.call(self.info.name, values), self.info.name, self.server.name)

    async def _ask(self, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        try:
            return await self.server.call(self.info.name, values, on_progress)
        except McpError as problem:
            raise ToolError(escape_text(cut_text(str(problem)))) from problem

    async def _render(self, result: CallResult, *, may_show: bool) -> Shown:
        owner = self.server.ref.id if self.server.ref is not None else "server"
        most = min(self.info.output_chars or self._output_chars, MAX_OUTPUT_CHARS)
        return await render(result, partial(self._keeper.keep, owner), most, may_show=may_show)

    async def _write_down(self, result: CallResult, output: Path) -> str:
        text = (await self._render(result, may_show=False)).text
        await self._keeper.write(output, text.encode())  # if that fails, the notice contains it all the same
        return text


def make_tools(
    servers: Iterable[Server], *, output_chars: int, keeper: Keeper, on_clash: Callable[[str, str], None]
) -> tuple[McpTool, ...]:
    """Return the tools of servers, each name once: providers refuse a request with duplicate names.

    Args:
        servers: In order of precedence.
        output_chars: The part of a result that is shown.
        keeper: Saves the rest.
        on_clash: Called with the name that is taken and the server whose tool is ignored.
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
    """Return a server's text, cut to the limit for models; text that imitates the runtime is escaped."""
    text = escape_text(text)
    return text if len(text) <= DESCRIPTION_CHARS else text[: DESCRIPTION_CHARS - 1] + "…"
