"""Decisions of recovery: what a session does about the work that an earlier process of its run left.

Rule 1: nothing runs twice: a turn is resumed, never begun anew, and an agent that has ended stays so. Rule 2: each loss is either
told or made good, never both. Rule 3: what cannot be resumed is told. This module must not depend on the clock, the disk, Trio or
actors.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.session.settings._recovery_settings import RecoverySettings

MAX_RECOVERIES: Final = 3
"""Maximum number of times that a run of an agent is resumed by itself, over all processes."""


class TurnPlan(StrEnum):
    """What is done about the main agent's last turn."""

    NOTHING = "nothing"
    """It had ended, or its open calls wait for a person: whatever comes first is taken."""
    RESUME = "resume"
    """The session resumes it before anything new."""
    HOLD = "hold"
    """The agent takes nothing until the program resumes it, or says something else."""


class EndPlan(StrEnum):
    """What is done about the end of a task that nobody was told of."""

    TELL = "tell"
    """Its owner is notified."""
    WAIT = "wait"
    """Its owner is a teammate whose team is not open yet: it is notified then."""
    RESUME = "resume"
    """The agent is resumed under its id."""


@final
@attrs.frozen(kw_only=True)
class LeftTurn:
    """The state of the main agent's last turn."""

    was_lost: bool
    """True if the process ended in it."""
    waits_for_answer: bool = False
    """True if calls of it were deferred, or wait for a person's answer."""
    is_fork: bool = False
    """True if the session is a copy: the run itself may resume the turn."""


@final
@attrs.frozen(kw_only=True)
class LeftEnd:
    """The state of a task whose end nobody was told of."""

    was_lost: bool
    """True if it ended with its process."""
    is_resumable: bool = False
    """True for an agent in the background with a conversation, of a kind that can be resumed."""
    recoveries: int = 0
    """The number of times that this run was resumed by itself already."""
    is_owner_away: bool = False
    """True if its owner is a teammate whose team is not open yet."""


def plan_turn(settings: RecoverySettings, turn: LeftTurn) -> TurnPlan:
    """Return what is done about the main agent's last turn."""
    if not turn.was_lost or turn.waits_for_answer or turn.is_fork:
        return TurnPlan.NOTHING
    return TurnPlan.RESUME if settings.cut_turns == "resume" else TurnPlan.HOLD


def plan_ends(settings: RecoverySettings, ends: Sequence[LeftEnd]) -> tuple[EndPlan, ...]:
    """Return what is done about each end, in their order."""
    return tuple(_plan_end(settings, end) for end in ends)


def _plan_end(settings: RecoverySettings, end: LeftEnd) -> EndPlan:
    is_made_good = settings.lost_agents == "resume" and end.was_lost and end.is_resumable
    if is_made_good and end.recoveries < MAX_RECOVERIES:
        return EndPlan.RESUME
    return EndPlan.WAIT if end.is_owner_away else EndPlan.TELL
