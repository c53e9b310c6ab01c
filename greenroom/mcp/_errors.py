"""What goes wrong with servers: for a program that has to branch on it."""

from __future__ import annotations

from typing import final

from greenroom.core import PeerError


class McpError(PeerError):
    """A server could not do what it was asked to do."""


@final
class ServerDown(McpError):
    """A server is not there, or was lost; its connection ends with this.

    Attributes:
        server: Its name.
        why: What is known, in words.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"the MCP server {server!r} is not connected: {why}")
        self.server = server
        self.why = why


@final
class CallFailed(McpError):
    """A server answered a call with an error, or not in time; the message is the text for a model."""


@final
class MissingServers(McpError):
    """An agent needs servers whose tools are not there.

    Attributes:
        missing: The patterns that no tools were found for.
        why: What is known of each server that they mean, by its name.
    """

    def __init__(self, missing: tuple[str, ...], why: dict[str, str]) -> None:
        known = "; ".join(f"{name}: {text}" for name, text in why.items())
        super().__init__(
            "Agent requires MCP servers that don't have tools available: "
            + ", ".join(missing)
            + (f" ({known})" if known else "")
        )
        self.missing = missing
        self.why = why
