"""The mailbox of an actor: lanes, capacity, leases.

A put wakes the owner but never hands a message over: the owner takes it in its own step, after its last await, so a
cancellation leaves the message in its lane. Closing loses nothing: what remains becomes dead letters (docs/design/leases.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Generic

from trio.lowlevel import Task, checkpoint, checkpoint_if_cancelled, current_task

from greenroom.core import Busy, Closed, Event, Recorder, UsageError
from greenroom.mailbox._envelope import MAX_ATTEMPTS, NEXT, NOW, DeadReason, Delivery, Envelope, Lane, M
from greenroom.mailbox._events import (
    MessageAcked,
    MessageDied,
    MessageLeased,
    MessagePostponed,
    MessagePut,
    MessageReturned,
)
from greenroom.mailbox._lanes import BUDGET, Lanes
from greenroom.mailbox._lease import Lease
from greenroom.mailbox._policy import MailboxPolicy, MailboxStatistics
from greenroom.mailbox._producers import Producers
from greenroom.waiting import ParkingSpot, ReplySlot, sleep, wake

_DEFAULT_POLICY: Final = MailboxPolicy()
_ACCEPTED: Final = Delivery.ACCEPTED
_new_envelope: Final[Any] = object.__new__


class Mailbox(ParkingSpot, Generic[M]):
    """Three lanes with one consumer and any number of producers.

    It belongs to the actor `owner`. `recorder` gets its dead letters, and if it `is_traced` every put, lease and
    acknowledgement. `on_dead` is called with every dead letter, in the same step.
    """

    # The parking spot and the capacity are no objects of their own: each put and each acknowledgement reads both.
    __slots__ = (
        "_capacity", "_closed", "_died", "_held", "_high_water", "_number", "_on_dead", "_policy", "_producers",
        "_recorder", "_refused", "_reserved", "_since_yield", "_size_bytes", "incarnation", "is_draining", "lanes",
        "owner", "trace",
    )  # fmt: skip

    def __init__(
        self,
        owner: str = "",
        *,
        policy: MailboxPolicy | None = None,
        recorder: Recorder | None = None,
        is_traced: bool = False,
        on_dead: Callable[[Envelope[M], DeadReason], None] | None = None,
    ) -> None:
        self.owner = owner
        self.incarnation = 1
        self.lanes: Lanes[M] = Lanes()
        self.callback = self.task = self.trap = None
        self._policy = policy = policy or _DEFAULT_POLICY
        self._capacity = policy.capacity
        self._producers: Producers | None = None
        self._recorder = recorder
        self.trace = recorder if is_traced else None
        self._on_dead = on_dead
        self._closed = ""  # the reason; empty while it is open
        self.is_draining = False
        """True if new messages are refused, and queued ones are still handed out."""
        self._held = self._high_water = self._reserved = self._size_bytes = 0  # places, and bytes in them
        self._since_yield = self._number = self._refused = self._died = 0

    def __repr__(self) -> str:
        state = f"closed ({self._closed})" if self._closed else "open"
        return f"<Mailbox of {self.owner!r}: {len(self)} waiting, {len(self.leased)} leased, {state}>"

    def __len__(self) -> int:
        """Return the number of waiting messages; leased and postponed ones do not count."""
        return len(self.lanes)

    @property
    def leased(self) -> Sequence[Envelope[M]]:
        """The leased messages, in the order in which they were put."""
        return self.lanes.leased

    @property
    def is_closed(self) -> bool:
        """True if new messages are refused: `close` or `refuse_new` was called."""
        return bool(self._closed)

    @property
    def is_over(self) -> bool:
        """True if `close` was called: nothing is accepted or handed out."""
        return bool(self._closed) and not self.is_draining

    def statistics(self) -> MailboxStatistics:
        """Return the current state and counters."""
        lanes, policy = self.lanes, self._policy
        leased, postponed = len(lanes.leased), len(lanes.stash or ())
        return MailboxStatistics(
            now=lanes.depth(Lane.NOW),
            next=lanes.depth(Lane.NEXT),
            later=lanes.depth(Lane.LATER),
            leased=leased,
            reserved=self._reserved,
            postponed=postponed,
            waiting_producers=len(self._producers or ()),
            size_bytes=self._size_bytes,
            capacity=policy.capacity,
            capacity_bytes=policy.capacity_bytes,
            high_water=self._high_water,
            accepted=self._number,
            refused=self._refused,
            acked=self._number - self._died - len(lanes) - leased - postponed,
            died=self._died,
            now_overflows=lanes.overflows,
            is_closed=bool(self._closed),
        )

    # --- producers -------------------------------------------------------------------------------------------------

    def put_nowait(
        self,
        message: M,
        lane: Lane = NEXT,
        size_bytes: int = 0,
        parent: int = 0,
        reply: ReplySlot | None = None,
        is_system: bool = False,  # noqa: FBT001, FBT002 - `Ref.tell` passes all by position: keywords cost a tenth of a send
    ) -> Delivery:
        """Put a message into a lane, and return whether it was accepted; never waits.

        Args:
            message: Any object; it must not be changed afterwards.
            lane: `now` ignores the capacity.
            size_bytes: Its size, counted against the byte capacity.
            parent: `seq` of the event that led to it.
            reply: The slot for the answer.
            is_system: True for signals and system messages, which do not count against the capacity.

        Raises:
            UsageError: The message is larger than the whole byte capacity.
        """
        if self._closed and not (is_system and self.is_draining):
            return self._refuse(Delivery.CLOSED)
        is_counted = lane is not NOW and not is_system
        if is_counted:
            held = self._held
            if size_bytes or self._producers or held >= self._capacity:
                if self._producers or not self._has_room(size_bytes):
                    return self._refuse(Delivery.FULL, size_bytes)
                self._hold(size_bytes)
            else:  # _hold(), inlined for messages without a size: this is the hot path (15 % of a send)
                self._held = held = held + 1
                if held > self._high_water:
                    self._high_water = held
        # Attribute by attribute: half the cost of a constructor, once per message.
        envelope: Envelope[M] = _new_envelope(Envelope)
        envelope.message = message
        envelope.lane = lane
        envelope.parent = parent
        envelope.reply = reply
        envelope.size_bytes = size_bytes
        envelope.is_counted = is_counted
        envelope.attempts = 0
        envelope.is_pinned = False
        queue = self.lanes.next
        if lane is not NEXT or queue is None:
            self._admit(envelope)
            return _ACCEPTED
        self._number = envelope.number = self._number + 1
        queue.append(envelope)
        if self.trace is not None:
            self._record(MessagePut, envelope, parent, type(message).__name__, is_counted)
        task = self.task
        if task is not None:  # unpark(), inlined
            self.task = None
            wake(task)
        elif self.callback is not None:
            self.callback()
        return _ACCEPTED

    def _refuse(self, delivery: Delivery, size_bytes: int = 0) -> Delivery:
        """Count a refused message; raise an error if it could never be accepted."""
        if size_bytes > self._policy.capacity_bytes:
            sizes = f"{size_bytes} bytes, capacity {self._policy.capacity_bytes} bytes"
            raise UsageError(f"message too large for the mailbox of {self.owner!r}: {sizes}")
        self._refused += 1
        return delivery

    def _has_room(self, size_bytes: int) -> bool:
        return self._held < self._capacity and self._size_bytes + size_bytes <= self._policy.capacity_bytes

    def _hold(self, size_bytes: int) -> None:
        """Take a place."""
        self._held += 1
        self._high_water = max(self._high_water, self._held)
        self._size_bytes += size_bytes

    async def put(self, message: M, lane: Lane = NEXT, *, size_bytes: int = 0, parent: int = 0) -> None:
        """Put a message; if the mailbox is full, wait in line. It yields only then; cancelled, it leaves no trace.

        For producers outside actors: between actors a blocking put can deadlock.

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
            self._producers = self._producers or Producers()
            envelope = Envelope(message, lane, 0, parent, None, size_bytes, is_counted=True)
            try:
                if await self._producers.wait(envelope):
                    return
            finally:
                self._admit_producers()  # if this one was cancelled, those behind it may fit
        raise Closed(f"the mailbox of {self.owner!r} is closed: {self._closed}")

    def reserve(self, lane: Lane, *, size_bytes: int = 0) -> Delivery:
        """Reserve a place for a later `put_reserved`, or for `unreserve`; raises as `put_nowait` does."""
        if self._closed:
            return self._refuse(Delivery.CLOSED)
        if lane is not NOW:
            if self._producers or not self._has_room(size_bytes):
                return self._refuse(Delivery.FULL, size_bytes)
            self._hold(size_bytes)
            self._reserved += 1
        return _ACCEPTED

    def put_reserved(self, message: M, lane: Lane, *, size_bytes: int = 0, parent: int = 0) -> Delivery:
        """Put a message into its reserved place; return `closed` if the mailbox has been closed since."""
        if self.is_over:
            self.unreserve(lane, size_bytes=size_bytes)
            return self._refuse(Delivery.CLOSED)
        is_counted = lane is not NOW
        self._reserved -= is_counted
        self._admit(Envelope(message, lane, 0, parent, None, size_bytes, is_counted))
        return _ACCEPTED

    def unreserve(self, lane: Lane, *, size_bytes: int = 0) -> None:
        """Release a reserved place."""
        if lane is not NOW:
            self._reserved -= 1
            self._free(size_bytes)

    def _free(self, size_bytes: int) -> None:
        """Free a place and admit producers."""
        self._held -= 1
        self._size_bytes -= size_bytes
        if self._producers:
            self._admit_producers()

    def _admit_producers(self) -> None:
        for envelope in self._producers.admitted(self._has_room) if self._producers else ():
            self._hold(envelope.size_bytes)
            self._admit(envelope)

    def _admit(self, envelope: Envelope[M]) -> None:
        self._number = envelope.number = self._number + 1
        queue = self.lanes.of(envelope.lane)
        queue.append(envelope)
        if envelope.lane is NOW and len(queue) > self._policy.now_capacity:
            self.lanes.overflows += 1
        self._record(MessagePut, envelope, envelope.parent, type(envelope.message).__name__, envelope.is_counted)
        self.nudge()

    def _record(self, event: type[Event], envelope: Envelope[M], parent: int, *more: Any) -> None:
        """Record an event of a message, if the mailbox is traced."""
        if self.trace is not None:
            # `_value_` is what `value` returns: before Python 3.12 the property costs as much as the record itself.
            number, lane = envelope.number, envelope.lane._value_
            self.trace.emit_fields(event, self.owner, self.incarnation, parent, number, lane, *more)

    # --- consumer --------------------------------------------------------------------------------------------------

    def take(self, among: frozenset[Lane] | None = None) -> Envelope[M] | None:
        """Lease the next message, of some lanes only if `among` is given; never waits, returns None if none is there."""
        envelope = self.lanes.take(among)
        if self.trace is not None and envelope is not None:
            self._record(MessageLeased, envelope, envelope.parent, False)  # noqa: FBT003 - the value of a field
        return envelope

    async def get(self) -> Lease[M]:
        """Wait for a message and lease it; cancelled, it has taken nothing. It yields after 64 messages without a wait.

        Raises:
            Closed: The mailbox is closed and empty.
            Busy: Another task is already waiting.
        """
        return Lease(self, [await self._take_or_wait(None)])

    async def drain(self, limit: int, *, lanes: Iterable[Lane] = tuple(Lane)) -> Lease[M]:
        """Wait for a message in one of `lanes`, then lease up to `limit` of them, in the order of service; as `get`."""
        if limit < 1:
            raise UsageError(f"limit must be at least 1, got {limit!r}")
        chosen = frozenset(lanes)
        first = await self._take_or_wait(chosen)
        return Lease(self, [first, *self.drain_nowait(limit - 1, lanes=chosen).envelopes])

    def drain_nowait(
        self,
        limit: int,
        *,
        lanes: Iterable[Lane] = tuple(Lane),
        wanted: Callable[[Envelope[M]], bool] | None = None,
    ) -> Lease[M]:
        """Lease up to `limit` waiting messages of `lanes`: in the order of service, or lane by lane those `wanted`."""
        if limit < 0:
            raise UsageError(f"limit must be 0 or more, got {limit!r}")
        chosen = frozenset(lanes)
        envelopes: list[Envelope[M]] = []
        if wanted is not None:
            for envelope in self.lanes.pick(chosen, limit, wanted):
                envelopes.append(envelope)
                self._record(MessageLeased, envelope, envelope.parent, True)  # noqa: FBT003 - the value of a field
        else:
            while len(envelopes) < limit and (taken := self.take(chosen)) is not None:
                envelopes.append(taken)
        return Lease(self, envelopes)

    async def _take_or_wait(self, lanes: frozenset[Lane] | None) -> Envelope[M]:
        while True:
            # Before the take, never after it: a pending cancellation wins, and nothing is taken.
            if self._since_yield >= BUDGET:
                self._since_yield = 0
                await checkpoint()
            else:
                await checkpoint_if_cancelled()
            envelope = self.take(lanes)
            if envelope is not None:
                self._since_yield += 1
                return envelope
            if self._closed:
                raise Closed(f"the mailbox of {self.owner!r} is closed: {self._closed}")
            self._since_yield = 0
            await self.park()

    async def park(self) -> None:
        """Sleep until a message is put or the mailbox is closed; may return spuriously.

        Raises:
            Busy: Another task is already waiting.
        """
        await self.parked(current_task())

    def parked(self, task: Task) -> Awaitable[None]:
        """Return the awaitable of `park`, to be awaited at once by `task`; saves a frame that every wait goes through."""
        if self.task is not None:
            raise Busy(f"cannot wait on the mailbox of {self.owner!r}: another task is already waiting")
        if self.trap is None:
            return super().parked(task)
        self.task = task  # as there, inlined: once per message of an actor that is often idle
        return sleep(self.trap)

    def nudge(self) -> None:
        """Wake the consumer, also without a new message, so that it checks its flags."""
        self.unpark()

    def notify(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each put while no task is parked; for owners without a task."""
        self.callback = callback

    # --- leases ----------------------------------------------------------------------------------------------------

    def ack(self, envelope: Envelope[M]) -> None:
        """Acknowledge a leased message; raises `UsageError` if it is not leased, such as the second time."""
        # _release() and _free(), inlined: this is the hot path.
        lanes = self.lanes
        if envelope is lanes.lease:
            lanes.lease = None
        else:
            self._release(envelope)
        if self.trace is not None:
            self._record(MessageAcked, envelope, 0)
        if envelope.is_counted:
            self._held -= 1
            if envelope.size_bytes:
                self._size_bytes -= envelope.size_bytes
            if self._producers:
                self._admit_producers()

    def nack(self, envelope: Envelope[M], *, counts: bool = True, parent: int = 0) -> None:
        """Return a leased message to the front of its lane (of a batch, the last one first); raises as `ack` does.

        If it `counts` as an attempt, the third one makes it a dead letter `poison`. It also dies if the mailbox is closed.
        """
        if self._retain(envelope, parent, counts=counts):
            self._record(MessageReturned, envelope, parent, envelope.attempts)
            self.lanes.put_back(envelope)
            self.nudge()

    def _retain(self, envelope: Envelope[M], parent: int, *, counts: bool) -> bool:
        """Release a leased message that stays in the mailbox; return False if it became a dead letter instead."""
        is_poison = counts and envelope.attempts + 1 >= MAX_ATTEMPTS
        if self.is_over or is_poison:
            self.bury(envelope, DeadReason.ENDED if self.is_over else DeadReason.POISON, parent=parent)
            return False
        self._release(envelope)
        envelope.attempts += counts
        return True

    def bury(self, envelope: Envelope[M], reason: DeadReason, *, parent: int = 0) -> None:
        """Turn a leased message into a dead letter because of the event `parent`; raises as `ack` does."""
        self._release(envelope)
        self._dead(envelope, reason, parent)

    @property
    def can_postpone(self) -> bool:
        """True if there is room for one more postponed message."""
        return len(self.lanes.stash or ()) < self._policy.stash_capacity

    def postpone(self, envelope: Envelope[M], *, counts: bool = False) -> None:
        """Set a leased message aside until `recall`; without room for it, it is a dead letter `stash_overflow`.

        It still counts against the capacity. Attempts are counted, and errors raised, as by `nack`.
        """
        if not self.is_over and not self.can_postpone:
            self.bury(envelope, DeadReason.STASH_OVERFLOW)
        elif self._retain(envelope, 0, counts=counts):
            self.lanes.postpone(envelope)
            self._record(MessagePostponed, envelope, 0)

    def recall(self, *, parent: int = 0) -> None:
        """Return postponed messages to the front of their lanes, in their original order, because of event `parent`."""
        if self.lanes.stash:
            for envelope in self.lanes.recall():
                self._record(MessageReturned, envelope, parent, envelope.attempts)
            self.nudge()

    def _release(self, envelope: Envelope[M]) -> None:
        if not self.lanes.release(envelope):
            raise UsageError(
                f"cannot release message {envelope.number} of {self.owner!r}: it is not leased; acknowledged twice?"
            )

    def _dead(self, envelope: Envelope[M], reason: DeadReason, parent: int) -> None:
        """Count and report a message that was removed, and free its place."""
        self._died += 1
        if self._recorder is not None:
            fields = (parent, envelope.number, envelope.lane.value, type(envelope.message).__name__, reason.value, True)
            self._recorder.emit_fields(MessageDied, self.owner, self.incarnation, *fields)
        if self._on_dead is not None:
            self._on_dead(envelope, reason)
        if envelope.is_counted:
            self._free(envelope.size_bytes)

    def withdraw(self, envelope: Envelope[M], *, is_known: bool = False, parent: int = 0) -> bool:
        """Turn a waiting or postponed message into a dead letter `withdrawn`; return False if it is leased or gone.

        `is_known` saves the search if the caller knows that the message is neither served nor dead.
        """
        if self.is_over or not self.lanes.withdraw(envelope, is_known=is_known):
            return False
        self._dead(envelope, DeadReason.WITHDRAWN, parent)
        envelope.number, envelope.reply = 0, None
        self.lanes.sweep()
        return True

    # --- end -------------------------------------------------------------------------------------------------------

    def pin_last(self, lane: Lane) -> Envelope[M]:
        """Pin the message that was put last, in this very step, to the current incarnation."""
        envelope = self.newest(lane)
        envelope.is_pinned = self.lanes.has_pinned = True
        return envelope

    def newest(self, lane: Lane) -> Envelope[M]:
        """Return the message that was put into a lane last, in this very step."""
        return self.lanes.of(lane)[-1]

    def bury_pinned(self, reason: DeadReason, *, parent: int = 0) -> None:
        """Turn the waiting messages that are pinned to the ended incarnation into dead letters."""
        for envelope in self.lanes.remove_pinned():
            self._dead(envelope, reason, parent)

    def refuse_new(self, reason: str) -> None:
        """Refuse new messages, except system mail, and keep handing out queued ones. Waiting producers get `Closed`."""
        if not self._closed:
            self._close(reason or "draining", is_draining=True)

    def close(self, reason: str, *, dead_reason: DeadReason = DeadReason.CLOSED, parent: int = 0) -> None:
        """Refuse new messages, and turn queued ones into dead letters; leased ones stay leased. Producers get `Closed`."""
        if not self.is_over:
            self._close(reason or "closed", is_draining=False)
            for envelope in self.lanes.clear():
                self._dead(envelope, dead_reason, parent)

    def _close(self, reason: str, *, is_draining: bool) -> None:
        self._closed, self.is_draining = reason, is_draining
        if self._producers:
            self._producers.dismiss()
        self.nudge()
