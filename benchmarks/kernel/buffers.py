"""Savina's bounded buffer, and back-pressure: producers that are faster than those who take.

Between actors nobody waits inside a send: the manager of the buffer says who may produce next. Producers outside actors
wait in `await mailbox.put(...)`, which is measured on the mailbox alone, as a memory channel of the same size is.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import attrs
import trio

from benchmarks.kernel.contest import Contest
from benchmarks.kernel.savina import ACTORS, CHANNELS, work
from benchmarks.measure import Target
from greenroom.actors import Behavior, Context, Ref
from greenroom.mailbox import Mailbox, MailboxPolicy
from greenroom.supervisor import open_runtime

PRODUCERS: Final = 10
CONSUMERS: Final = 10
ROOM: Final = 50
MAILBOX: Final = "greenroom mailbox, awaiting put"


def shares_of(count: int) -> list[int]:
    """Return how many items each producer makes."""
    return [count // PRODUCERS + (number < count % PRODUCERS) for number in range(PRODUCERS)]


# --- Savina's bounded buffer -------------------------------------------------------------------------------------------


@attrs.define
class Item:
    number: int
    producer: Ref[Any]


@attrs.define
class Free:
    consumer: Ref[Any]


class Producer(Behavior[Any]):
    """Makes an item whenever it is asked to, until it has made its share."""

    def __init__(self, manager: Ref[Any], share: int) -> None:
        self._manager = manager
        self._left = share

    async def on_message(self, message: None, ctx: Context) -> None:
        if self._left:
            self._left -= 1
            work(self._left)
            self._manager.tell(Item(self._left, ctx.ref))


class Consumer(Behavior[Any]):
    """Uses an item, and says that it is free again."""

    def __init__(self, manager: Ref[Any]) -> None:
        self._manager = manager

    async def on_message(self, message: Item, ctx: Context) -> None:
        work(message.number)
        self._manager.tell(Free(ctx.ref))


class Manager(Behavior[Any]):
    """Holds the buffer: lets producers make as long as there is room for what all of them may send."""

    def __init__(self, count: int, done: trio.Event) -> None:
        self._items: deque[Item] = deque()
        self._producers: deque[Ref[Any]] = deque()
        self._consumers: deque[Ref[Any]] = deque()
        self._left = count
        self._done = done

    async def on_message(self, message: Item | Free | list[Ref[Any]], ctx: Context) -> None:
        if isinstance(message, Item):
            if self._consumers:
                self._consumers.popleft().tell(message)
            else:
                self._items.append(message)
            if len(self._items) > ROOM - PRODUCERS:
                self._producers.append(message.producer)
            else:
                message.producer.tell(None)
        elif isinstance(message, Free):
            self._left -= 1
            if not self._left:
                self._done.set()
            if self._items:
                message.consumer.tell(self._items.popleft())
                if self._producers:
                    self._producers.popleft().tell(None)
            else:
                self._consumers.append(message.consumer)
        else:
            self._consumers.extend(message)


async def actor_buffer(count: int) -> None:
    async with open_runtime() as runtime:
        done = trio.Event()
        manager = await runtime.spawn(Manager, count, done)
        manager.tell([await runtime.spawn(Consumer, manager) for _ in range(CONSUMERS)])
        for producer in [await runtime.spawn(Producer, manager, share) for share in shares_of(count)]:
            producer.tell(None)
        await done.wait()


async def channel_buffer(count: int) -> None:
    await through_channel(count, CONSUMERS)


# --- back-pressure -----------------------------------------------------------------------------------------------------


async def through_channel(count: int, consumers: int) -> None:
    send, receive = trio.open_memory_channel[int](ROOM)

    async def produce(share: int) -> None:
        for number in range(share):
            work(number)
            await send.send(number)

    async def consume() -> None:
        async for number in receive:
            work(number)

    async with trio.open_nursery() as nursery:
        for _ in range(consumers):
            nursery.start_soon(consume)
        async with trio.open_nursery() as producers:
            for share in shares_of(count):
                producers.start_soon(produce, share)
        await send.aclose()


async def channel_back_pressure(count: int) -> None:
    await through_channel(count, 1)


async def mailbox_back_pressure(count: int) -> None:
    mailbox: Mailbox[int] = Mailbox("buffer", policy=MailboxPolicy(capacity=ROOM))

    async def produce(share: int) -> None:
        for number in range(share):
            work(number)
            await mailbox.put(number)

    async with trio.open_nursery() as nursery:
        for share in shares_of(count):
            nursery.start_soon(produce, share)
        for _ in range(count):
            with await mailbox.get() as lease:
                work(lease.message)


GROUPS: Final = {
    "bounded-buffer": Contest(
        title=f"Savina's bounded buffer of {ROOM}, {PRODUCERS} producers, {CONSUMERS} consumers, per item",
        count=4_000,
        systems={ACTORS: actor_buffer, CHANNELS: channel_buffer},
        targets=[Target(bench="Savina bounded buffer over a memory channel", numerator=CHANNELS, denominator=ACTORS)],
    ),
    "back-pressure": Contest(
        title=f"back-pressure, {PRODUCERS} producers wait for a place of {ROOM}, per item",
        count=5_000,
        systems={MAILBOX: mailbox_back_pressure, CHANNELS: channel_back_pressure},
        targets=[Target(bench="awaiting put over a memory channel", numerator=CHANNELS, denominator=MAILBOX)],
    ),
}
