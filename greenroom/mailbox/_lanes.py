"""The messages of a mailbox: three lanes with their order of service, leased and postponed messages.

Rule 1: `now` is strict; after 16 messages of `next` while `later` waits, one of `later` is served. Rule 2: a withdrawn
message leaves a tombstone in its lane until it reaches the front, because removing it from the middle is a linear search.
Must not know: capacity, producers, events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, final

import attrs

from greenroom.mailbox._envelope import NEXT, NOW, Envelope, Lane, M

BUDGET: Final = 64
"""Maximum number of messages that a consumer takes without yielding."""
LATER_CREDIT: Final = 16
"""Maximum number of messages of `next` that are served while `later` waits."""
MAX_TOMBSTONES: Final = 16
"""Maximum number of tombstones in the lanes, or as many as there are other messages."""

_CREDITED: Final = frozenset({Lane.NEXT, Lane.LATER})


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Lanes(Generic[M]):
    """Waiting, leased and postponed messages. Queues are created on first use: an empty deque takes 0.7 kB."""

    now: deque[Envelope[M]] | None = None
    next: deque[Envelope[M]] | None = None
    later: deque[Envelope[M]] | None = None
    _credit: int = LATER_CREDIT
    _tombstones: int = 0
    lease: Envelope[M] | None = None
    """The leased message: nearly always there is at most one, and a slot costs a third of a dictionary entry."""
    _more_leased: dict[int, Envelope[M]] | None = None
    overflows: int = 0
    """Number of puts into `now` above its soft limit."""
    stash: list[Envelope[M]] | None = None
    """Postponed messages."""
    has_pinned: bool = False
    """True if a message was pinned to the current incarnation; it may have been served."""

    def __len__(self) -> int:
        """Return the number of waiting messages; postponed ones do not count."""
        return len(self.now or ()) + len(self.next or ()) + len(self.later or ()) - self._tombstones

    @property
    def is_empty(self) -> bool:
        """True if no message waits."""
        return not (self.now or self.next or self.later) or (self._tombstones > 0 and not len(self))

    def of(self, lane: Lane) -> deque[Envelope[M]]:
        """Return the queue of a lane, tombstones included."""
        queue = self.now if lane is NOW else self.next if lane is NEXT else self.later
        if queue is None:
            queue = deque()
            if lane is NOW:
                self.now = queue
            elif lane is NEXT:
                self.next = queue
            else:
                self.later = queue
        return queue

    def depth(self, lane: Lane) -> int:
        """Return the number of messages that wait in a lane."""
        return sum(envelope.number > 0 for envelope in self.of(lane)) if self._tombstones else len(self.of(lane))

    def waiting(self) -> list[Envelope[M]]:
        """Return the waiting messages, lane by lane."""
        return [
            envelope for queue in (self.now, self.next, self.later) if queue for envelope in queue if envelope.number
        ]

    def is_waiting(self, envelope: Envelope[M]) -> bool:
        """True if a message waits or is postponed; a linear search."""
        return envelope.number > 0 and (envelope in self.of(envelope.lane) or envelope in (self.stash or ()))

    @property
    def leased(self) -> Sequence[Envelope[M]]:
        """The leased messages, in the order in which they were put."""
        first = () if self.lease is None else (self.lease,)
        if not self._more_leased:
            return first
        return tuple(sorted((*first, *self._more_leased.values()), key=lambda envelope: envelope.number))

    # --- order of service --------------------------------------------------------------------------------------------

    def take(self, among: frozenset[Lane] | None = None) -> Envelope[M] | None:
        """Lease the next message, of some lanes only if `among` is given; return None if none waits."""
        if self._tombstones:
            for waiting in (self.now, self.next, self.later):
                while waiting and not waiting[0].number:
                    waiting.popleft()
                    self._tombstones -= 1
        now, next_, later = self.now, self.next, self.later
        if among is not None:
            now = now if NOW in among else None
            next_ = next_ if NEXT in among else None
            later = later if Lane.LATER in among else None
        if now:
            queue = now
        elif later and (not next_ or self._credit <= 0):
            queue = later
            if among is None or among >= _CREDITED:  # the credit is between the two, so both must be eligible
                self._credit = LATER_CREDIT
        elif next_:
            queue = next_
            if later:
                self._credit -= 1
        else:
            return None
        envelope = queue.popleft()
        if self.lease is None:
            self.lease = envelope
        else:
            self._lease_more(envelope)
        return envelope

    def _lease_more(self, envelope: Envelope[M]) -> None:
        if self._more_leased is None:
            self._more_leased = {}
        self._more_leased[envelope.number] = envelope

    def pick(self, among: frozenset[Lane], limit: int, wanted: Callable[[Envelope[M]], bool]) -> Iterator[Envelope[M]]:
        """Lease and yield up to `limit` wanted messages of some lanes, lane by lane."""
        eligible = [envelope for envelope in self.waiting() if envelope.lane in among and wanted(envelope)]
        for envelope in eligible[:limit]:
            self.of(envelope.lane).remove(envelope)
            self._lease_more(envelope)
            yield envelope

    def release(self, envelope: Envelope[M]) -> bool:
        """End the lease of a message; return False if it is not leased."""
        if envelope is self.lease:
            self.lease = None
            return True
        if self._more_leased is None or self._more_leased.get(envelope.number) is not envelope:
            return False
        del self._more_leased[envelope.number]
        return True

    def put_back(self, envelope: Envelope[M]) -> None:
        """Return a message to the front of its lane."""
        self.of(envelope.lane).appendleft(envelope)

    def postpone(self, envelope: Envelope[M]) -> None:
        """Add a message to the stash."""
        if self.stash is None:
            self.stash = []
        self.stash.append(envelope)

    def recall(self) -> list[Envelope[M]]:
        """Return the postponed messages to the front of their lanes, in their original order; the latest comes first."""
        recalled = sorted(self.stash or (), key=lambda envelope: envelope.number, reverse=True)
        self.stash = None
        for envelope in recalled:
            self.put_back(envelope)
        return recalled

    # --- removal -----------------------------------------------------------------------------------------------------

    def withdraw(self, envelope: Envelope[M], *, is_known: bool) -> bool:
        """Remove a message that waits or is postponed; return False if it is leased or gone.

        `is_known` saves the search for a message of which the caller knows that it is neither served nor dead.
        """
        if envelope is self.lease or envelope in (self._more_leased or {}).values():
            return False
        if self.stash and envelope in self.stash:
            self.stash.remove(envelope)
        elif is_known or self.is_waiting(envelope):
            self._tombstones += 1
        else:
            return False
        return True

    def remove_pinned(self) -> Iterator[Envelope[M]]:
        """Remove and yield the messages that are pinned to the incarnation that has ended."""
        for envelope in self.waiting() if self.has_pinned else ():
            if envelope.is_pinned:
                self.of(envelope.lane).remove(envelope)
                yield envelope
        self.has_pinned = False

    def clear(self) -> Sequence[Envelope[M]]:
        """Remove and return all messages, postponed ones first."""
        is_empty = not (self.stash or self.now or self.next or self.later)
        everything = () if is_empty else (*(self.stash or ()), *self.waiting())
        self.stash = self.now = self.next = self.later = None
        self._tombstones = 0
        return everything

    def sweep(self) -> None:
        """Remove the tombstones if they are too many."""
        if self._tombstones > MAX_TOMBSTONES and self._tombstones > len(self):
            for lane in Lane:
                queue = self.of(lane)
                kept = [envelope for envelope in queue if envelope.number]
                queue.clear()
                queue.extend(kept)
            self._tombstones = 0
