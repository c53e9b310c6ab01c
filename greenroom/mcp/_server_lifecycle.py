"""Status of a server: a transition table and one step.

Rule: only `step` moves a status.

Must not know: clock, Trio, the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from greenroom.core import IllegalTransition
from greenroom.mcp._events import (
    McpAuthNeeded,
    McpClosed,
    McpConnected,
    McpEvent,
    McpFailed,
    McpLost,
    McpPromptsChanged,
    McpRetried,
    McpStarted,
    McpToolsChanged,
)


class ServerStatus(StrEnum):
    """The status of a server."""

    PENDING = "pending"
    """It is being connected."""
    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_AUTH = "needs-auth"
    DISABLED = "disabled"
    """It is not to be connected: not yet, no longer, or not without approval."""


_S = ServerStatus
TRANSITIONS: Final[Mapping[ServerStatus, Mapping[type[McpEvent], ServerStatus]]] = {
    _S.PENDING: {
        McpConnected: _S.CONNECTED,
        McpRetried: _S.PENDING,
        McpFailed: _S.FAILED,
        McpAuthNeeded: _S.NEEDS_AUTH,
        McpClosed: _S.DISABLED,
    },
    _S.CONNECTED: {
        McpToolsChanged: _S.CONNECTED,
        McpPromptsChanged: _S.CONNECTED,
        McpLost: _S.PENDING,
        McpFailed: _S.FAILED,
        McpAuthNeeded: _S.NEEDS_AUTH,
        McpClosed: _S.DISABLED,
    },
    _S.FAILED: {McpStarted: _S.PENDING},
    _S.NEEDS_AUTH: {McpStarted: _S.PENDING},
    _S.DISABLED: {McpStarted: _S.PENDING},
}


def step(status: ServerStatus, event: McpEvent) -> ServerStatus:
    """Return the next status.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[status][type(event)]
    except KeyError:
        raise IllegalTransition(state=status.value, event=event.kind) from None
