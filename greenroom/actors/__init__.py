"""Actors on Trio: a behavior, a mailbox, and separate cancellation of an actor and of its current turn."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.actors._behavior import Behavior, Parent, traits_of
    from greenroom.actors._cell import CURRENT, ActorContext, Cell, current_of
    from greenroom.actors._context import Context
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
        DrainRequested,
        KillRequested,
        NameRegistered,
        NameReleased,
        StopRequested,
        TurnBegan,
        TurnEnded,
        TurnNoted,
    )
    from greenroom.actors._incarnation import LifeSpec, Owner
    from greenroom.actors._lifecycle import GONE, Outcome, Unfinished, Verdict, decide_outcome, describe, text_of
    from greenroom.actors._loop import run_cell
    from greenroom.actors._ref import ASK_TIMEOUT_S, AbortResult, AbortStatus, PinnedRef, Ref, Request
    from greenroom.actors._send_timer import SendTimer
    from greenroom.actors._states import EDGE_TO, TERMINAL, TRANSITIONS, Edge, EndState, State, step
    from greenroom.actors._subscription import Down, Signal, Subscription
    from greenroom.actors._turn import Turn
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.actors._behavior": ("Behavior", "Parent", "traits_of"),
            "greenroom.actors._cell": ("CURRENT", "ActorContext", "Cell", "current_of"),
            "greenroom.actors._context": ("Context",),
            "greenroom.actors._directory": ("DeadLetter", "DeadLetters", "Directory"),
            "greenroom.actors._dispatcher": ("Dispatcher",),
            "greenroom.actors._events": (
                "EVENTS",
                "AbortRequested",
                "ActorBegan",
                "ActorCreated",
                "ActorEntered",
                "ActorExited",
                "ActorGone",
                "ActorResumed",
                "ActorSuspended",
                "ActorUnresponsive",
                "DrainRequested",
                "KillRequested",
                "NameRegistered",
                "NameReleased",
                "StopRequested",
                "TurnBegan",
                "TurnEnded",
                "TurnNoted",
            ),
            "greenroom.actors._incarnation": ("LifeSpec", "Owner"),
            "greenroom.actors._lifecycle": (
                "GONE",
                "Outcome",
                "Unfinished",
                "Verdict",
                "decide_outcome",
                "describe",
                "text_of",
            ),
            "greenroom.actors._loop": ("run_cell",),
            "greenroom.actors._ref": ("ASK_TIMEOUT_S", "AbortResult", "AbortStatus", "PinnedRef", "Ref", "Request"),
            "greenroom.actors._send_timer": ("SendTimer",),
            "greenroom.actors._states": ("EDGE_TO", "TERMINAL", "TRANSITIONS", "Edge", "EndState", "State", "step"),
            "greenroom.actors._subscription": ("Down", "Signal", "Subscription"),
            "greenroom.actors._turn": ("Turn",),
        },
    )

__all__ = [
    "ASK_TIMEOUT_S",
    "CURRENT",
    "EDGE_TO",
    "EVENTS",
    "GONE",
    "TERMINAL",
    "TRANSITIONS",
    "AbortRequested",
    "AbortResult",
    "AbortStatus",
    "ActorBegan",
    "ActorContext",
    "ActorCreated",
    "ActorEntered",
    "ActorExited",
    "ActorGone",
    "ActorResumed",
    "ActorSuspended",
    "ActorUnresponsive",
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
    "EndState",
    "KillRequested",
    "LifeSpec",
    "NameRegistered",
    "NameReleased",
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
    "Subscription",
    "Turn",
    "TurnBegan",
    "TurnEnded",
    "TurnNoted",
    "Unfinished",
    "Verdict",
    "current_of",
    "decide_outcome",
    "describe",
    "run_cell",
    "step",
    "text_of",
    "traits_of",
]
