"""Any order of puts, gets, drains, acknowledgements, cancels and a close: the mailbox does as the model does."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from greenroom.core import Closed
from greenroom.mailbox import DeadReason, Envelope, Lane, Lease, Mailbox, MailboxPolicy
from greenroom.testing import VirtualLoop
from tests.mailbox.model import Letter, Model

CAPACITY = 24
CAPACITY_BYTES = 30
STASH_CAPACITY = 4
LANES = st.sampled_from(Lane)
SIZES = st.integers(0, 12)


@attrs.define(eq=False)
class Waiter:
    """Somebody who waits in a task of their own, and how that ended."""

    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    letter: Letter | None = None
    end: str = ""
    lease: Lease[int] | None = None


@attrs.define(eq=False)
class Handed:
    """A lease of the mailbox with what the model says is in it."""

    lease: Lease[int]
    letters: list[Letter]


class MailboxMachine(RuleBasedStateMachine):
    """Drives a mailbox and its model side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.dead: list[tuple[int, str]] = []
        policy = MailboxPolicy(capacity=CAPACITY, capacity_bytes=CAPACITY_BYTES, stash_capacity=STASH_CAPACITY)
        self.mailbox: Mailbox[int] = Mailbox("owner", policy=policy, on_dead=self.bury)
        self.model = Model(CAPACITY, CAPACITY_BYTES, STASH_CAPACITY)
        self.number = 0
        self.envelopes: dict[Letter, Envelope[int]] = {}
        self.handed: list[Handed] = []
        self.putting: list[Waiter] = []
        self.getting: Waiter | None = None

    def bury(self, envelope: Envelope[int], reason: DeadReason) -> None:
        self.dead.append((envelope.message, reason.value))

    def teardown(self) -> None:
        self.loop.close()

    def letter(self, lane: Lane, size_bytes: int, *, is_system: bool = False) -> Letter:
        self.number += 1
        return Letter(self.number, lane, size_bytes, is_counted=lane is not Lane.NOW and not is_system)

    def settle(self) -> None:
        """Let everybody run, and hand the waiting consumer what the model says it has to get."""
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

    def take_over(self, lease: Lease[int], letters: list[Letter]) -> None:
        assert list(lease.messages) == [letter.number for letter in letters]
        if letters:
            self.handed.append(Handed(lease, letters))

    # --- producers ---

    @rule(lane=LANES, size_bytes=SIZES, is_system=st.booleans())
    def put_nowait(self, lane: Lane, size_bytes: int, is_system: bool) -> None:
        letter = self.letter(lane, size_bytes, is_system=is_system)
        delivery = self.mailbox.put_nowait(letter.number, lane, size_bytes=size_bytes, is_system=is_system)
        assert delivery == self.model.put(letter)
        if delivery == "accepted":
            self.envelopes[letter] = self.mailbox.last(lane)
        self.settle()

    @precondition(lambda self: bool(self.envelopes))
    @rule(data=st.data(), is_looked_for=st.booleans())
    def withdraw(self, data: st.DataObject, is_looked_for: bool) -> None:
        letter = data.draw(st.sampled_from(list(self.envelopes)))
        waits = any(letter in queue for queue in (*self.model.lanes.values(), self.model.stash))
        if waits or is_looked_for:
            is_known = waits and not is_looked_for
            assert self.mailbox.withdraw(self.envelopes[letter], is_known=is_known) is waits
            self.model.withdraw(letter)
        self.settle()

    @rule(count=st.integers(1, 20))
    def put_many_of_next(self, count: int) -> None:
        for _ in range(count):
            letter = self.letter(Lane.NEXT, 0)
            delivery = self.mailbox.put_nowait(letter.number)
            assert delivery == self.model.put(letter)
            if delivery == "accepted":
                self.envelopes[letter] = self.mailbox.last(Lane.NEXT)
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
    def cancel_the_get(self, lane: Lane, is_put_too: bool, is_put_first: bool) -> None:
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
        letters: list[Letter] = []
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

    @precondition(lambda self: bool(self.handed))
    @rule(data=st.data())
    def postpone(self, data: st.DataObject) -> None:
        handed = data.draw(st.sampled_from(self.handed))
        letter, envelope = handed.letters.pop(), handed.lease.envelopes.pop()
        if not handed.letters:
            self.handed.remove(handed)
        self.mailbox.postpone(envelope)
        self.model.postpone(letter)
        self.settle()

    @rule()
    def recall(self) -> None:
        self.mailbox.recall()
        self.model.recall()
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
        assert (statistics.leased, statistics.postponed) == (len(model.leased), len(model.stash))
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
        assert (
            statistics.accepted
            == statistics.acked + statistics.died + waiting + statistics.leased + statistics.postponed
        )

    @invariant()
    def capacity_is_kept(self) -> None:
        statistics = self.mailbox.statistics()
        assert statistics.high_water <= CAPACITY
        assert statistics.size_bytes <= CAPACITY_BYTES


TestMailbox: Any = MailboxMachine.TestCase
TestMailbox.pytestmark = [
    pytest.mark.promise("I-10", "I-11", "I-12", "I-13", "I-14", "I-15", "I-16", "I-18", "I-19", "I-20"),
    pytest.mark.slow,
    pytest.mark.timeout(300),  # shrinking a failure takes longer than finding one
]
