"""Events that say more than those of today, and journals made by hand."""

from __future__ import annotations

from typing import Any, ClassVar, Final, final

import attrs

from greenroom.actors import ActorBegan, ActorCreated, TurnBegan, TurnEnded
from greenroom.core import Cause, Event
from greenroom.inbox import InboxAccepted, InboxTaken
from greenroom.mailbox import MessageAcked, MessageLeased, MessagePut
from tests.trace.planting import Entries, Mutation, insert, move, numbered, place, run, same


@final
@attrs.frozen(kw_only=True)
class KillRequestedWithGrace(Event):
    """What `actor.kill_requested` would be if it told the grace."""

    kind: ClassVar[str] = "actor.kill_requested"

    cause: Cause
    grace_s: float


@final
@attrs.frozen(kw_only=True)
class SupervisorOpened(Event):
    """What a supervisor would put on record if it said what it was told."""

    kind: ClassVar[str] = "supervisor.opened"

    strategy: str = "one_for_one"
    intensity: int = 3
    period_s: float = 60.0
    stop_order: str = "reverse"


@final
@attrs.frozen(kw_only=True)
class MessagePutPinned(Event):
    """What `message.put` would be if it told that it is for this incarnation only."""

    kind: ClassVar[str] = "message.put"

    msg: int
    lane: str
    type: str
    is_pinned: bool = True


def with_grace(entries: Entries, *, late_s: float = 0.0) -> Entries:
    """Record kills with a quarter of a second of grace, and a later end of what they ended."""
    told = [
        attrs.evolve(
            entry,
            event=KillRequestedWithGrace(**same(entry, parent=entry.event.parent, cause=entry["cause"], grace_s=0.25)),
        )
        if entry.kind == "actor.kill_requested"
        else entry
        for entry in entries
    ]
    where = place(told, "actor.end", state="killed")
    return [*told[:where], *(attrs.evolve(one, t=one.t + late_s) for one in told[where:])]


def told(path: str, **fields: Any) -> Mutation:
    """Make the supervisor at a path say what it was told, and nothing else."""

    def mutate(entries: Entries) -> Entries:
        actor = entries[place(entries, "actor.new", path=path)].event.actor
        silent = [entry for entry in entries if (entry.kind, entry.event.actor) != ("supervisor.opened", actor)]
        opened = insert("actor.begin", lambda one: SupervisorOpened(**same(one, **fields)), actor=actor)
        return opened(numbered(silent))

    return mutate


def stop_the_oldest_first(entries: Entries) -> Entries:
    """Make the root ask its first child to stop before its last one."""
    opened = told("")(entries)
    stops = [number for number, one in enumerate(opened) if one.kind == "actor.stop_requested"]
    return move(opened, stops[-1], stops[1])


def crowd_out(_: Entries) -> Entries:
    """An actor with mail waits while another one begins turn after turn; then it has its turn."""
    return run(*crowded(), *turn("a1", 2))


def crowded() -> list[Event]:
    """An actor that has had a turn, and has mail, while another one begins turn after turn."""
    begun = [ActorBegan(actor=text, inc=1) for text in ("a1", "a2")]
    crowd = [event for number in range(1, 300) for event in (put("a2", number), *turn("a2", number))]
    created = [ActorCreated(**NEW, actor=text) for text in ("a1", "a2")]
    return [*created, *begun, put("a1", 1), put("a1", 2), *turn("a1", 1), *crowd]


FLAGS: Final[dict[str, Any]] = {"late_cancel": False, "during_kill": False, "cleanup_cut": False}
NEW: Final[dict[str, Any]] = {
    "inc": 1,
    "path": "",
    "behavior": "B",
    "supervisor": "s",
    "descent": "",
    "journal": "full",
}


def put(actor: str, number: int) -> Event:
    return MessagePut(actor=actor, inc=1, msg=number, lane="next", type="int")


def turn(actor: str, number: int) -> list[Event]:
    """One message, from its lease to the end of its turn."""
    about: dict[str, Any] = {"actor": actor, "inc": 1, "msg": number}
    return [
        MessageLeased(**about, lane="next"),
        TurnBegan(**about, turn=number),
        MessageAcked(**about, lane="next"),
        TurnEnded(**about, turn=number, state="completed", by="", cause=None, error="", **FLAGS),
    ]


def accepted(item: str, *, origin: str = "peer") -> Event:
    return InboxAccepted(item=item, origin=origin, lane="later", entry="prompt", chars=1, was_stored=True)


def taken(item: str) -> Event:
    return InboxTaken(item=item)
