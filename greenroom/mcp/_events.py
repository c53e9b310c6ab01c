"""Events of connections: each change of a server's status, and nothing of the messages exchanged."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Final, final

from greenroom.core import Event, OneOf, frozen


@frozen(kw_only=True)
class McpEvent(Event):
    """A fact about one server; the actor is its connection."""

    server: str
    """Its name."""


@final
@frozen(kw_only=True)
class McpStarted(McpEvent):
    """A connection is about to be made."""

    kind: ClassVar[str] = "mcp.started"

    type: str
    """`stdio`, `http`, `sse`, `ws` or `sdk`."""


@final
@frozen(kw_only=True)
class McpConnected(McpEvent):
    """The server has answered and listed its tools."""

    kind: ClassVar[str] = "mcp.connected"

    says: str
    """The server's own name and version."""
    protocol: str
    """Agreed version of the protocol."""
    tools: int
    """Number of tools."""
    prompts: int = 0
    """Number of prompts."""
    left_out: tuple[str, ...] = ()
    """Unusable entries of its lists, one line each with the reason; at most 20."""


@final
@frozen(kw_only=True)
class McpToolsChanged(McpEvent):
    """The server has listed its tools again."""

    kind: ClassVar[str] = "mcp.tools_changed"

    tools: int
    """Number of tools now."""
    error: str = ""
    """Why they could not be read, so that the previous ones stay in force."""
    left_out: tuple[str, ...] = ()
    """Unusable entries of its lists, one line each with the reason; at most 20."""


@final
@frozen(kw_only=True)
class McpPromptsChanged(McpEvent):
    """The server has listed its prompts again."""

    kind: ClassVar[str] = "mcp.prompts_changed"

    prompts: int
    """Number of prompts now."""
    error: str = ""
    """Why they could not be read, so that the previous ones stay in force."""


@final
@frozen(kw_only=True)
class McpRetried(McpEvent):
    """An attempt to connect failed; another one follows after a wait."""

    kind: ClassVar[str] = "mcp.retried"

    error: str
    """The error."""
    tries: int
    """Consecutive failed attempts."""
    wait_s: float
    """Seconds until the next attempt."""


@final
@frozen(kw_only=True)
class McpLost(McpEvent):
    """An established connection was lost; another attempt follows after a wait."""

    kind: ClassVar[str] = "mcp.lost"

    error: str
    """The error."""
    wait_s: float
    """Seconds until the next attempt."""


@final
@frozen(kw_only=True)
class McpFailed(McpEvent):
    """The server was given up: it could not be connected, or was lost and is not retried."""

    kind: ClassVar[str] = "mcp.failed"

    error: str
    """The error."""


@final
@frozen(kw_only=True)
class McpAuthNeeded(McpEvent):
    """The server requires a login."""

    kind: ClassVar[str] = "mcp.auth_needed"

    error: str
    """The server's answer."""


@final
@frozen(kw_only=True)
class McpClosed(McpEvent):
    """The connection was closed from this side, or the program that hosts the server has gone."""

    kind: ClassVar[str] = "mcp.closed"

    why: str = ""
    """Why the host has gone; empty if it was closed from this side."""


class PushRefusal(StrEnum):
    """Why messages that a server pushed are not handed in."""

    UNLISTED = "unlisted"
    """The settings do not list the server as a channel."""
    OF_AGENT = "of-agent"
    """The server belongs to one agent."""
    UNDECLARED = "undeclared"
    """The server does not declare that it pushes."""
    MALFORMED = "malformed"
    """The notification has no usable content."""
    META = "meta"
    """Entries of its `meta` were left out; the message itself was handed in."""
    RATE = "rate"
    """More came than the channel may push."""
    UNREAD = "unread"
    """Too many of its messages wait to be read."""
    UNSTORED = "unstored"
    """The store of the inbox did not take it."""


@final
@frozen(kw_only=True)
class McpPushIgnored(Event):
    """Messages that a server pushed were ignored or dropped: the first one of its kind, or a sum of dropped ones."""

    kind: ClassVar[str] = "mcp.push_ignored"

    server: str
    """Its name."""
    reason: Annotated[str, OneOf(*PushRefusal)]
    """The reason."""
    count: int
    """Number of messages since the last such event."""
    why: str = ""
    """The fault of a malformed one."""


STATUS_EVENTS: Final = (
    McpStarted,
    McpConnected,
    McpToolsChanged,
    McpPromptsChanged,
    McpRetried,
    McpLost,
    McpFailed,
    McpAuthNeeded,
    McpClosed,
)
"""Events of the status of a server."""
EVENTS: Final = (*STATUS_EVENTS, McpPushIgnored)
"""All events of this folder."""
