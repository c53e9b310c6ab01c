"""The life of a teammate: its status, what it takes next, and when the lead is notified that it is idle.

Rule 1: the status changes only through the table. Rule 2: a teammate takes a shutdown request first, then messages of
the lead or a person, then those of its peers, each in order, and an item of the board only when nothing else waits;
while its plan awaits approval, peers and items wait too. Rule 3: being idle is a status; the lead is notified once, if
anything has changed since the last notice. This module must not depend on the clock, the disk, Trio or actors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import IllegalTransition
from greenroom.mailbox import Lane
from greenroom.teams._idle_reasons import IdleReason


class MemberStatus(StrEnum):
    """Status of a member of a team."""

    WORKING = "working"
    """Its turn runs, or is about to."""
    IDLE = "idle"
    SHUTDOWN_REQUESTED = "shutdown-requested"
    """Its end was requested and it has not refused; it counts as active."""
    AWAITING_PLAN = "awaiting-plan"
    """It has submitted a plan and waits for the lead's answer."""
    ENDED = "ended"


class TeammateStep(StrEnum):
    """Steps in the life of a teammate."""

    TURN_TAKEN = "turn taken"
    NOTHING_LEFT = "nothing left"
    """A turn has ended, and nothing is waiting that it takes now."""
    SHUTDOWN_ASKED = "shutdown asked"
    SHUTDOWN_REFUSED = "shutdown refused"
    PLAN_HANDED_IN = "plan handed in"
    PLAN_ANSWERED = "plan answered"
    LIFE_ENDED = "life ended"


_M, _S = MemberStatus, TeammateStep
TRANSITIONS: Final[Mapping[MemberStatus, Mapping[TeammateStep, MemberStatus]]] = {
    _M.WORKING: {
        _S.TURN_TAKEN: _M.WORKING,
        _S.NOTHING_LEFT: _M.IDLE,
        _S.SHUTDOWN_ASKED: _M.SHUTDOWN_REQUESTED,
        _S.PLAN_HANDED_IN: _M.AWAITING_PLAN,
        _S.LIFE_ENDED: _M.ENDED,
    },
    _M.IDLE: {
        _S.TURN_TAKEN: _M.WORKING,
        _S.SHUTDOWN_ASKED: _M.SHUTDOWN_REQUESTED,
        _S.PLAN_HANDED_IN: _M.AWAITING_PLAN,  # still waiting since before its team was closed
        _S.LIFE_ENDED: _M.ENDED,
    },
    _M.SHUTDOWN_REQUESTED: {
        _S.TURN_TAKEN: _M.SHUTDOWN_REQUESTED,
        _S.NOTHING_LEFT: _M.SHUTDOWN_REQUESTED,
        _S.SHUTDOWN_ASKED: _M.SHUTDOWN_REQUESTED,
        _S.SHUTDOWN_REFUSED: _M.WORKING,
        _S.PLAN_HANDED_IN: _M.SHUTDOWN_REQUESTED,
        _S.PLAN_ANSWERED: _M.SHUTDOWN_REQUESTED,
        _S.LIFE_ENDED: _M.ENDED,
    },
    _M.AWAITING_PLAN: {
        _S.TURN_TAKEN: _M.AWAITING_PLAN,
        _S.NOTHING_LEFT: _M.AWAITING_PLAN,
        _S.SHUTDOWN_ASKED: _M.SHUTDOWN_REQUESTED,
        _S.PLAN_HANDED_IN: _M.AWAITING_PLAN,
        _S.PLAN_ANSWERED: _M.WORKING,
        _S.LIFE_ENDED: _M.ENDED,
    },
    _M.ENDED: {},
}


def step(status: MemberStatus, event: TeammateStep) -> MemberStatus:
    """Return the status that follows.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[status][event]
    except KeyError:
        raise IllegalTransition(state=status, event=event) from None


# --- availability for items ------------------------------------------------------------------------------------------------


class Availability(StrEnum):
    """Availability of a member for items, as the board knows it from the member's reports."""

    BUSY = "busy"
    """It is in a turn, or something is waiting for it."""
    READY = "ready"
    """It is idle, and is handed the next item."""
    HOLDING = "holding"
    """It is idle, but owns an item in progress and may have only one."""
    PAUSING = "pausing"
    """It is idle, and takes no items until it reports again."""
    ENDED = "ended"
    """It has ended; its last message may arrive later."""


AT_REST: Final = frozenset({Availability.READY, Availability.HOLDING, Availability.PAUSING})
"""The availabilities of idle members."""


# --- what is taken next -------------------------------------------------------------------------------------------------


class WorkSource(StrEnum):
    """Origin of something that waits for a teammate, in the order in which it is taken."""

    SHUTDOWN = "shutdown"
    LEAD = "lead"
    """The lead, a person, or the runtime itself."""
    PEER = "peer"
    ITEM = "item"


RANK: Final[Mapping[WorkSource, int]] = {source: rank for rank, source in enumerate(WorkSource)}
LANE_OF: Final[Mapping[WorkSource, Lane]] = {
    WorkSource.SHUTDOWN: Lane.NOW,
    WorkSource.LEAD: Lane.NEXT,
    WorkSource.PEER: Lane.LATER,
    WorkSource.ITEM: Lane.LATER,
}
"""Lane of its mailbox, by origin."""


def takes(status: MemberStatus, source: WorkSource) -> bool:
    """Return True if a teammate begins a turn with that now."""
    if status is MemberStatus.ENDED:
        return False
    return status is not MemberStatus.AWAITING_PLAN or source in {WorkSource.SHUTDOWN, WorkSource.LEAD}


def plan_next(status: MemberStatus, waiting: Sequence[WorkSource]) -> int | None:
    """Return the position of the waiting thing that is taken next; None if none is.

    Args:
        status: Status of the teammate.
        waiting: Origins, in order of arrival.
    """
    taken = [place for place, source in enumerate(waiting) if takes(status, source)]
    return min(taken, key=lambda place: (RANK[waiting[place]], place), default=None)


# --- what the lead is told ----------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class Idling:
    """A teammate is idle, and why; never the result of its work."""

    reason: IdleReason
    item: str = ""
    """The item of its last turn; empty for none."""
    failure: str = ""
    """The error that ended the turn; only for `failed`."""


def is_news(told: Idling | None, now: Idling, *, was_active: bool, was_asked: bool) -> bool:
    """Return True if the lead is notified that a teammate is idle: a turn in which nothing was done is not news.

    Args:
        told: The last notice; None if there was none.
        now: The current state.
        was_active: True if the teammate has called a tool since.
        was_asked: True if the lead, or a person, has written to it since.
    """
    return was_active or was_asked or told is None or now != told
