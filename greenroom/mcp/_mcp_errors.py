"""Errors of servers, for programs to branch on."""

from __future__ import annotations

from typing import Final, final

from greenroom.core import PeerError
from greenroom.core.texts import cut_text, message_of, single_error


class McpError(PeerError):
    """A server could not do what was requested."""


@final
class ServerDown(McpError):
    """A server is not connected, or its connection was lost.

    Attributes:
        server: Its name.
        why: The reason in words, as far as known.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"the MCP server {server!r} is not connected: {why}")
        self.server = server
        self.why = why


@final
class LoginFailed(McpError):
    """A login at a server, or a logout, failed.

    Attributes:
        server: Its name.
        why: The reason in words, without a secret.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"login failed for the MCP server {server!r}: {why}")
        self.server = server
        self.why = why


@final
class CallFailed(McpError):
    """A server answered a call with an error, or not in time; the message is the text for a model."""


@final
class MissingServers(McpError):
    """An agent requires servers whose tools are not available.

    Attributes:
        missing: The patterns that matched no tools.
        why: The reason for each server that they match, by its name.
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


# By class names, because the classes belong to libraries that may not be imported yet; the most specific class of an
# error counts.
_IN_WORDS: Final = {
    "ConnectTimeout": "connecting timed out",
    "ConnectError": "it cannot be reached",
    "TimeoutException": "it did not answer in time",
    "ProtocolError": "its answer violates the network protocol",
    "NetworkError": "the connection broke off",
    "InvalidURL": "its URL is invalid",
    "UnsupportedProtocol": "its address cannot be used",
    "TooManyRedirects": "it redirects endlessly",
    "TooSlowError": "it did not answer in time",
    "ClosedResourceError": "the connection is closed",
    "BrokenResourceError": "the connection broke off",
    "EndOfStream": "the connection broke off",
    "ValidationError": "it sent a message that violates the protocol",
    "JSONDecodeError": "it sent a message that is not JSON",
}


def told(error: BaseException) -> str:
    """Return the message of an error on one line, without class names; for a group, that of its first leaf."""
    error = single_error(error, or_first=True)
    why = error.why if isinstance(error, ServerDown | LoginFailed) else message_of(error)
    text = cut_text(" ".join(why.split()))
    kinds = (_IN_WORDS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _IN_WORDS)
    words = next(kinds, "")
    if words and text:
        return f"{words}: {text}"
    return words or text or "unknown error"
