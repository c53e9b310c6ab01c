"""Actors on Trio: a behavior, a mailbox, a life that can be ended and a turn that can be aborted on its own."""

from greenroom.actors._behavior import Behavior, Parent, Request, Unfinished, is_plain
from greenroom.actors._cell import CURRENT, Cell, current_of
from greenroom.actors._context import Context, Turn
from greenroom.actors._directory import DeadLetter, DeadLetters, Directory
from greenroom.actors._dispatcher import Dispatcher
from greenroom.actors._events import (
    EVENTS,
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorEntered,
    ActorExited,
    ActorGone,
    ActorResumed,
    ActorSuspended,
    ActorUnresponsive,
    AskRefused,
    DrainRequested,
    KillRequested,
    NameRegistered,
    NameReleased,
    StopRequested,
    TurnBegan,
    TurnEnded,
    TurnLinked,
    TurnNoted,
    TurnUnlinked,
    WatchFailed,
)
from greenroom.actors._fold import FOLDS, ActorView, NameView, TurnCounts
from greenroom.actors._later import SendTimer
from greenroom.actors._lifecycle import (
    COMPLETED,
    EDGE_TO,
    TERMINAL,
    TRANSITIONS,
    Edge,
    Outcome,
    State,
    decide_outcome,
    step,
)
from greenroom.actors._links import Link
from greenroom.actors._looking import drain
from greenroom.actors._loop import run_cell
from greenroom.actors._owner import GONE, Incidents, Owner, Surroundings, Verdict
from greenroom.actors._ref import ASK_TIMEOUT_S, AbortResult, AbortStatus, PinnedRef, Ref
from greenroom.actors._signals import Down, Signal
from greenroom.actors._timers import Timer, Timers
from greenroom.actors._watch import Watch

__all__ = [
    "ASK_TIMEOUT_S",
    "COMPLETED",
    "CURRENT",
    "EDGE_TO",
    "EVENTS",
    "FOLDS",
    "GONE",
    "TERMINAL",
    "TRANSITIONS",
    "AbortRequested",
    "AbortResult",
    "AbortStatus",
    "ActorBegan",
    "ActorCreated",
    "ActorEntered",
    "ActorExited",
    "ActorGone",
    "ActorResumed",
    "ActorSuspended",
    "ActorUnresponsive",
    "ActorView",
    "AskRefused",
    "Behavior",
    "Cell",
    "Context",
    "DeadLetter",
    "DeadLetters",
    "Directory",
    "Dispatcher",
    "Down",
    "DrainRequested",
    "Edge",
    "Incidents",
    "KillRequested",
    "Link",
    "NameRegistered",
    "NameReleased",
    "NameView",
    "Outcome",
    "Owner",
    "Parent",
    "PinnedRef",
    "Ref",
    "Request",
    "SendTimer",
    "Signal",
    "State",
    "StopRequested",
    "Surroundings",
    "Timer",
    "Timers",
    "Turn",
    "TurnBegan",
    "TurnCounts",
    "TurnEnded",
    "TurnLinked",
    "TurnNoted",
    "TurnUnlinked",
    "Unfinished",
    "Verdict",
    "Watch",
    "WatchFailed",
    "current_of",
    "decide_outcome",
    "drain",
    "is_plain",
    "run_cell",
    "step",
]
