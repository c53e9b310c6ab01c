"""What goes wrong with servers: for a program that has to branch on it."""

from __future__ import annotations

from typing import Final, final

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


# By the names of classes, because they are those of libraries that may not be imported yet; the nearest one of an error counts.
_IN_WORDS: Final = {
    "ConnectTimeout": "it took too long to connect",
    "ConnectError": "it cannot be reached",
    "TimeoutException": "it did not answer in time",
    "ProtocolError": "its answer breaks the protocol of the network",
    "NetworkError": "the connection broke off",
    "InvalidURL": "its address cannot be used",
    "UnsupportedProtocol": "its address cannot be used",
    "TooManyRedirects": "it redirects without an end",
    "TooSlowError": "it did not answer in time",
    "ClosedResourceError": "the connection is closed",
    "BrokenResourceError": "the connection broke off",
    "EndOfStream": "the connection broke off",
    "ValidationError": "what it says does not fit the protocol",
    "JSONDecodeError": "what it says is not JSON",
}


def told(error: BaseException) -> str:
    """Return what an error says, on one line and without the names of classes; of a group, what its first leaf says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    why = error.why if isinstance(error, ServerDown | LoginFailed) else message_of(error)
    text = cut_text(" ".join(why.split()))
    kinds = (_IN_WORDS[one.__name__] for one in type(error).__mro__ if one.__name__ in _IN_WORDS)
    words = next(kinds, "")
    if words and text:
        return f"{words}: {text}"
    return words or text or "something went wrong that says nothing of itself"
