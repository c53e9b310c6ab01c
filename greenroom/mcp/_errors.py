"""What goes wrong with servers: for a program that has to branch on it."""

from __future__ import annotations

from typing import final

from greenroom.core import PeerError, cut_text, message_of


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
class LoginFailed(McpError):
    """A server could not be logged in at, or out of.

    Attributes:
        server: Its name.
        why: What is known, in words and without a secret.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"the MCP server {server!r} was not logged in at: {why}")
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


def told(error: BaseException) -> str:
    """Return what an error says, on one line; of a group, what its first leaf says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = cut_text(error.why) if isinstance(error, ServerDown | LoginFailed) else message_of(error)
    return text if isinstance(error, OSError | PeerError) and text else f"{type(error).__name__}: {text}".rstrip(": ")
