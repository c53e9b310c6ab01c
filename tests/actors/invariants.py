"""The invariants that a record can show, checked without any code of the kernel but its event classes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import attrs

from greenroom.actors import (
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorEntered,
    ActorExited,
    ActorGone,
    KillRequested,
    NameRegistered,
    NameReleased,
    StopRequested,
    TurnBegan,
    TurnEnded,
)
from greenroom.actors._events import WatchFailed
from greenroom.core import Event, Record, event_of
from greenroom.mailbox import MessageAcked, MessageDied, MessageLeased, MessagePostponed, MessagePut, MessageReturned

LEGAL: Final = {
    ("", "pending"),
    ("pending", "running"),
    ("pending", "killed"),
    ("running", "completed"),
    ("running", "failed"),
    ("running", "killed"),
    ("completed", "pending"),
    ("failed", "pending"),
    ("killed", "pending"),
}
ENDED: Final = {"completed", "failed", "killed"}


@attrs.define
class Life:
    """The recorded facts of one actor."""

    state: str = ""
    incarnation: int = 0
    supervisor: str = ""
    turn: int = 0
    is_in_turn: bool = False
    aborted: set[tuple[int, int]] = attrs.Factory(set)
    ended_by_request: bool = False
    is_gone: bool = False
    exit_seq: int = 0
    lanes: dict[str, deque[int]] = attrs.Factory(lambda: {"now": deque(), "next": deque(), "later": deque()})
    leased: dict[int, str] = attrs.Factory(dict)
    postponed: dict[int, bool] = attrs.Factory(dict)


class Checker:
    """Reads the journal's records in order and collects what must not be."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.names: dict[str, str] = {}
        self.found: list[str] = []
        self.seq = 0

    def say(self, invariant: str, event: object) -> None:
        self.found.append(f"{invariant} at {self.seq}: {event}")

    def require(self, holds: object, invariant: str, event: object) -> None:
        if not holds:
            self.say(invariant, event)

    def read(self, record: Record) -> None:
        event = event_of(record)
        self.require(record[0] == self.seq + 1, "I-47", event)
        self.seq = record[0]
        self.require(0 <= event.parent < self.seq, "I-47", event)
        if not event.actor:
            return
        life = self.lives.setdefault(event.actor, Life())
        if life.state in ENDED and event.inc == life.incarnation:
            # After the end only what the exit path writes, and it names the end as its parent.
            exits = ActorGone | NameReleased | MessageDied | MessageReturned | WatchFailed
            self.require(isinstance(event, exits) and event.parent == life.exit_seq, "I-3", event)
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, life, event)

    def move(self, life: Life, state: str, event: Event) -> None:
        self.require((life.state, state) in LEGAL, "I-1", event)
        life.state = state

    def created(self, life: Life, event: ActorCreated) -> None:
        self.move(life, "pending", event)
        self.require(event.inc == life.incarnation + 1, "I-35", event)
        self.require(not life.is_gone, "I-43", event)
        self.require(not life.ended_by_request, "I-36", event)
        life.incarnation, life.supervisor, life.turn = event.inc, event.supervisor, 0

    def began(self, life: Life, event: ActorBegan) -> None:
        self.move(life, "running", event)

    def exited(self, life: Life, event: ActorExited) -> None:
        self.require(not life.is_in_turn, "I-5", event)
        self.move(life, event.state, event)
        life.exit_seq = self.seq
        life.postponed = dict.fromkeys(life.postponed, True)

    def gone(self, life: Life, event: ActorGone) -> None:
        self.require(life.state in ENDED and not life.is_gone, "I-31", event)
        self.require(event.actor not in self.names.values(), "I-31", event)
        self.require(not (life.leased or life.postponed) and not any(life.lanes.values()), "I-12", event)
        life.is_gone = True

    def turn_began(self, life: Life, event: TurnBegan) -> None:
        self.require(life.state == "running" and not life.is_in_turn, "I-4", event)
        self.require(event.turn == life.turn + 1, "I-6", event)
        life.turn, life.is_in_turn = event.turn, True

    def turn_ended(self, life: Life, event: TurnEnded) -> None:
        self.require(life.is_in_turn and event.turn == life.turn, "I-2", event)
        self.require(event.state in ENDED, "I-1", event)
        life.is_in_turn = False
        was_asked = (event.inc, event.turn) in life.aborted
        if event.state == "killed" and event.by == "own":
            self.require(was_asked, "I-22", event)
        if was_asked and event.state == "completed":
            self.require(event.late_cancel, "I-29", event)

    def abort_requested(self, life: Life, event: AbortRequested) -> None:
        self.require(life.is_in_turn and event.turn == life.turn, "I-28", event)
        life.aborted.add((event.inc, event.turn))

    def end_requested(self, life: Life, event: StopRequested | KillRequested) -> None:
        # A supervisor stops children that it will start again; anybody else means it.
        if event.cause.who != life.supervisor:
            life.ended_by_request = True

    def registered(self, life: Life, event: NameRegistered) -> None:
        self.require(event.name not in self.names, "I-42", event)
        self.names[event.name] = event.actor

    def released(self, life: Life, event: NameReleased) -> None:
        self.require(self.names.pop(event.name, "") == event.actor, "I-42", event)

    # --- messages ---

    def put(self, life: Life, event: MessagePut) -> None:
        life.lanes[event.lane].append(event.msg)

    def message_leased(self, life: Life, event: MessageLeased) -> None:
        lane = life.lanes[event.lane]
        self.require(not any(life.postponed.values()), "I-19", event)
        # A drain of some lanes, or of one class of messages, picks; what it picks may wait behind others.
        self.require(event.is_picked or event.lane == "now" or not life.lanes["now"], "I-11", event)
        self.require(event.msg not in life.leased, "I-13", event)
        if event.msg in (lane if event.is_picked else [*lane][:1]):
            lane.remove(event.msg)
        else:
            self.say("I-10", event)
        life.leased[event.msg] = event.lane

    def acked(self, life: Life, event: MessageAcked) -> None:
        self.require(life.leased.pop(event.msg, None), "I-13", event)

    def entered(self, life: Life, event: ActorEntered) -> None:
        self.require(life.state == "running", "I-4", event)
        life.postponed = dict.fromkeys(life.postponed, True)

    def postpone(self, life: Life, event: MessagePostponed) -> None:
        self.require(life.leased.pop(event.msg, None), "I-13", event)
        life.postponed[event.msg] = False

    def returned(self, life: Life, event: MessageReturned) -> None:
        if event.msg in life.postponed:
            self.require(life.postponed.pop(event.msg), "I-19", event)
            self.require(event.msg < min(life.lanes[event.lane], default=event.msg + 1), "I-19", event)
        else:
            self.require(life.leased.pop(event.msg, None), "I-13", event)
        life.lanes[event.lane].appendleft(event.msg)

    def died(self, life: Life, event: MessageDied) -> None:
        if not event.was_put or life.leased.pop(event.msg, ""):
            return
        if event.msg in life.postponed:
            del life.postponed[event.msg]
            return
        if event.msg in life.lanes[event.lane]:
            life.lanes[event.lane].remove(event.msg)
        # Below level `full` puts are not on record, so nothing can be said.

    def finish(self) -> None:
        for actor, life in self.lives.items():
            self.require(life.state in ENDED, "I-9", f"{actor} is {life.state}")
            self.require(life.is_gone, "I-9", f"{actor} is not gone")
        self.require(not self.names, "I-49", self.names)


HANDLERS: Final[dict[type[Event], Any]] = {
    ActorCreated: Checker.created,
    ActorBegan: Checker.began,
    ActorEntered: Checker.entered,
    ActorExited: Checker.exited,
    ActorGone: Checker.gone,
    TurnBegan: Checker.turn_began,
    TurnEnded: Checker.turn_ended,
    AbortRequested: Checker.abort_requested,
    StopRequested: Checker.end_requested,
    KillRequested: Checker.end_requested,
    NameRegistered: Checker.registered,
    NameReleased: Checker.released,
    MessagePut: Checker.put,
    MessageLeased: Checker.message_leased,
    MessageAcked: Checker.acked,
    MessagePostponed: Checker.postpone,
    MessageReturned: Checker.returned,
    MessageDied: Checker.died,
}


def violations(records: Iterable[Record], *, is_over: bool = True) -> list[str]:
    """Return what the record of a run shows that must not be; empty when all is well.

    Args:
        records: What the recorder holds; nothing of it may have been overwritten.
        is_over: Whether the runtime has closed, so that nothing may be left.
    """
    checker = Checker()
    for record in records:
        if record[0] > 0:  # the others are for the recorder only
            checker.read(record)
    if is_over:
        checker.finish()
    return checker.found
