"""The life of a teammate: where it stands, what it takes next, and when the lead hears that it has nothing to do.

Rule 1: its status changes through the table alone. Rule 2: it takes a request to shut down before what the lead or a person says,
that before what its peers say, in the order in which that came, and an item of the board only when nothing else waits (agents
7.61); while its plan waits for the lead's word, peers and items wait too. Rule 3: being idle is a status; the lead is told of it
once, when something has changed since it was told last (agents 7.57).
Must not know: clock, disk, Trio, actors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import IllegalTransition
from greenroom.mailbox import Lane
from greenroom.teams._protocol import IdleReason


class MemberStatus(StrEnum):
    """Where a member of a team stands."""

    WORKING = "working"
    """A turn of it runs, or is about to."""
    IDLE = "idle"
    SHUTDOWN_REQUESTED = "shutdown-requested"
    """It was asked to end and has not refused; it counts as active."""
    AWAITING_PLAN = "awaiting-plan"
    """It has handed in a plan and waits for the lead's word."""
    ENDED = "ended"


class MateStep(StrEnum):
    """What happens to a teammate."""

    TURN_TAKEN = "turn taken"
    NOTHING_LEFT = "nothing left"
    """A turn has ended, and nothing waits that it takes now."""
    SHUTDOWN_ASKED = "shutdown asked"
    SHUTDOWN_REFUSED = "shutdown refused"
    PLAN_HANDED_IN = "plan handed in"
    PLAN_ANSWERED = "plan answered"
    LIFE_ENDED = "life ended"


_M, _S = MemberStatus, MateStep
TRANSITIONS: Final[Mapping[MemberStatus, Mapping[MateStep, MemberStatus]]] = {
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
        _S.PLAN_HANDED_IN: _M.AWAITING_PLAN,  # it waits still, from before its team was closed
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


def step(status: MemberStatus, event: MateStep) -> MemberStatus:
    """Return the status that follows, or refuse.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[status][event]
    except KeyError:
        raise IllegalTransition(state=status, event=event) from None


# --- what is taken next -------------------------------------------------------------------------------------------------


class Source(StrEnum):
    """Where something that waits for a mate comes from, in the order in which it is taken."""

    SHUTDOWN = "shutdown"
    LEAD = "lead"
    """The lead, a person, or the runtime itself."""
    PEER = "peer"
    ITEM = "item"


RANK: Final[Mapping[Source, int]] = {source: rank for rank, source in enumerate(Source)}
LANE_OF: Final[Mapping[Source, Lane]] = {
    Source.SHUTDOWN: Lane.NOW,
    Source.LEAD: Lane.NEXT,
    Source.PEER: Lane.LATER,
    Source.ITEM: Lane.LATER,
}
"""In which lane of its mailbox it waits."""


def takes(status: MemberStatus, source: Source) -> bool:
    """Whether a mate begins a turn with that now."""
    if status is MemberStatus.ENDED:
        return False
    return status is not MemberStatus.AWAITING_PLAN or source in {Source.SHUTDOWN, Source.LEAD}


def plan_next(status: MemberStatus, waiting: Sequence[Source]) -> int | None:
    """Return which of the things that wait is taken next, by its place; None where none is.

    Args:
        status: Where the mate stands.
        waiting: In the order in which they came.
    """
    taken = [place for place, source in enumerate(waiting) if takes(status, source)]
    return min(taken, key=lambda place: (RANK[waiting[place]], place), default=None)


# --- what the lead is told ----------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class Idling:
    """That a mate has nothing to do, and why; never what its work came to."""

    reason: IdleReason
    item: str = ""
    """The item whose turn it was; empty for none."""
    failure: str = ""
    """What ended the turn; only with `failed`."""


def is_news(told: Idling | None, now: Idling, *, was_active: bool, was_asked: bool) -> bool:
    """Whether the lead is told that a mate is idle: a turn in which nothing was done is no news.

    Args:
        told: What the lead was told last; None for nothing so far.
        now: How it is now.
        was_active: Whether the mate did anything since then but talk to itself.
        was_asked: Whether the lead, or a person, said something to it since then.
    """
    return was_active or was_asked or told is None or now != told
