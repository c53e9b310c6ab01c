"""MCP servers hosted by the program at standard input: it names them, and messages to them go through it.

A server that is named is being connected when that is answered, and no turn begins before it is, or has failed. What is
said to it is a request to the program, and what it says by itself is one of the program's.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias, final

from greenroom.core import UsageError
from greenroom.headless._protocol import Answered, server_message_line
from greenroom.headless._stream_json import Line
from greenroom.mcp import CallFailed, HostLine, McpServers, host_server

AskHost: TypeAlias = Callable[[Callable[[str], Line]], Awaitable[Answered | None]]
"""Writes a request, given what makes its line of its id, and returns its answer; None where the program has gone."""


@final
class HostedServers:
    """The servers of one program.

    Args:
        ask: Asks the program.
    """

    def __init__(self, ask: AskHost) -> None:
        self._ask = ask
        self._lines: dict[str, HostLine] = {}

    async def add(self, names: Iterable[str], servers: McpServers) -> None:
        """Connect those of these servers that are not known yet; returns before they are connected.

        Raises:
            UsageError: One cannot be called so, or settings deny it, or an administrator says which servers there are; none
                is connected.
        """
        lines = {name: HostLine(self._sender(name)) for name in dict.fromkeys(names) if name not in self._lines}
        configs = [host_server(name, line) for name, line in lines.items()]
        if configs and servers.is_managed:
            raise UsageError("MCP servers are managed by an administrator; others cannot be added")
        for config in configs:
            if why := servers.rules.why_not(config):
                raise UsageError(f"server {config.name!r} is not connected: {why}")
        await servers.start(configs)
        self._lines |= lines

    async def wait_settled(self, servers: McpServers) -> None:
        """Wait until none of them is being connected any more; each has as long as servers have to start."""
        if self._lines:
            await servers.wait_settled(math.inf, self._lines)

    def receive(self, server: str, message: Mapping[str, Any]) -> None:
        """Take what a server says by itself.

        Raises:
            UsageError: The server is unknown or not connected, or this is not a message.
        """
        if server not in self._lines:
            known = ", ".join(self._lines) or "none"
            raise UsageError(f"unknown MCP server {server!r} of the program; expected one of: {known}")
        self._lines[server].receive(message)

    def close(self) -> None:
        """The program has gone, and its servers with it."""
        for line in self._lines.values():
            line.close("the program does not listen any more")

    def _sender(self, server: str) -> Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]:
        def send(message: Mapping[str, Any]) -> Awaitable[Mapping[str, Any]]:
            return _answer_of(self._ask(lambda request: server_message_line(request, server, message)))

        return send


async def _answer_of(asked: Awaitable[Answered | None]) -> Mapping[str, Any]:
    answered = await asked
    if answered is None:
        raise CallFailed("the program has gone")
    if answered.error:
        raise CallFailed(answered.error)
    answer = answered.values.get("mcp_response")
    return answer if isinstance(answer, Mapping) else {}


def read_names(given: object) -> list[str]:
    """Return the names of servers that a program gives.

    Raises:
        UsageError: They are no list of names.
    """
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(value, str) for value in given):
        raise UsageError("sdkMcpServers must be a list of names")
    return given
