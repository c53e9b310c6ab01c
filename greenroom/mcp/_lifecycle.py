"""The status of a server: a table, one step, and how long to wait before the next try.

Rule 1: nobody writes a status but `step`. Rule 2: a program that ended is not started again by itself: it may have ended for
what it was told, and what it knew is gone; an address is tried again, because networks come back.
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
from greenroom.supervisor import Backoff

FIRST_TRIES: Final = 3
"""How often an address is tried before it is given up."""
LATER_TRIES: Final = 5
"""How often it is tried again once a connection that stood was lost."""
STABLE_S: Final = 60.0
"""A connection that stood so long has its tries again; one that falls at once has not."""
BACKOFF: Final = Backoff(first_s=1.0, cap_s=30.0)


class ServerStatus(StrEnum):
    """How a server stands."""

    PENDING = "pending"
    """It is being connected."""
    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_AUTH = "needs-auth"
    DISABLED = "disabled"
    """Nobody wants it connected: not yet, not any more, or not without approval."""


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
    """Return the status that follows, or refuse.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[status][type(event)]
    except KeyError:
        raise IllegalTransition(state=status.value, event=event.kind) from None


def plan_retry(*, is_stdio: bool, stood_before: bool, tries: int, chance: float) -> float | None:
    """Return the seconds to wait before the next try; None gives up.

    Args:
        is_stdio: Whether it is a program, which is not started again.
        stood_before: Whether a connection of it stood before.
        tries: Tries in a row that have failed; 0 right after a connection that stood was lost.
        chance: A number in [0, 1).
    """
    if is_stdio or tries >= (LATER_TRIES if stood_before else FIRST_TRIES):
        return None
    return BACKOFF.delay_s(tries if stood_before else tries - 1, chance)
