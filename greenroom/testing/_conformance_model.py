"""A reference model of a mailbox, in a few lines of plain Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import attrs

from greenroom.mailbox import Lane

# Repeated here, not imported: otherwise the model would follow any change.
LATER_CREDIT: Final = 16
MAX_ATTEMPTS: Final = 3


@attrs.define(eq=False)
class ModelLetter:
    """One message."""

    number: int
    lane: Lane
    size_bytes: int
    is_counted: bool
    attempts: int = 0
    put: int = 0
    """Position among the accepted ones; a producer that waited comes later than it arrived."""


class MailboxModel:
    """Lanes, credit, capacity, producers, leases, dead letters."""

    def __init__(self, capacity: int, capacity_bytes: int, stash_capacity: int = 0) -> None:
        self.capacity = capacity
        self.stash_capacity = stash_capacity
        self.capacity_bytes = capacity_bytes
        self.lanes: dict[Lane, deque[ModelLetter]] = {lane: deque() for lane in Lane}
        self.leased: list[ModelLetter] = []
        self.stash: list[ModelLetter] = []
        self.producers: list[ModelLetter] = []
        self.dead: list[tuple[int, str]] = []
        self.acked: list[int] = []
        self.accepted = 0
        self.overtakings = 0
        self.is_closed = False

    def held(self) -> list[ModelLetter]:
        """Return the messages that count towards the capacity."""
        return [
            letter for queue in (*self.lanes.values(), self.leased, self.stash) for letter in queue if letter.is_counted
        ]

    def has_room(self, size_bytes: int) -> bool:
        """Return True if a message of this size fits now."""
        held = self.held()
        return (
            len(held) < self.capacity and sum(letter.size_bytes for letter in held) + size_bytes <= self.capacity_bytes
        )

    def put(self, letter: ModelLetter) -> str:
        """Put without waiting; return the result."""
        if self.is_closed:
            return "closed"
        if letter.is_counted and (self.producers or not self.has_room(letter.size_bytes)):
            return "full"
        self.accept(letter)
        return "accepted"

    def accept(self, letter: ModelLetter) -> None:
        """Accept a message."""
        self.lanes[letter.lane].append(letter)
        self.accepted += 1
        letter.put = self.accepted

    def admit(self) -> None:
        """Accept the earliest producers, as far as there is room."""
        while self.producers and self.has_room(self.producers[0].size_bytes):
            self.accept(self.producers.pop(0))

    def take(self, lanes: Iterable[Lane] = tuple(Lane)) -> ModelLetter | None:
        """Lease the next message of some lanes."""
        now, next_, later = (self.lanes[lane] if lane in set(lanes) else deque[ModelLetter]() for lane in Lane)
        is_credited = {Lane.NEXT, Lane.LATER} <= set(lanes)
        if now:
            letter = now.popleft()
        elif later and (not next_ or self.overtakings >= LATER_CREDIT):
            letter = later.popleft()
            if is_credited:
                self.overtakings = 0
        elif next_:
            letter = next_.popleft()
            self.overtakings += bool(later) and is_credited
        else:
            return None
        self.leased.append(letter)
        return letter

    def ack(self, letter: ModelLetter) -> None:
        """Remove a leased message."""
        self.leased.remove(letter)
        self.acked.append(letter.number)
        self.admit()

    def nack(self, letter: ModelLetter) -> None:
        """Return a leased message to its lane, or bury it."""
        self.leased.remove(letter)
        if self.is_closed:
            self.dead.append((letter.number, "ended"))
        elif letter.attempts + 1 >= MAX_ATTEMPTS:
            self.dead.append((letter.number, "poison"))
        else:
            letter.attempts += 1
            self.lanes[letter.lane].appendleft(letter)
        self.admit()

    def postpone(self, letter: ModelLetter, *, counts: bool = False) -> None:
        """Set a leased message aside until `recall`, or bury it."""
        self.leased.remove(letter)
        if self.is_closed or len(self.stash) == self.stash_capacity:
            self.dead.append((letter.number, "ended" if self.is_closed else "stash_overflow"))
        elif counts and letter.attempts + 1 >= MAX_ATTEMPTS:
            self.dead.append((letter.number, "poison"))
        else:
            letter.attempts += counts
            self.stash.append(letter)
        self.admit()

    def withdraw(self, letter: ModelLetter) -> None:
        """Remove a waiting message from its lane."""
        for queue in (*self.lanes.values(), self.stash):
            if letter in queue:
                queue.remove(letter)
                self.dead.append((letter.number, "withdrawn"))
        self.admit()

    def recall(self) -> None:
        """Return postponed messages to their lanes, before newer ones, in the order of the puts."""
        for lane, queue in self.lanes.items():
            returned = sorted((letter for letter in self.stash if letter.lane is lane), key=lambda letter: -letter.put)
            queue.extendleft(returned)
        self.stash.clear()

    def close(self) -> None:
        """Close: queued messages are dead, leased ones not yet."""
        if not self.is_closed:
            self.is_closed = True
            self.recall()
            for queue in self.lanes.values():
                self.dead += [(letter.number, "closed") for letter in queue]
                queue.clear()
            self.producers.clear()
