"""What connections put on record: each move of a server's status, and nothing of what passes between it and us."""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event


@attrs.frozen(kw_only=True)
class McpEvent(Event):
    """A fact about one server; the actor is its connection."""

    server: str
    """Its name."""


@final
@attrs.frozen(kw_only=True)
class McpStarted(McpEvent):
    """A connection is about to be made."""

    kind: ClassVar[str] = "mcp.started"

    type: str
    """`stdio`, `http`, `sse`, `ws` or `sdk`."""


@final
@attrs.frozen(kw_only=True)
class McpConnected(McpEvent):
    """The server has answered and listed its tools."""

    kind: ClassVar[str] = "mcp.connected"

    says: str
    """What the server calls itself, with its version."""
    protocol: str
    """Version of the protocol that both speak."""
    tools: int
    """How many tools it has."""
    prompts: int = 0
    """How many prompts it has."""
    left_out: tuple[str, ...] = ()
    """What it lists and nobody can use, a line each with the reason; 20 at most."""


@final
@attrs.frozen(kw_only=True)
class McpToolsChanged(McpEvent):
    """The server has listed its tools again."""

    kind: ClassVar[str] = "mcp.tools_changed"

    tools: int
    """How many tools it has now."""
    error: str = ""
    """Why they could not be read, so that those from before hold."""
    left_out: tuple[str, ...] = ()
    """What it lists and nobody can use, a line each with the reason; 20 at most."""


@final
@attrs.frozen(kw_only=True)
class McpPromptsChanged(McpEvent):
    """The server has listed its prompts again."""

    kind: ClassVar[str] = "mcp.prompts_changed"

    prompts: int
    """How many prompts it has now."""
    error: str = ""
    """Why they could not be read, so that those from before hold."""


@final
@attrs.frozen(kw_only=True)
class McpRetried(McpEvent):
    """It could not be connected; after a wait that is tried again."""

    kind: ClassVar[str] = "mcp.retried"

    error: str
    """What went wrong."""
    tries: int
    """Tries in a row that have failed."""
    wait_s: float
    """Seconds until the next try."""


@final
@attrs.frozen(kw_only=True)
class McpLost(McpEvent):
    """A connection that stood was lost; after a wait another one is tried."""

    kind: ClassVar[str] = "mcp.lost"

    error: str
    """What went wrong."""
    wait_s: float
    """Seconds until the next try."""


@final
@attrs.frozen(kw_only=True)
class McpFailed(McpEvent):
    """The server is given up: it could not be connected, or was lost and is not connected again."""

    kind: ClassVar[str] = "mcp.failed"

    error: str
    """What went wrong."""


@final
@attrs.frozen(kw_only=True)
class McpAuthNeeded(McpEvent):
    """The server wants a login."""

    kind: ClassVar[str] = "mcp.auth_needed"

    error: str
    """What the server answered."""


@final
@attrs.frozen(kw_only=True)
class McpClosed(McpEvent):
    """The connection was ended from this side, or whoever has the server has gone."""

    kind: ClassVar[str] = "mcp.closed"

    why: str = ""
    """Why there is nobody there any more; empty where it was ended from this side."""


EVENTS: Final = (
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
"""Every event of this folder."""
