"""Status of a server: a transition table, one step, and the retry plan.

Rule 1: only `step` moves a status. Rule 2: a program that ended is not restarted automatically: its input may have
caused the end, and its state is lost. A remote server is retried, because networks recover.

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
"""Attempts to reach a remote server before it is given up."""
LATER_TRIES: Final = 5
"""Attempts after an established connection was lost."""
STABLE_S: Final = 60.0
"""Seconds after which a connection has its attempts back; one that fails earlier has not."""
BACKOFF: Final = Backoff(first_s=1.0, cap_s=30.0)


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


def plan_retry(*, is_stdio: bool, stood_before: bool, tries: int, chance: float) -> float | None:
    """Return the seconds to wait before the next attempt; None gives up.

    Args:
        is_stdio: True for a program, which is not restarted.
        stood_before: True if it has been connected before.
        tries: Consecutive failed attempts; 0 right after an established connection was lost.
        chance: A number in [0, 1).
    """
    if is_stdio or tries >= (LATER_TRIES if stood_before else FIRST_TRIES):
        return None
    return BACKOFF.delay_s(tries if stood_before else tries - 1, chance)
