"""Status of servers, folded from their events."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.mcp._events import (
    STATUS_EVENTS,
    McpAuthNeeded,
    McpConnected,
    McpEvent,
    McpFailed,
    McpLost,
    McpRetried,
    McpToolsChanged,
)
from greenroom.mcp._server_lifecycle import ServerStatus, step


@final
@attrs.frozen(kw_only=True)
class McpView:
    """One connection, as reconstructed from its events."""

    server: str = ""
    status: ServerStatus = ServerStatus.DISABLED
    tools: int = 0
    error: str = ""
    """Why it is not connected, if known."""

    def lost(self) -> None:
        """Return the state of a connection whose process has gone."""
        return


_NEW: Final = McpView()


def moved(before: McpView | None, event: McpEvent) -> McpView:
    """Apply an event: move the status and copy its fields."""
    view = before or _NEW
    status = step(view.status, event)
    tools = event.tools if isinstance(event, McpConnected | McpToolsChanged) else view.tools
    error = event.error if isinstance(event, McpRetried | McpLost | McpFailed | McpAuthNeeded) else ""
    is_there = status is ServerStatus.CONNECTED
    return McpView(server=event.server, status=status, tools=tools if is_there else 0, error=error)


FOLDS: Final = tuple(("mcp", event_class, "actor", moved) for event_class in STATUS_EVENTS)
"""`(section, event class, key field, function)`, as `greenroom.trace` reads them."""
