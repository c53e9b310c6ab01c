"""The exhaustive sweep over receive, process, acknowledge: a cancel before every step loses and repeats nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest
import trio

from greenroom.core import Closed
from greenroom.mailbox import DeadReason, Envelope, Mailbox, MailboxPolicy
from greenroom.testing import CancelAt, cancel_sweep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Consumer = Callable[["World"], Awaitable[None]]

pytestmark = pytest.mark.slow  # they are run again and again, each time cut at another moment


@attrs.define
class World:
    """One mailbox, what was done with its messages, and what died."""

    messages: int
    mailbox: Mailbox[int] = attrs.field(init=False)
    done: list[int] = attrs.Factory(list)
    dead: list[int] = attrs.Factory(list)
    put: list[int] = attrs.Factory(list)

    def __attrs_post_init__(self) -> None:
        self.mailbox = Mailbox("owner", policy=MailboxPolicy(capacity=2), on_dead=self.bury)

    def bury(self, envelope: Envelope[int], reason: DeadReason) -> None:
        self.dead.append(envelope.message)

    async def produce(self) -> None:
        for number in range(self.messages):
            await self.mailbox.put(number)
            self.put.append(number)

    def faults(self) -> list[str]:
        """Return what went wrong; empty when each message ended in exactly one place."""
        found = [f"{number} was lost" for number in self.put if number not in self.done + self.dead]
        found += [f"{number} came twice" for number in self.put if (self.done + self.dead).count(number) > 1]
        statistics = self.mailbox.statistics()
        if statistics.accepted != statistics.acked + statistics.died:
            found.append(f"conservation: {statistics}")
        return found


async def consume(world: World) -> None:
    """What a consumer should look like: the result is kept and acknowledged in one step, after the last await."""
    while True:
        with await world.mailbox.get() as lease:
            await trio.lowlevel.checkpoint()
            await trio.sleep(1)
            world.done.append(lease.message)


async def consume_batches(world: World) -> None:
    while True:
        lease = await world.mailbox.drain(3)
        try:
            while len(lease):
                await trio.sleep(1)
                world.done.append(lease.message)
                lease.ack(1)
        finally:
            lease.nack()


async def consume_and_wait_before_the_acknowledgement(world: World) -> None:
    while True:
        with await world.mailbox.get() as lease:
            await trio.sleep(1)
            world.done.append(lease.message)
            await trio.lowlevel.checkpoint()


async def consume_and_acknowledge_first(world: World) -> None:
    while True:
        lease = await world.mailbox.get()
        message = lease.message
        lease.ack()
        await trio.sleep(1)
        world.done.append(message)


def sweep(consumer: Consumer, *, messages: int, pairs: bool = False) -> tuple[int, list[str]]:
    """Sweep a consumer that is started anew after each cancel; return the number of runs and what went wrong."""

    async def scenario(at: CancelAt) -> list[str]:
        world = World(messages)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.produce)
            with trio.move_on_after(1_000):
                for _ in range(3):  # the first, and one after each strike
                    with trio.CancelScope() as scope:
                        at.aim(scope.cancel)
                        await consumer(world)
            at.rest()
        world.mailbox.close("over")
        return world.faults()

    runs = cancel_sweep(scenario, pairs=pairs)
    return len(runs), [f"{run.steps}: {fault}" for run in runs for fault in run.result]


@pytest.mark.promise("I-12", "I-13", "I-16", "I-30")
@pytest.mark.parametrize("consumer", [consume, consume_batches])
def test_no_message_is_lost_or_repeated_wherever_a_consumer_is_cancelled(consumer: Consumer) -> None:
    runs, faults = sweep(consumer, messages=6)

    assert runs > 10
    assert faults == []


@pytest.mark.promise("I-30")
@pytest.mark.parametrize("consumer", [consume, consume_batches])
def test_nor_wherever_it_is_cancelled_twice(consumer: Consumer) -> None:
    runs, faults = sweep(consumer, messages=3, pairs=True)

    assert runs > 40
    assert faults == []


@pytest.mark.parametrize(
    ("consumer", "fault"),
    [(consume_and_wait_before_the_acknowledgement, "came twice"), (consume_and_acknowledge_first, "was lost")],
)
def test_the_sweep_finds_a_consumer_that_gets_it_wrong(consumer: Consumer, fault: str) -> None:
    _, faults = sweep(consumer, messages=3)

    assert any(fault in each_fault for each_fault in faults)


@pytest.mark.promise("I-15", "I-20", "I-30")
def test_a_producer_that_is_cancelled_anywhere_has_put_its_message_or_left_no_trace() -> None:
    async def scenario(at: CancelAt) -> tuple[int, list[int]]:
        mailbox: Mailbox[int] = Mailbox("owner", policy=MailboxPolicy(capacity=1))
        taken: list[int] = []
        was_put: list[int] = []

        async def produce(number: int) -> None:
            await mailbox.put(number)
            was_put.append(number)

        async def consume_all() -> None:
            try:
                while True:
                    with await mailbox.get() as lease:
                        await trio.lowlevel.checkpoint()
                        taken.append(lease.message)
            except Closed:
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(consume_all)
            with trio.CancelScope() as scope:
                at.aim(scope.cancel)
                async with trio.open_nursery() as producers:
                    for number in range(4):
                        producers.start_soon(produce, number)
            at.rest()
            await trio.testing.wait_all_tasks_blocked()
            mailbox.close("over")
        assert sorted(taken) == sorted(was_put)
        return mailbox.statistics().accepted, taken

    runs = cancel_sweep(scenario, pairs=True)

    assert {len(run.result[1]) for run in runs} == {0, 1, 2, 3, 4}
    assert all(accepted == len(taken) for accepted, taken in (run.result for run in runs))
