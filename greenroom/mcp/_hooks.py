"""Calls of tools by hooks: what `greenroom.hooks` asks for as `McpCaller`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import attrs

from greenroom.mcp._errors import ServerDown
from greenroom.mcp._names import hook_server
from greenroom.mcp._results import text_of
from greenroom.mcp._servers import McpServers


@final
@attrs.frozen
class HookCaller:
    """Calls tools for hooks; a server that is not connected is an error at once, since hooks hold everybody up."""

    _servers: McpServers

    async def call(self, server: str, tool: str, values: Mapping[str, Any]) -> str:
        """Return the text of a tool's result; what is no text is left out.

        Raises:
            ServerDown: There is no such server, or it is not connected.
            CallFailed: The tool failed.
        """
        server = hook_server(server)
        found = self._servers.get(server)
        if found is None:
            raise ServerDown(server, "there is no server of that name")
        return text_of(await found.call(tool, values, wait_s=0), tool, server)
