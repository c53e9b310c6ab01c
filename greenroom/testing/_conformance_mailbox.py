"""Conformance kit for mailboxes: a Hypothesis state machine of puts, gets, drains, cancels and a close, in any order.

    class OurMailbox(MailboxConformance):
        def make_mailbox(self, policy, on_dead):
            return Mailbox(policy, on_dead)

    TestOurMailbox = OurMailbox.TestCase

The mailbox is used through `MailboxLike` alone and compared with a model after every step. Time stands still, and
nothing moves between two steps. It needs Hypothesis, which greenroom itself does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

import attrs
import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from greenroom.core import Closed
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane, Lease, MailboxPolicy, MailboxStatistics
from greenroom.testing._conformance_model import MailboxModel, ModelLetter
from greenroom.testing._virtual_loop import VirtualLoop

CAPACITY: Final = 24
CAPACITY_BYTES: Final = 30
STASH_CAPACITY: Final = 4
LANES: Final = st.sampled_from(Lane)
SIZES: Final = st.integers(0, 12)


class MailboxLike(Protocol):
    """The interface of a mailbox of whole numbers; `greenroom.mailbox.Mailbox` documents each method."""

    def put_nowait(self, message: int, lane: Lane = ..., *, size_bytes: int = ..., is_system: bool = ...) -> Delivery:
        """Put a message, or return the reason for a refusal."""
        ...

    async def put(self, message: int, lane: Lane = ..., *, size_bytes: int = ...) -> None:
        """Put a message, waiting for a place if necessary."""
        ...

    async def get(self) -> Lease[int]:
        """Wait for a message and lease it."""
        ...

    async def drain(self, limit: int, *, lanes: Iterable[Lane] = ...) -> Lease[int]:
        """Wait for a message, and lease up to `limit`."""
        ...

    def drain_nowait(self, limit: int, *, lanes: Iterable[Lane] = ...) -> Lease[int]:
        """Lease up to `limit` messages without waiting."""
        ...

    def close(self, why: str) -> None:
        """Close; queued messages become dead letters."""
        ...

    def statistics(self) -> MailboxStatistics:
        """Return the counters."""
        ...


@attrs.define(eq=False)
class Waiter:
    """A waiting task, and its end."""

    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    letter: ModelLetter | None = None
    end: str = ""
    lease: Lease[int] | None = None


@attrs.define(eq=False)
class Handed:
    """A lease of the mailbox with its expected content."""

    lease: Lease[int]
    letters: list[ModelLetter]


class MailboxConformance(RuleBasedStateMachine):
    """Drives a mailbox and its model side by side; subclasses implement `make_mailbox`."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.dead: list[tuple[int, str]] = []
        policy = MailboxPolicy(capacity=CAPACITY, capacity_bytes=CAPACITY_BYTES, stash_capacity=STASH_CAPACITY)
        self.mailbox = self.make_mailbox(policy, self.bury)
        self.model = MailboxModel(CAPACITY, CAPACITY_BYTES, STASH_CAPACITY)
        self.number = 0
        self.handed: list[Handed] = []
        self.putting: list[Waiter] = []
        self.getting: Waiter | None = None

    def make_mailbox(self, policy: MailboxPolicy, on_dead: Callable[[Envelope[int], DeadReason], None]) -> MailboxLike:
        """Return a new mailbox with this policy that calls `on_dead` with each dead letter."""
        raise NotImplementedError

    def bury(self, envelope: Envelope[int], reason: DeadReason) -> None:
        self.dead.append((envelope.message, reason.value))

    def teardown(self) -> None:
        self.loop.close()

    def letter(self, lane: Lane, size_bytes: int, *, is_system: bool = False) -> ModelLetter:
        self.number += 1
        return ModelLetter(self.number, lane, size_bytes, is_counted=lane is not Lane.NOW and not is_system)

    def settle(self) -> None:
        """Run all tasks, and compare the waiting consumer's message with the model's."""
        self.loop.settle()
        waiter = self.getting
        if waiter is None:
            return
        expected = self.model.take()
        if expected is None and not self.model.is_closed:
            assert waiter.end == ""
            return
        self.getting = None
        if expected is None:
            assert waiter.end == "closed"
        else:
            assert waiter.lease is not None
            self.take_over(waiter.lease, [expected])

    def take_over(self, lease: Lease[int], letters: list[ModelLetter]) -> None:
        assert list(lease.messages) == [letter.number for letter in letters]
        if letters:
            self.handed.append(Handed(lease, letters))

    # --- producers ---

    @rule(lane=LANES, size_bytes=SIZES, is_system=st.booleans())
    def put_nowait(self, *, lane: Lane, size_bytes: int, is_system: bool) -> None:
        letter = self.letter(lane, size_bytes, is_system=is_system)
        delivery = self.mailbox.put_nowait(letter.number, lane, size_bytes=size_bytes, is_system=is_system)
        assert delivery == self.model.put(letter)
        self.settle()

    @rule(count=st.integers(1, 20))
    def put_many_of_next(self, count: int) -> None:
        for _ in range(count):
            letter = self.letter(Lane.NEXT, 0)
            assert self.mailbox.put_nowait(letter.number) == self.model.put(letter)
        self.settle()

    @rule(lane=st.sampled_from([Lane.NEXT, Lane.LATER]), size_bytes=SIZES)
    def put(self, lane: Lane, size_bytes: int) -> None:
        waiter = Waiter(letter=self.letter(lane, size_bytes))
        assert waiter.letter is not None
        self.loop.start_soon(self.run_put, waiter)
        self.loop.settle()
        delivery = self.model.put(waiter.letter)
        assert waiter.end == {"accepted": "put", "full": "", "closed": "closed"}[delivery]
        if delivery == "full":
            self.model.producers.append(waiter.letter)
            self.putting.append(waiter)
        self.settle()

    async def run_put(self, waiter: Waiter) -> None:
        letter = waiter.letter
        assert letter is not None
        with waiter.scope:
            try:
                await self.mailbox.put(letter.number, letter.lane, size_bytes=letter.size_bytes)
            except Closed:
                waiter.end = "closed"
            else:
                waiter.end = "put"
        waiter.end = waiter.end or "cancelled"

    @precondition(lambda self: any(not waiter.end for waiter in self.putting))
    @rule(data=st.data())
    def cancel_a_put(self, data: st.DataObject) -> None:
        waiter = data.draw(st.sampled_from([waiter for waiter in self.putting if not waiter.end]))
        waiter.scope.cancel()
        self.loop.settle()
        assert waiter.end == "cancelled"
        assert waiter.letter is not None
        self.model.producers.remove(waiter.letter)
        self.model.admit()
        self.settle()

    # --- consumer ---

    @precondition(lambda self: self.getting is None)
    @rule()
    def get(self) -> None:
        self.getting = Waiter()
        self.loop.start_soon(self.run_get, self.getting)
        self.settle()

    async def run_get(self, waiter: Waiter) -> None:
        with waiter.scope:
            try:
                waiter.lease = await self.mailbox.get()
            except Closed:
                waiter.end = "closed"
            else:
                waiter.end = "got"
        waiter.end = waiter.end or "cancelled"

    @precondition(lambda self: self.getting is not None)
    @rule(lane=LANES, is_put_too=st.booleans(), is_put_first=st.booleans())
    def cancel_the_get(self, *, lane: Lane, is_put_too: bool, is_put_first: bool) -> None:
        """A put in the same tick, before or after, leaves its message in the lane."""
        waiter, self.getting = self.getting, None
        assert waiter is not None
        letter = self.letter(lane, 0)
        if not is_put_first:
            waiter.scope.cancel()
        if is_put_too:
            assert self.mailbox.put_nowait(letter.number, lane) == self.model.put(letter)
        waiter.scope.cancel()
        self.loop.settle()
        assert waiter.end == "cancelled"
        assert waiter.lease is None

    @precondition(lambda self: self.getting is None)
    @rule(limit=st.integers(1, 20), lanes=st.sets(LANES, min_size=1))
    def drain(self, limit: int, lanes: set[Lane]) -> None:
        letters: list[ModelLetter] = []
        while len(letters) < limit and (letter := self.model.take(lanes)) is not None:
            letters.append(letter)
        if letters:
            lease = self.loop.run(self.run_drain, limit, lanes)
        else:
            lease = self.mailbox.drain_nowait(limit, lanes=lanes)
        self.take_over(lease, letters)

    async def run_drain(self, limit: int, lanes: set[Lane]) -> Lease[int]:
        return await self.mailbox.drain(limit, lanes=lanes)

    @precondition(lambda self: bool(self.handed))
    @rule(data=st.data(), count=st.integers(1, 20))
    def ack(self, data: st.DataObject, count: int) -> None:
        handed = data.draw(st.sampled_from(self.handed))
        handed.lease.ack(count)
        for letter in handed.letters[:count]:
            self.model.ack(letter)
        del handed.letters[:count]
        if not handed.letters:
            self.handed.remove(handed)
        self.settle()

    @precondition(lambda self: bool(self.handed))
    @rule(data=st.data())
    def nack(self, data: st.DataObject) -> None:
        handed = data.draw(st.sampled_from(self.handed))
        self.handed.remove(handed)
        handed.lease.nack()
        for letter in reversed(handed.letters):
            self.model.nack(letter)
        self.settle()

    @precondition(lambda self: self.number > 20)
    @rule()
    def close(self) -> None:
        self.mailbox.close("over")
        self.model.close()
        self.settle()

    # --- what always holds ---

    @invariant()
    def it_is_as_the_model_says(self) -> None:
        statistics, model = self.mailbox.statistics(), self.model
        assert statistics.now == len(model.lanes[Lane.NOW])
        assert statistics.next == len(model.lanes[Lane.NEXT])
        assert statistics.later == len(model.lanes[Lane.LATER])
        assert statistics.leased == len(model.leased)
        assert statistics.size_bytes == sum(letter.size_bytes for letter in model.held())
        assert (statistics.accepted, statistics.acked) == (model.accepted, len(model.acked))
        assert sorted(self.dead) == sorted(model.dead)
        assert statistics.died == len(model.dead)

    @invariant()
    def producers_are_as_the_model_says(self) -> None:
        waiting = [waiter for waiter in self.putting if not waiter.end]
        assert [waiter.letter for waiter in waiting] == self.model.producers
        assert self.mailbox.statistics().waiting_producers == len(waiting)

    @invariant()
    def nothing_is_lost(self) -> None:
        statistics = self.mailbox.statistics()
        waiting = statistics.now + statistics.next + statistics.later
        waiting += statistics.leased + statistics.postponed
        assert statistics.accepted == statistics.acked + statistics.died + waiting

    @invariant()
    def capacity_is_kept(self) -> None:
        statistics = self.mailbox.statistics()
        assert statistics.high_water <= CAPACITY
        assert statistics.size_bytes <= CAPACITY_BYTES
