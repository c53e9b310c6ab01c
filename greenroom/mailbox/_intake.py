"""The producers' side of a mailbox: puts, waiting producers, reservations.

Messages in `now` and system mail do not count against the capacity; all others count from the put, or the reservation,
until they are acknowledged or dead. A refused or cancelled put leaves no trace.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, TypeVar

from trio.lowlevel import checkpoint_if_cancelled

from greenroom.core import Closed, UsageError
from greenroom.mailbox._contents import Contents
from greenroom.mailbox._envelope import Delivery, Envelope, Lane
from greenroom.mailbox._events import record_put
from greenroom.mailbox._producers import Producers
from greenroom.waiting import ReplySlot, wake

M = TypeVar("M")

_NEXT: Final = Lane.NEXT
_NOW: Final = Lane.NOW
_ACCEPTED: Final = Delivery.ACCEPTED
_new_envelope: Final[Any] = object.__new__


class Intake(Contents[M]):
    """The side of a mailbox that producers see."""

    __slots__ = ()

    def put_nowait(
        self,
        message: M,
        lane: Lane = _NEXT,
        *,
        size_bytes: int = 0,
        parent: int = 0,
        reply: ReplySlot | None = None,
        is_system: bool = False,
    ) -> Delivery:
        """Put a message into a lane, or say why not; never waits.

        Args:
            message: Anything; it must not be changed afterwards.
            lane: `now` is never refused for want of room.
            size_bytes: What it counts against the byte capacity.
            parent: `seq` of the event that led to it.
            reply: Where an answer goes.
            is_system: A signal or notice of the runtime, which is counted apart and never refused for want of room.

        Raises:
            UsageError: The message is larger than the whole byte capacity.
        """
        return self.deliver(message, lane, size_bytes, parent, reply, is_system)

    def deliver(
        self,
        message: M,
        lane: Lane,
        size_bytes: int,
        parent: int,
        reply: ReplySlot | None,
        is_system: bool,  # noqa: FBT001 - positional, because this is the hot path
    ) -> Delivery:
        """Do what `put_nowait` does; keywords would cost a tenth of a send."""
        if self._closed and not (is_system and self._is_draining):
            self._refused += 1
            return Delivery.CLOSED
        if lane is _NOW or is_system:
            self._number = number = self._number + 1
            self._admit(Envelope(message, lane, number, parent, reply, size_bytes, is_counted=False))
            return _ACCEPTED
        held = self._held
        if (size_bytes and not self._has_room(size_bytes)) or held >= self._capacity or self._producers:
            self._refused += 1
            return Delivery.FULL
        self._held = held = held + 1
        if held > self._high_water:
            self._high_water = held
        if size_bytes:
            self._bytes += size_bytes
        self._number = number = self._number + 1
        # Attribute by attribute: half the price of a constructor, once per message.
        envelope: Envelope[M] = _new_envelope(Envelope)
        envelope.message = message
        envelope.lane = lane
        envelope.number = number
        envelope.parent = parent
        envelope.reply = reply
        envelope.size_bytes = size_bytes
        envelope.is_counted = True
        envelope.attempts = 0
        queue = self._next
        if lane is not _NEXT or queue is None or self._trace is not None:
            self._admit(envelope)
            return _ACCEPTED
        queue.append(envelope)
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            wake(waiter)
        elif self._notify is not None:
            self._notify()
        return _ACCEPTED

    async def put(self, message: M, lane: Lane = _NEXT, *, size_bytes: int = 0, parent: int = 0) -> None:
        """Put a message, waiting for a place behind whoever came before.

        For producers outside actors: between actors a blocking put can close a circle of waiters. It yields only when
        it has to wait. If it is cancelled, or raises, the mailbox holds no trace of the message.

        Raises:
            Closed: The mailbox is closed, or was closed while this call waited.
            UsageError: The message is larger than the whole byte capacity.
        """
        await checkpoint_if_cancelled()
        delivery = self.put_nowait(message, lane, size_bytes=size_bytes, parent=parent)
        if delivery is _ACCEPTED:
            return
        if delivery is Delivery.FULL:
            self._refused -= 1  # it waits instead
            if self._producers is None:
                self._producers = Producers()
            try:
                if await self._producers.wait(Envelope(message, lane, 0, parent, None, size_bytes, is_counted=True)):
                    return
            finally:
                self._admit_producers()  # whoever waited behind may fit where this one, now cancelled, did not
        raise Closed(f"the mailbox of {self.owner!r} is closed: {self._closed}")

    def reserve(self, lane: Lane, *, size_bytes: int = 0) -> Delivery:
        """Take a place for a message that comes later, by `put_reserved`, or not at all: then `unreserve` it.

        Raises:
            UsageError: The message is larger than the whole byte capacity.
        """
        if self._closed:
            self._refused += 1
            return Delivery.CLOSED
        if lane is not _NOW:
            if not self._has_room(size_bytes) or self._producers:
                self._refused += 1
                return Delivery.FULL
            self._reserved += 1
            self._held += 1
            self._high_water = max(self._high_water, self._held)
            self._bytes += size_bytes
        return _ACCEPTED

    def put_reserved(self, message: M, lane: Lane, *, size_bytes: int = 0, parent: int = 0) -> Delivery:
        """Put a message into its reserved place; `closed` when the mailbox was closed meanwhile."""
        if self.is_over:
            self.unreserve(lane, size_bytes=size_bytes)
            self._refused += 1
            return Delivery.CLOSED
        self._number = number = self._number + 1
        is_counted = lane is not _NOW
        self._reserved -= is_counted
        self._admit(Envelope(message, lane, number, parent, None, size_bytes, is_counted=is_counted))
        return _ACCEPTED

    def unreserve(self, lane: Lane, *, size_bytes: int = 0) -> None:
        """Give a reserved place back."""
        if lane is not _NOW:
            self._reserved -= 1
            self._held -= 1
            self._bytes -= size_bytes
            self._admit_producers()

    def _has_room(self, size_bytes: int) -> bool:
        policy = self._policy
        if size_bytes > policy.capacity_bytes:
            raise UsageError(
                f"message too large for the mailbox of {self.owner!r}: {size_bytes} bytes, "
                f"capacity {policy.capacity_bytes} bytes"
            )
        return self._held < self._capacity and self._bytes + size_bytes <= policy.capacity_bytes

    def _admit(self, envelope: Envelope[M]) -> None:
        lane = envelope.lane
        queue = self._next if lane is _NEXT else self._lane(lane)
        if queue is None:
            queue = self._next = deque()
        queue.append(envelope)
        if lane is _NOW and len(queue) > self._policy.now_capacity:
            self._now_overflows += 1
        if self._trace is not None:
            record_put(self._trace, self.owner, self.incarnation, envelope)
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            wake(waiter)
        elif self._notify is not None:
            self._notify()

    def _admit_producers(self) -> None:
        """Let those who wait put their messages, in the order in which they came, as far as there is room."""
        producers = self._producers
        while producers and self._has_room(producers.first.size_bytes):
            envelope = producers.admit()
            self._number = envelope.number = self._number + 1
            self._held += 1
            self._high_water = max(self._high_water, self._held)
            self._bytes += envelope.size_bytes
            self._admit(envelope)
