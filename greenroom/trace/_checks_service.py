"""Checks of mail delivery: numbers without gaps, restarts without loss, and a turn in bounded time.

State that an actor owns by its id is checked only if `actor.new` says that its journal is `full`.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from greenroom.actors import State
from greenroom.mailbox import BUDGET, LATER_CREDIT, DeadReason
from greenroom.trace._checks_machines import Machine, machine_of
from greenroom.trace._entries import Entry

MAX_TURNS: Final = 4 * BUDGET
"""Maximum number of turns that another actor begins while an actor with mail is ready: each yields after 64 turns, and
a Trio task that was woken runs before another one has run twice.
"""


def _full(entries: Sequence[Entry]) -> set[str]:
    return {entry.event.actor for entry in entries if entry.kind == "actor.new" and entry["journal"] == "full"}


def refused_without_trace(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-15: a mailbox numbers accepted messages 1, 2, 3 ..., so that a refused message leaves no gap and has no number."""
    full = _full(entries)
    last: Counter[str] = Counter()
    for entry in entries:
        box = entry.event.actor
        if box not in full:
            continue
        if entry.kind == "message.put":
            if entry["msg"] > last[box] + 1:
                yield entry.seq, f"message {entry['msg']} of {box} is put, but {last[box] + 1} never was"
            last[box] = max(last[box], entry["msg"])
        elif entry.kind == "message.died" and not entry["was_put"] and 0 < entry["msg"] <= last[box]:
            yield entry.seq, f"message {entry['msg']} of {box} was put, but is recorded as refused"


@attrs.define
class _Box:
    """The mail of one actor that matters for a restart."""

    put_in: dict[int, tuple[int, bool]] = attrs.field(factory=dict)
    """Message to the incarnation at its put, and whether it was pinned to that one."""
    leased: dict[int, Entry] = attrs.field(factory=dict)
    ended: Entry | None = None
    lost: list[Entry] = attrs.field(factory=list)
    """Messages that died since the last incarnation ended, and must not if another one follows."""

    def died(self, entry: Entry) -> None:
        """Record a dead message."""
        self.leased.pop(entry["msg"], None)
        incarnation, is_pinned = self.put_in.pop(entry["msg"], (0, False))
        if self.ended is None or entry["reason"] in {DeadReason.POISON, DeadReason.WITHDRAWN}:
            return
        # Old journals do not record pinning; their messages of this incarnation are given the benefit of the doubt.
        if entry["reason"] == DeadReason.ENDED and is_pinned and incarnation == self.ended.event.inc:
            return
        self.lost.append(entry)


def mail_outlives_restarts(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-17: between two incarnations only messages pinned to the first one die, and none stays leased."""
    full = _full(entries)
    boxes: defaultdict[str, _Box] = defaultdict(_Box)
    for entry in entries:
        if entry.event.actor not in full:
            continue
        box = boxes[entry.event.actor]
        match entry.kind:
            case "message.put":
                box.put_in[entry["msg"]] = entry.event.inc, entry.get("is_pinned", default=True)
            case "message.leased":
                box.leased[entry["msg"]] = entry
            case "message.acked" | "message.returned":
                box.leased.pop(entry["msg"], None)
            case "message.died" if entry["was_put"]:
                box.died(entry)
            case "actor.end":
                box.ended = entry
            case "actor.gone":
                del boxes[entry.event.actor]
            case "actor.new":
                for lost in box.lost:
                    why = f"died ({lost['reason']}) although incarnation {entry.event.inc} follows at {entry.seq}"
                    yield lost.seq, f"message {lost['msg']} of {lost.event.actor} {why}"
                for message, lease in box.leased.items():
                    who = f"{entry.event.actor} begins incarnation {entry.event.inc}"
                    yield entry.seq, f"{who} while message {message}, leased at {lease.seq}, is still out"
                box.ended, box.lost, box.leased = None, [], {}


def later_is_served(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-18: while `later` has messages, at most 16 messages of `next` are served; picked ones do not count."""
    full = _full(entries)
    waiting: dict[str, dict[int, Entry]] = defaultdict(dict)
    served: Counter[str] = Counter()
    for entry in entries:
        box = entry.event.actor
        if box not in full or not entry.kind.startswith("message."):
            continue
        if entry["lane"] == "later":
            if entry.kind in {"message.put", "message.returned"}:
                waiting[box].setdefault(entry["msg"], entry)
            else:
                waiting[box].pop(entry["msg"], None)
            if entry.kind == "message.leased":
                served[box] = 0
        elif entry.kind == "message.leased" and entry["lane"] == "next" and waiting[box] and not entry["is_picked"]:
            served[box] += 1
            if served[box] > LATER_CREDIT:
                first = next(iter(waiting[box].values()))
                what = f"message {entry['msg']} is the {served[box]}th message of next that {box} takes"
                yield entry.seq, f"{what} while {first['msg']} has been waiting in later since {first.seq}"


@attrs.define
class _Idle:
    """An actor between two turns."""

    since: int | None = None
    """Position of the event since which it has been free with mail."""
    is_free: bool = False
    has_failed: bool = False
    """True if its last turn failed, so that it may be about to end."""
    finding: tuple[int, str] | None = None
    """A violation unless the actor turns out to be about to end."""


class _Turns:
    """Free actors with mail, while the entries are walked (I-24)."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.full = _full(entries)
        self.entries = entries
        self.idle: defaultdict[Machine, _Idle] = defaultdict(_Idle)
        self.mail: defaultdict[str, set[int]] = defaultdict(set)
        self.recent: defaultdict[Machine, deque[int]] = defaultdict(lambda: deque(maxlen=MAX_TURNS))
        self.suspended: set[str] = set()
        self.longest = -1
        """Latest position since which one actor has begun `MAX_TURNS` turns."""

    def find(self, place: int, entry: Entry) -> Iterator[tuple[int, str]]:
        """Process the next entry."""
        machine = machine_of(entry)
        if entry.kind == "turn.begin":
            recent = self.recent[machine]
            recent.append(place)
            if len(recent) == MAX_TURNS:
                self.longest = max(self.longest, recent[0])
        elif entry.kind == "actor.suspended":
            self.suspended.add(machine[0])
        elif entry.kind in {"actor.resumed", "actor.new"}:
            self.suspended.discard(machine[0])
        if machine[0] in self.full:
            yield from self._look(place, entry, machine)

    def _look(self, place: int, entry: Entry, machine: Machine) -> Iterator[tuple[int, str]]:
        idle, waiting = self.idle[machine], self.mail[machine[0]]
        late = self.entries[idle.since] if idle.since is not None and self.longest > idle.since else None
        match entry.kind:
            case "message.put" | "message.returned":
                waiting.add(entry["msg"])
            case "message.died":
                waiting.discard(entry["msg"])
            case "message.leased":
                waiting.discard(entry["msg"])
                idle.since = None
                if late is not None:
                    yield entry.seq, _late(machine[0], late)
            case "turn.begin":
                idle.is_free = False
            case "turn.end":
                idle.is_free, idle.has_failed = True, entry["state"] == State.FAILED
            case "actor.stop_requested" | "actor.kill_requested":
                if late is not None and not idle.has_failed:
                    idle.finding = entry.seq, _late(machine[0], late)
                idle.is_free = False
            case "actor.end" if idle.finding is not None and entry["state"] != State.FAILED:
                yield idle.finding
        if not (idle.is_free and waiting) or machine[0] in self.suspended:
            idle.since = None
        elif idle.since is None:
            idle.since = place


def mail_gets_its_turn(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-24: after any end of a turn, an actor with mail takes a message before another one has begun 256 turns."""
    turns = _Turns(entries)
    for place, entry in enumerate(entries):
        yield from turns.find(place, entry)


def _late(actor: str, since: Entry) -> str:
    return f"{actor} was free with mail since {since.seq}, and another actor began {MAX_TURNS} turns meanwhile"


def pinned_stays(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-43: no id is used twice, and a message sent to one incarnation is leased by no other."""
    known: dict[str, Entry] = {}
    pinned: dict[tuple[str, int], Entry] = {}
    for entry in entries:
        actor = entry.event.actor
        if entry.kind == "actor.new" and entry.event.inc == 1:
            if actor in known:
                yield entry.seq, f"the id {actor} is used again, after {known[actor].seq}"
            known.setdefault(actor, entry)
        elif entry.kind == "message.put" and entry.get("is_pinned", default=False):
            pinned[actor, entry["msg"]] = entry
        elif entry.kind == "message.leased":
            put = pinned.get((actor, entry["msg"]))
            if put is not None and put.event.inc != entry.event.inc:
                whose = f"message {entry['msg']} of {actor} was put for incarnation {put.event.inc} at {put.seq}"
                yield entry.seq, f"{whose} and is leased by {entry.event.inc}"
