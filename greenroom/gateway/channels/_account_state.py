"""State of a channel account: a transition table, one step, and the wait before the next attempt.

Rule 1: only `step_account` moves a state. Rule 2: an account that was lost is tried again without end, later and later; only a person
stops it. Must not know: clock, Trio, channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from greenroom.core import IllegalTransition
from greenroom.supervisor import Backoff

BACKOFF: Final = Backoff(first_s=1.0, cap_s=300.0)
DEGRADED_FROM: Final = 3
"""Number of losses in a row from which an account counts as degraded."""
STABLE_S: Final = 60.0
"""Seconds that a connection has to stand until its losses are forgotten."""


class AccountState(StrEnum):
    """State of a channel account."""

    STOPPED = "stopped"
    """It is not to be connected, or cannot be made."""
    CONNECTING = "connecting"
    CONNECTED = "connected"
    WAITING = "waiting"
    """It was lost, or not reached, and is tried again after a while."""


class AccountStep(StrEnum):
    """Steps of a channel account."""

    START = "start"
    CONNECT = "connect"
    """The connection stands."""
    LOSE = "lose"
    RETRY = "retry"
    STOP = "stop"


_S = AccountState
ACCOUNT: Final[Mapping[AccountState, Mapping[AccountStep, AccountState]]] = {
    _S.STOPPED: {AccountStep.START: _S.CONNECTING, AccountStep.STOP: _S.STOPPED},
    _S.CONNECTING: {
        AccountStep.CONNECT: _S.CONNECTED,
        AccountStep.LOSE: _S.WAITING,
        AccountStep.STOP: _S.STOPPED,
    },
    # A channel may say twice that it stands.
    _S.CONNECTED: {
        AccountStep.CONNECT: _S.CONNECTED,
        AccountStep.LOSE: _S.WAITING,
        AccountStep.STOP: _S.STOPPED,
    },
    _S.WAITING: {AccountStep.RETRY: _S.CONNECTING, AccountStep.STOP: _S.STOPPED},
}


def step_account(state: AccountState, edge: AccountStep) -> AccountState:
    """Return the next state of an account.

    Raises:
        IllegalTransition: The table has no entry for this pair.
    """
    try:
        return ACCOUNT[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None


def losses_after(losses: int, stood_s: float | None) -> int:
    """Return the number of losses in a row after one more.

    Args:
        losses: The number before it.
        stood_s: How long the connection stood; None if it never did.
    """
    return 1 if stood_s is not None and stood_s >= STABLE_S else losses + 1


def wait_after_loss(losses: int, chance: float) -> float:
    """Return the seconds until the next attempt: 1 s after the first loss, doubled with each, at most 5 minutes.

    Args:
        losses: The number of losses in a row, from 1.
        chance: A number in [0, 1).
    """
    return BACKOFF.delay_s(losses - 1, chance)
