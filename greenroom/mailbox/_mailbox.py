"""The mailbox of one actor: three lanes, a capacity, leases.

Rule 1: wake, never hand over. A put appends and wakes; the owner pops when it runs, after its last await, so a cancel
finds the message still in its lane. Rule 2: what is popped is leased, not gone; it stays the mailbox's until it is
acknowledged, returned, postponed or dead. Rule 3: `now` is strict; after 16 of `next` while `later` waits, one of `later`.
Rule 4: what is postponed waits outside its lane, with its place of the capacity, until `recall` puts it back in front.
Rule 5: closing loses nothing: what is left goes to the dead letters, one by one.
Must not know: actors, supervisors, files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeVar, final

from trio.lowlevel import Abort, Task, checkpoint, checkpoint_if_cancelled, current_task

from greenroom.core import Busy, Closed, UsageError
from greenroom.mailbox._contents import LANES, LATER_CREDIT
from greenroom.mailbox._envelope import MAX_ATTEMPTS, DeadReason, Envelope, Lane
from greenroom.mailbox._events import record_acked, record_died, record_leased, record_postponed, record_returned
from greenroom.mailbox._intake import Intake
from greenroom.mailbox._lease import Lease
from greenroom.waiting import prepare, sleep

M = TypeVar("M")

BUDGET: Final = 64
"""A consumer that never waits yields after so many messages (kernel 9.2)."""

_number: Final[Callable[[Envelope[Any]], int]] = attrgetter("number")
MAX_TOMBSTONES: Final = 16
"""So many withdrawn messages may lie in the lanes, or as many as there are others."""
_CREDITED: Final = frozenset({Lane.NEXT, Lane.LATER})
"""The credit is between these, so it is left alone when one of them is not in sight."""


@final
class Mailbox(Intake[M]):
    """Three lanes with one consumer and any number of producers.

    Args:
        owner: Id of the actor it belongs to, for events and errors.
        policy: How much it holds.
        recorder: Where dead letters are recorded.
        is_traced: Whether every put, lease and acknowledgement is recorded too (journal level `full`).
        on_dead: Called with every message that becomes a dead letter, in the step in which it does.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        state = f"closed ({self._closed})" if self._closed else "open"
        return f"<Mailbox of {self.owner!r}: {len(self)} waiting, {len(self.leased)} leased, {state}>"

    # --- consumer --------------------------------------------------------------------------------------------------

    def take(self) -> Envelope[M] | None:
        """Lease the next message without waiting; None when nothing waits. For loops that park themselves."""
        if self._tombstones:
            self._drop_tombstones()
        if self._now:
            queue = self._now
        elif self._later and (not self._next or self._credit <= 0):
            queue = self._later
            self._credit = LATER_CREDIT
        elif self._next:
            queue = self._next
            if self._later:
                self._credit -= 1
        else:
            return None
        envelope = queue.popleft()
        if self._lease is None:
            self._lease = envelope
        else:
            self._lease_more(envelope)
        if self._trace is not None:
            record_leased(self._trace, self.owner, self.incarnation, envelope)
        return envelope

    def _lease_more(self, envelope: Envelope[M]) -> None:
        if self._more_leased is None:
            self._more_leased = {}
        self._more_leased[envelope.number] = envelope

    async def get(self) -> Lease[M]:
        """Wait for a message and lease it.

        Cancelled, it has taken nothing. It yields after 64 messages taken without waiting.

        Raises:
            Closed: The mailbox is closed and nothing is left to hand out.
            Busy: Another task is already waiting.
        """
        return Lease(self, [await self._take_or_wait(None)])

    async def drain(self, limit: int, *, lanes: Iterable[Lane] = tuple(Lane)) -> Lease[M]:
        """Wait for a message in one of `lanes`, then lease up to `limit` of them, in the order of service.

        Cancelled, it has taken nothing. Raises as `get` does.
        """
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
        """Lease up to `limit` messages of `lanes` that wait now, in the order of service; perhaps none.

        With `wanted` it goes lane by lane, and what is not wanted stays where it is.
        """
        if limit < 0:
            raise UsageError(f"limit must be 0 or more, got {limit!r}")
        chosen = frozenset(lanes)
        envelopes: list[Envelope[M]] = []
        if wanted is not None:
            for attribute in (LANES[lane] for lane in Lane if lane in chosen):
                self._pick(getattr(self, attribute), limit, wanted, envelopes)
            return Lease(self, envelopes)
        while len(envelopes) < limit and (envelope := self._take_from(chosen)) is not None:
            envelopes.append(envelope)
        return Lease(self, envelopes)

    async def _take_or_wait(self, lanes: frozenset[Lane] | None) -> Envelope[M]:
        while True:
            # Before the pop, never after it: a cancel that is pending wins, and nothing is taken.
            if self._since_yield >= BUDGET:
                self._since_yield = 0
                await checkpoint()
            else:
                await checkpoint_if_cancelled()
            envelope = self.take() if lanes is None else self._take_from(lanes)
            if envelope is not None:
                self._since_yield += 1
                return envelope
            if self._closed:
                raise Closed(f"the mailbox of {self.owner!r} is closed: {self._closed}")
            self._since_yield = 0
            await self.park()

    def _take_from(self, lanes: frozenset[Lane]) -> Envelope[M] | None:
        """Lease the next message of some lanes: hide the others for the length of this call."""
        hidden = [(attribute, getattr(self, attribute)) for lane, attribute in LANES.items() if lane not in lanes]
        credit = self._credit
        for attribute, _ in hidden:
            setattr(self, attribute, None)
        try:
            return self.take()
        finally:
            for attribute, queue in hidden:
                setattr(self, attribute, queue)
            if not lanes.issuperset(_CREDITED):
                self._credit = credit

    def _pick(
        self,
        queue: deque[Envelope[M]] | None,
        limit: int,
        wanted: Callable[[Envelope[M]], bool],
        picked: list[Envelope[M]],
    ) -> None:
        """Lease what is wanted of a lane, in its order."""
        for envelope in [one for one in queue or () if one.number and wanted(one)][: limit - len(picked)]:
            assert queue is not None
            queue.remove(envelope)
            self._lease_more(envelope)
            picked.append(envelope)
            if self._trace is not None:
                record_leased(self._trace, self.owner, self.incarnation, envelope, is_picked=True)

    async def park(self) -> None:
        """Sleep until something was put or the mailbox was closed; may return without either.

        Raises:
            Busy: Another task is already waiting.
        """
        await self.parked(current_task())

    def parked(self, task: Task) -> Awaitable[None]:
        """Return what `park` sleeps on, to be awaited at once by `task`: one frame less, through which every wait goes."""
        if self._waiter is not None:
            raise Busy(f"cannot wait on the mailbox of {self.owner!r}: another task is already waiting")
        trap = self._trap
        if trap is None:
            trap = self._trap = prepare(self._forget_waiter)
        self._waiter = task
        return sleep(trap)

    def _forget_waiter(self, _: Any) -> Abort:
        self._waiter = None
        return Abort.SUCCEEDED

    def nudge(self) -> None:
        """Wake the consumer although nothing was put, so that it looks at its flags."""
        self._wake()

    def notify(self, callback: Callable[[], None] | None) -> None:
        """Call `callback` after each put while no task is parked: for owners that have no task of their own."""
        self._notify = callback

    # --- leases ----------------------------------------------------------------------------------------------------

    def ack(self, envelope: Envelope[M]) -> None:
        """Let go of a leased message for good; its place goes to whoever waits first.

        Raises:
            UsageError: The message is not leased, for instance acknowledged twice.
        """
        # As in _release and _dead, without their calls: this is the hot path.
        if envelope is self._lease:
            self._lease = None
        else:
            self._release(envelope)
        self._acked += 1
        if self._trace is not None:
            record_acked(self._trace, self.owner, self.incarnation, envelope)
        if envelope.is_counted:
            self._held -= 1
            if envelope.size_bytes:
                self._bytes -= envelope.size_bytes
            if self._producers:
                self._admit_producers()

    def nack(self, envelope: Envelope[M], *, counts: bool = True, parent: int = 0) -> None:
        """Give a leased message back to the front of its lane; dead if the mailbox is closed or it is poison.

        Args:
            envelope: The leased message. Of a batch, give back the last one first.
            counts: Whether this was an attempt; after 3 of them the message is a dead letter `poison`.
            parent: `seq` of the event that led to it.

        Raises:
            UsageError: The message is not leased.
        """
        if self.is_over:
            self.bury(envelope, DeadReason.ENDED, parent=parent)
        elif counts and envelope.attempts + 1 >= MAX_ATTEMPTS:
            self.bury(envelope, DeadReason.POISON, parent=parent)
        else:
            self._release(envelope)
            envelope.attempts += counts
            if self._trace is not None:
                record_returned(self._trace, self.owner, self.incarnation, envelope, parent)
            self._lane(envelope.lane).appendleft(envelope)
            self._wake()

    def bury(self, envelope: Envelope[M], reason: DeadReason, *, parent: int = 0) -> None:
        """Turn a leased message into a dead letter; `parent` is the `seq` of the event that led to it.

        Raises:
            UsageError: The message is not leased.
        """
        self._release(envelope)
        self._dead(envelope, reason, parent)

    @property
    def can_postpone(self) -> bool:
        """Whether there is room for one more postponed message."""
        return len(self._stash or ()) < self._policy.stash_capacity

    def postpone(self, envelope: Envelope[M], *, counts: bool = False) -> None:
        """Set a leased message aside until `recall`; for want of room it is a dead letter `stash_overflow`.

        It keeps its place of the capacity.

        Args:
            envelope: The leased message.
            counts: Whether this was an attempt; after 3 of them the message is a dead letter `poison`.

        Raises:
            UsageError: The message is not leased.
        """
        if self.is_over or not self.can_postpone:
            self.bury(envelope, DeadReason.ENDED if self.is_over else DeadReason.STASH_OVERFLOW)
            return
        if counts and envelope.attempts + 1 >= MAX_ATTEMPTS:
            self.bury(envelope, DeadReason.POISON)
            return
        self._release(envelope)
        envelope.attempts += counts
        if self._stash is None:
            self._stash = deque()
        self._stash.append(envelope)
        if self._trace is not None:
            record_postponed(self._trace, self.owner, self.incarnation, envelope)

    def recall(self, *, parent: int = 0) -> None:
        """Put all that is postponed back to the front of its lanes, in the order in which it was put.

        `parent` is the `seq` of the event that led to it: the owner is in another state now.
        """
        if not self._stash:
            return
        stash, self._stash = self._stash, None
        for envelope in sorted(stash, key=_number, reverse=True):
            self._lane(envelope.lane).appendleft(envelope)
            if self._trace is not None:
                record_returned(self._trace, self.owner, self.incarnation, envelope, parent)
        self._wake()

    def _release(self, envelope: Envelope[M]) -> None:
        if envelope is self._lease:
            self._lease = None
        elif self._more_leased is not None and self._more_leased.get(envelope.number) is envelope:
            del self._more_leased[envelope.number]
        else:
            raise UsageError(
                f"cannot release message {envelope.number} of {self.owner!r}: it is not leased; was it acknowledged twice?"
            )

    def _dead(self, envelope: Envelope[M], reason: DeadReason, parent: int) -> None:
        """Count and report a message that was taken out of wherever it was, and give its place to whoever waits first."""
        self._died += 1
        if self._recorder is not None:
            record_died(self._recorder, self.owner, self.incarnation, envelope, reason, parent)
        if self._on_dead is not None:
            self._on_dead(envelope, reason)
        if envelope.is_counted:
            self._held -= 1
            self._bytes -= envelope.size_bytes
            if self._producers:
                self._admit_producers()

    def withdraw(self, envelope: Envelope[M], *, is_known: bool = False, parent: int = 0) -> bool:
        """Take a message back that waits or is postponed: a dead letter `withdrawn`, and its place is free.

        Args:
            envelope: The message.
            is_known: Whether the caller knows that it is neither served nor dead, so that it is not looked for.
            parent: `seq` of the event that led to it.

        Returns:
            Whether it was there. A leased message stays leased.
        """
        if self.is_over or envelope is self._lease or envelope in (self._more_leased or {}).values():
            return False
        if self._stash and envelope in self._stash:
            self._stash.remove(envelope)
            self._dead(envelope, DeadReason.WITHDRAWN, parent)
        elif is_known or self.is_waiting(envelope):
            # A husk stays in the lane until it comes to the front: to find it there would take a search.
            self._dead(envelope, DeadReason.WITHDRAWN, parent)
            envelope.number = 0
            envelope.reply = None
            self._tombstones += 1
            if self._tombstones > MAX_TOMBSTONES and self._tombstones > len(self):
                self._sweep()
        else:
            return False
        return True

    def is_waiting(self, envelope: Envelope[M]) -> bool:
        """Whether a message waits in its lane or is postponed; looks for it."""
        queues = (getattr(self, LANES[envelope.lane]), self._stash)
        return envelope.number > 0 and any(envelope in queue for queue in queues if queue)

    def _drop_tombstones(self) -> None:
        """Let a message stand at the front of each lane that has one."""
        for queue in (self._now, self._next, self._later):
            while queue and not queue[0].number:
                queue.popleft()
                self._tombstones -= 1

    def _sweep(self) -> None:
        for attribute in LANES.values():
            setattr(self, attribute, deque(one for one in getattr(self, attribute) or () if one.number))
        self._tombstones = 0

    def pin_last(self, lane: Lane) -> None:
        """Bind the message that was put last, in this very step, to the current incarnation."""
        pinned = self._pinned = self._pinned or set()
        if len(pinned) >= 2 * self._capacity:  # nearly all of them have been served
            pinned &= {one.number for one in chain(self.leased, self._stash or (), *map(self._lane, Lane))}
        pinned.add(self.last(lane).number)

    def bury_pinned(self, reason: DeadReason, *, parent: int = 0) -> None:
        """Turn what waits for the incarnation that has just ended into dead letters."""
        pinned, self._pinned = self._pinned, None
        for lane in Lane if pinned else ():
            queue = self._lane(lane)
            for envelope in [one for one in queue if one.number in (pinned or ())]:
                queue.remove(envelope)
                self._dead(envelope, reason, parent)

    # --- end and state ---------------------------------------------------------------------------------------------

    def refuse_new(self, reason: str) -> None:
        """Refuse new messages from now on and go on handing out what waits; signals of the runtime are still taken.

        Producers that wait get `Closed`. A second call, or one after `close`, does nothing.
        """
        if self._closed:
            return
        self._closed, self._is_draining = reason or "draining", True
        self._send_away()

    def _send_away(self) -> None:
        """Let nobody wait at a mailbox that takes nothing new."""
        if self._producers is not None:
            self._producers.dismiss()
        self._wake()

    def close(self, reason: str, *, dead_reason: DeadReason = DeadReason.CLOSED, parent: int = 0) -> None:
        """Refuse new messages from now on and send what waits to the dead letters; a second call does nothing.

        Leased messages stay leased. Producers that wait get `Closed`; a consumer that waits is woken.
        """
        if self.is_over:
            return
        self._closed, self._is_draining = reason or "closed", False
        self._send_away()
        for queue in (self._stash, self._now, self._next, self._later):
            while queue:
                envelope = queue.popleft()
                if envelope.number:
                    self._dead(envelope, dead_reason, parent)
                else:
                    self._tombstones -= 1
