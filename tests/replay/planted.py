"""Journals of runs that went wrong in a known way, made by hand: what somebody finds from the first screen of replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from greenroom.actors import AbortRequested, ActorBegan, ActorCreated, ActorExited, KillRequested, TurnBegan, TurnEnded
from greenroom.actors._events import AskRefused
from greenroom.agents.events import AgentDefined, ToolBegan, ToolEnded
from greenroom.core import Cause, Event, field_values
from greenroom.mailbox import MessageDied
from greenroom.patterns import StepBlocked
from greenroom.session import EVENTS
from greenroom.teams import ItemClaimed, ItemCreated, TeammateJoined, TeamOpened
from greenroom.trace import Codec, Header

RUN: Final = "20261120-225103-k3f9qz"
HEADER: Final = Header(run=RUN, greenroom="1.2", python="3.11", trio="0.30", started="2026-11-21T12:00:00+00:00")
AT: Final[dict[str, Any]] = {"inc": 1}
ANN: Final = "a0000000000000001"
BOB: Final = "a0000000000000002"
BOARD: Final = "a0000000000000003"
USER: Final = Cause("user", "took too long")
Timed = Sequence[tuple[float, Event]]


def written(events: Timed) -> bytes:
    """Return the journal of these events."""
    codec = Codec(EVENTS)
    lines = [codec.encode((seq, t, type(one), *field_values(one)), 0.0) for seq, (t, one) in enumerate(events, start=1)]
    return codec.encode_header(HEADER) + b"".join(lines)


def new(actor: str, path: str, level: str = "turns") -> Timed:
    """Return the beginning of an actor."""
    about: dict[str, Any] = {"behavior": "B", "supervisor": "x", "descent": "", "journal": level}
    return [(0.1, ActorCreated(actor=actor, **AT, path=path, **about)), (0.1, ActorBegan(actor=actor, **AT))]


def agent(actor: str, path: str) -> Timed:
    """Return the beginning of an agent."""
    defined = AgentDefined(actor=actor, **AT, definition="mate", model="m", transcript=f"{actor}.jsonl")
    return [*new(actor, path), (0.1, defined)]


def call(begin_t: float, tool: str, end_t: float | None = None, state: str = "completed", call_id: str = "c1") -> Timed:
    """Return a tool call of Ann's first turn."""
    about: dict[str, Any] = {"actor": ANN, **AT, "turn": 1, "round": 1, "call": call_id, "tool": tool}
    begun: Timed = [(begin_t, ToolBegan(**about, summary="x"))]
    if end_t is None:
        return begun
    return [*begun, (end_t, ToolEnded(**about, state=state, output_chars=1, error=""))]


KILLED: Final[Mapping[str, Any]] = {
    "state": "killed",
    "by": "own",
    "cause": USER,
    "error": "",
    "late_cancel": False,
    "during_kill": False,
    "cleanup_cut": False,
}


def turn_end(t: float, **more: Any) -> tuple[float, Event]:
    """Return the end of Ann's first turn."""
    return t, TurnEnded(actor=ANN, **AT, turn=1, msg=1, **{**KILLED, **more})


AT_WORK: Final[Timed] = [
    *agent(ANN, "session/teams/t/ann"),
    (0.2, TurnBegan(actor=ANN, **AT, turn=1, msg=1)),
]
ABORT: Final = AbortRequested(actor=ANN, **AT, turn=1, cause=USER)

SWALLOWED: Final[Timed] = [
    *AT_WORK,
    *call(0.3, "Crunch"),
    (1.0, ABORT),
    *call(0.3, "Crunch", 2.5)[1:],
    turn_end(2.5, swallowed=True),
]
"""A tool catches the cancellation of its turn and continues."""

SHIELDED: Final[Timed] = [
    *AT_WORK,
    *call(0.3, "Crunch"),
    (1.4, KillRequested(actor=ANN, **AT, cause=USER, grace_s=2.0)),
    *call(0.3, "Crunch", 8.1, "killed")[1:],
    turn_end(8.1, by="ancestor"),
    (8.1, ActorExited(actor=ANN, **AT, **KILLED)),
]
"""A tool waits in a shield for longer than the grace of a kill."""

BLOCKED: Final[Timed] = [
    *AT_WORK,
    *call(0.3, "Crunch", 4.3),
    (4.3, StepBlocked(who=ANN, task="ann", seconds=4.0, where="crunch.py:7 crunch")),
    turn_end(4.4, state="completed", by="", cause=None),
]
"""A tool computes without a checkpoint, so that no other task runs."""

ASK_CYCLE: Final[Timed] = [
    *new(ANN, "desk", "lifecycle"),
    *new(BOB, "clerk", "lifecycle"),
    (0.3, AskRefused(actor=BOB, **AT, target=ANN, ring=(BOB, ANN, BOB))),
]
"""Two plain actors ask each other."""

LOST: Final[Timed] = [
    *new(ANN, "parse", "lifecycle"),
    *new(BOB, "store", "lifecycle"),
    (0.3, MessageDied(actor=BOB, msg=0, lane="next", type="Order", reason="full", was_put=False)),
]
"""A stage of a plain pipeline did not look at what its `tell` returned."""


def joined(actor: str, name: str) -> tuple[float, Event]:
    """Return the event that a teammate has joined."""
    about: dict[str, Any] = {"definition": "mate", "model": "", "color": "", "agent": actor}
    return 0.2, TeammateJoined(actor=actor, **AT, team="t", name=name, **about)


HANGS: Final[Timed] = [
    *new(BOARD, "session/teams/t/board"),
    (0.1, TeamOpened(actor=BOARD, **AT, team="t")),
    *agent(ANN, "session/teams/t/ann"),
    joined(ANN, "ann"),
    (0.2, ItemCreated(actor=BOARD, **AT, team="t", item="1", subject="one", description="Look.", by="lead")),
    (0.2, ItemClaimed(actor=BOARD, **AT, team="t", item="1", owner="ann")),
    (0.3, TurnBegan(actor=ANN, **AT, turn=1, msg=1)),
    *call(0.4, "Glob"),
    *call(0.4, "Glob", call_id="c2"),
    (0.5, ABORT),
    *call(0.4, "Glob", 0.5, "killed")[1:],
    *call(0.4, "Glob", 0.5, "killed", "c2")[1:],
    turn_end(0.5),
]
"""A turn with two calls in flight is aborted, and its item stays with a teammate that does nothing more."""

CASES: Final[Mapping[str, Timed]] = {
    "swallowed": SWALLOWED,
    "shielded": SHIELDED,
    "blocked": BLOCKED,
    "ask cycle": ASK_CYCLE,
    "lost": LOST,
    "hangs": HANGS,
}
