"""Checks of mail, for actors whose journal is `full`: only there is every message recorded."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from greenroom.trace._entries import Entry
from greenroom.trace._needs import full_actors

_Box: TypeAlias = str
"""Id of the actor that owns the mailbox."""
_ENDS_A_LEASE: Final = ("message.acked", "message.returned", "message.postponed")


def _mail(entries: Sequence[Entry]) -> Iterator[tuple[Entry, _Box, int]]:
    """Yield the recorded events of mailboxes, with mailbox and message."""
    full = full_actors(entries)
    for entry in entries:
        if _is_mail(entry) and entry.event.actor in full:
            yield entry, entry.event.actor, entry["msg"]


def _is_mail(entry: Entry) -> bool:
    """Return True if the message was in its mailbox."""
    return entry.kind.startswith("message.") and bool(entry.get("was_put", default=True))


def lane_order(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-10: within a lane, leases follow the order of puts, except for returned or picked messages."""
    lanes: dict[tuple[_Box, str], deque[int]] = defaultdict(deque)
    for entry, box, message in _mail(entries):
        lane = lanes[box, entry["lane"]]
        if entry.kind == "message.put":
            lane.append(message)
        elif entry.kind == "message.returned":
            lane.appendleft(message)
        elif message in lane:
            if entry.kind == "message.leased" and lane[0] != message and not entry["is_picked"]:
                yield entry.seq, f"message {message} of {box} is leased before {lane[0]}, which came first"
            lane.remove(message)


def now_first(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-11: nothing is leased from `next` or `later` while `now` has messages, unless it was picked."""
    waiting: dict[_Box, set[int]] = defaultdict(set)
    for entry, box, message in _mail(entries):
        if entry["lane"] == "now":
            if entry.kind in {"message.put", "message.returned"}:
                waiting[box].add(message)
            else:
                waiting[box].discard(message)
        elif entry.kind == "message.leased" and waiting[box] and not entry["is_picked"]:
            yield entry.seq, f"message {message} of {box} is leased while {min(waiting[box])} waits in lane now"


def conserved(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-12: every accepted put ends in exactly one of acknowledged, dead, or still queued; none is left of a terminated
    actor.
    """
    held: dict[_Box, set[int]] = {box: set() for box in full_actors(entries)}
    last: Counter[_Box] = Counter()
    for entry in entries:
        box = entry.event.actor
        if box not in held:
            continue
        if entry.kind == "actor.gone" and held[box]:
            yield entry.seq, f"{box} has terminated, but message {min(held[box])} is neither acknowledged nor dead"
        if not _is_mail(entry):
            continue
        message = entry["msg"]
        if entry.kind == "message.put":
            if message <= last[box]:
                yield entry.seq, f"message {message} of {box} is put after message {last[box]}"
            last[box] = max(last[box], message)
            held[box].add(message)
        elif message not in held[box]:
            yield entry.seq, f"{entry.kind} of message {message} of {box}, which does not hold it"
        elif entry.kind in {"message.acked", "message.died"}:
            held[box].discard(message)


def leased_once(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-13: a message is leased by one turn at a time and released once; a turn has the lease of its message."""
    full = full_actors(entries)
    leased: dict[_Box, set[int]] = defaultdict(set)
    aside: dict[_Box, set[int]] = defaultdict(set)
    for entry in entries:
        box = entry.event.actor
        if box not in full or not (entry.kind == "turn.begin" or _is_mail(entry)):
            continue
        message = entry["msg"]
        if entry.kind == "turn.begin":
            if message not in leased[box]:
                yield entry.seq, f"turn {entry['turn']} of {box} begins with message {message}, which is not leased"
        elif entry.kind == "message.leased":
            if message in leased[box]:
                yield entry.seq, f"message {message} of {box} is leased twice"
            leased[box].add(message)
        elif entry.kind == "message.returned" and message in aside[box]:
            aside[box].discard(message)
        elif entry.kind in _ENDS_A_LEASE and message not in leased[box]:
            yield entry.seq, f"{entry.kind} of message {message} of {box}, which is not leased"
        elif entry.kind != "message.put":
            leased[box].discard(message)
            if entry.kind == "message.postponed":
                aside[box].add(message)


def capacity_kept(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-14: `next` and `later`, with leased and postponed messages, stay within the capacity that `actor.new` states."""
    capacity = {entry.event.actor: entry.get("capacity", 0) for entry in entries if entry.kind == "actor.new"}
    held: dict[_Box, set[int]] = defaultdict(set)
    for entry, box, message in _mail(entries):
        if entry.kind == "message.put" and entry["lane"] != "now" and entry.get("is_counted", default=True):
            held[box].add(message)
            if capacity.get(box) and len(held[box]) > capacity[box]:
                yield (
                    entry.seq,
                    f"message {message} is the {len(held[box])}th of {box}, whose capacity is {capacity[box]}",
                )
        elif entry.kind in {"message.acked", "message.died"}:
            held[box].discard(message)


@attrs.define
class _Aside:
    """The postponed messages of a mailbox, and the returned ones that have not been leased since."""

    waiting: dict[int, bool] = attrs.field(factory=dict)
    """Message to True if its owner has changed state since."""
    back: dict[str, set[int]] = attrs.field(factory=lambda: defaultdict(set))
    requeued: set[int] = attrs.field(factory=set)

    def leased(self, message: int, lane: str) -> str:
        """Return the violation of a lease, or an empty text."""
        due = min((number for number, is_due in self.waiting.items() if is_due), default=0)
        if message in self.waiting:
            return "is leased although it is postponed"
        if due:
            return f"is leased although {due}, which was postponed, has not been returned in the new state"
        first = min(self.back[lane], default=message)
        is_early = first < message and message not in self.requeued
        return f"is leased before {first}, which was postponed" if is_early else ""


def postponed_come_back(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-19: postponed messages return with the next state or incarnation, in order, and before newer ones."""
    boxes: dict[_Box, _Aside] = {box: _Aside() for box in full_actors(entries)}
    for entry in entries:
        box = entry.event.actor
        aside = boxes.get(box)
        if aside is None:
            continue
        if entry.kind in {"actor.entered", "actor.end"}:
            aside.waiting = dict.fromkeys(aside.waiting, True)
        if not _is_mail(entry):
            continue
        message, lane = entry["msg"], entry["lane"]
        if entry.kind == "message.leased" and not entry["is_picked"]:
            fault = aside.leased(message, lane)
            if fault:
                yield entry.seq, f"message {message} of {box} {fault}"
        elif entry.kind == "message.returned" and message in aside.waiting:
            if not aside.waiting.pop(message):
                yield entry.seq, f"message {message} of {box} is returned in the state in which it was postponed"
            aside.back[lane].add(message)
            continue
        elif entry.kind == "message.returned":
            aside.requeued.add(message)
        aside.back[lane].discard(message)
        aside.waiting.pop(message, None)
        if entry.kind == "message.postponed":
            aside.waiting[message] = False
            aside.requeued.discard(message)
