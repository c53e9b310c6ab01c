"""Savina's small benchmarks, each on actors and on the Trio memory channels that would do the same by hand.

Ping-pong is in `benchmarks.messaging`, the thread ring in `benchmarks.kernel.passing`. Both sides do the same work: a task
for each actor, a channel for each mailbox. The goals say nothing about them, so their figures are watched, not judged.
Imam and Sarkar, "Savina: an actor benchmark suite", AGERE 2014.
"""

from __future__ import annotations

import math
import random
from typing import Any, Final, Literal

import attrs
import trio

from benchmarks.kernel.contest import Contest, System
from benchmarks.measure import Target
from benchmarks.messaging import WIDE
from greenroom.actors import Behavior, Context, Ref, Request
from greenroom.supervisor import open_runtime

CHANNELS: Final = "trio memory channels"
ACTORS: Final = "greenroom actors"
BURST: Final = 100
"""So many messages a sender sends before it lets others run."""


def work(seed: int) -> float:
    """Compute a little, as Savina's forked actors do."""
    return math.sin(seed) ** 2


async def send_all(count: int, send: Any) -> None:
    """Call `send` with 1 to `count`, and let others run after each burst."""
    for number in range(1, count + 1):
        send(number)
        if not number % BURST:
            await trio.lowlevel.checkpoint()


class Total(Request[int]):
    """Asks for how many messages came."""


# --- counting: one sends, one counts, and is asked in the end ----------------------------------------------------------


class Counter(Behavior[Any]):
    mailbox = WIDE

    def __init__(self) -> None:
        self._count = 0

    async def on_message(self, message: int | Total, ctx: Context) -> None:
        if isinstance(message, Total):
            ctx.reply(self._count)
        else:
            self._count += 1


async def actor_counting(count: int) -> None:
    async with open_runtime() as runtime:
        counter = await runtime.spawn(Counter)
        await send_all(count, counter.tell)
        assert await counter.ask(Total(), timeout_s=math.inf) == count


async def channel_counting(count: int) -> None:
    send, receive = trio.open_memory_channel[Any](math.inf)
    answer, answers = trio.open_memory_channel[int](1)

    async def counter() -> None:
        seen = 0
        async for message in receive:
            if message is None:
                await answer.send(seen)
                return
            seen += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(counter)
        for number in range(count):
            await send.send(number)
        await send.send(None)
        assert await answers.receive() == count


# --- fork-join create: many are started, each gets one message and ends ------------------------------------------------


class Forked(Behavior[int]):
    async def on_message(self, message: int, ctx: Context) -> None:
        work(message)
        ctx.ref.stop()


async def actor_create(count: int) -> None:
    async with open_runtime() as runtime:
        forked = []
        for number in range(count):
            ref = await runtime.spawn(Forked)
            ref.tell(number)
            forked.append(ref)
        for ref in forked:
            await ref.wait_ended()


async def channel_create(count: int) -> None:
    async def forked(receive: trio.MemoryReceiveChannel[int]) -> None:
        work(await receive.receive())

    async with trio.open_nursery() as nursery:
        for number in range(count):
            send, receive = trio.open_memory_channel[int](1)
            nursery.start_soon(forked, receive)
            await send.send(number)


# --- fork-join throughput: many live, messages go round among them -----------------------------------------------------

FORKED: Final = 60


class Worker(Behavior[int]):
    mailbox = WIDE

    def __init__(self, left: list[int], done: trio.Event) -> None:
        self._left = left
        self._done = done

    async def on_message(self, message: int, ctx: Context) -> None:
        work(message)
        self._left[0] -= 1
        if not self._left[0]:
            self._done.set()


async def actor_fork_join(count: int) -> None:
    async with open_runtime() as runtime:
        left, done = [count], trio.Event()
        workers = [await runtime.spawn(Worker, left, done) for _ in range(FORKED)]
        await send_all(count, lambda number: workers[number % FORKED].tell(number))
        await done.wait()


async def channel_fork_join(count: int) -> None:
    pairs = [trio.open_memory_channel[int](math.inf) for _ in range(FORKED)]

    async def worker(receive: trio.MemoryReceiveChannel[int]) -> None:
        async for message in receive:
            work(message)

    async with trio.open_nursery() as nursery:
        for _, receive in pairs:
            nursery.start_soon(worker, receive)
        for number in range(count):
            await pairs[number % FORKED][0].send(number)
        for send, _ in pairs:
            await send.aclose()


# --- big: each pings a neighbour by lot, and the next one when the pong is there ---------------------------------------

NEIGHBORS: Final = 30


def pings_of(count: int) -> list[int]:
    """Return how many pings each of the neighbors sends."""
    return [count // NEIGHBORS + (number < count % NEIGHBORS) for number in range(NEIGHBORS)]


class Neighbor(Behavior[Any]):
    """Gets the list of all to begin with; then refs, which are pings, and None, which is a pong."""

    def __init__(self, number: int, pings: int, left: list[int], done: trio.Event) -> None:
        self._chance = random.Random(number)
        self._pings = pings
        self._left = left
        self._done = done
        self._all: list[Ref[Any]] = []

    async def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, Ref):
            message.tell(None)
            return
        if message is None:
            self._left[0] -= 1
            if not self._left[0]:
                self._done.set()
        else:
            self._all = message
        if self._pings:
            self._pings -= 1
            self._chance.choice(self._all).tell(ctx.ref)


async def actor_big(count: int) -> None:
    async with open_runtime() as runtime:
        left, done = [count], trio.Event()
        refs = [
            await runtime.spawn(Neighbor, number, pings, left, done) for number, pings in enumerate(pings_of(count))
        ]
        for ref in refs:
            ref.tell(refs)
        await done.wait()


async def channel_big(count: int) -> None:
    pairs = [trio.open_memory_channel[Any](math.inf) for _ in range(NEIGHBORS)]
    left = count

    async def neighbor(number: int, pings: int) -> None:
        nonlocal left
        chance = random.Random(number)
        send, receive = pairs[number]
        await send.send(pairs)
        async for message in receive:
            if isinstance(message, trio.MemorySendChannel):
                await message.send(None)
                continue
            if message is None:
                left -= 1
                if not left:
                    nursery.cancel_scope.cancel()
            if pings:
                pings -= 1
                await chance.choice(pairs)[0].send(send)

    async with trio.open_nursery() as nursery:
        for number, pings in enumerate(pings_of(count)):
            nursery.start_soon(neighbor, number, pings)
    assert not left


# --- philosophers: an arbiter lends both forks or none, so nobody waits for a neighbour --------------------------------

SEATS: Final = 20
DINE: Final = "dine"


class Forks:
    """The table as the arbiter sees it."""

    def __init__(self) -> None:
        self._taken = [False] * SEATS

    def lend(self, seat: int) -> bool:
        """Hand out the forks on both sides, or none."""
        left, right = seat, (seat + 1) % SEATS
        if self._taken[left] or self._taken[right]:
            return False
        self._taken[left] = self._taken[right] = True
        return True

    def take_back(self, seat: int) -> None:
        self._taken[seat] = self._taken[(seat + 1) % SEATS] = False


@attrs.define
class Hungry(Request[bool]):
    seat: int


class Arbiter(Behavior["Hungry | int"]):
    """Answers who is hungry; a number is a seat that has eaten."""

    mailbox = WIDE

    def __init__(self) -> None:
        self._forks = Forks()

    async def on_message(self, message: Hungry | int, ctx: Context) -> None:
        if isinstance(message, Hungry):
            ctx.reply(self._forks.lend(message.seat))
        else:
            self._forks.take_back(message)


class Philosopher(Behavior[Literal["dine"]]):
    """Asks until it is given the forks, eats, and dines again as often as it should."""

    def __init__(self, seat: int, arbiter: Ref[Hungry | int], left: list[int], done: trio.Event) -> None:
        self._seat = seat
        self._arbiter = arbiter
        self._left = left
        self._done = done

    async def on_message(self, message: Literal["dine"], ctx: Context) -> None:
        while not await self._arbiter.ask(Hungry(self._seat), timeout_s=math.inf):
            pass
        self._arbiter.tell(self._seat)
        self._left[0] -= 1
        if not self._left[0]:
            self._done.set()


def meals_of(count: int) -> list[int]:
    """Return how often each philosopher eats."""
    return [count // SEATS + (seat < count % SEATS) for seat in range(SEATS)]


async def actor_philosophers(count: int) -> None:
    async with open_runtime() as runtime:
        left, done = [count], trio.Event()
        arbiter = await runtime.spawn(Arbiter)
        table = [await runtime.spawn(Philosopher, seat, arbiter, left, done) for seat in range(SEATS)]
        for philosopher, meals in zip(table, meals_of(count), strict=True):
            for _ in range(meals):
                philosopher.tell(DINE)
        await done.wait()


async def channel_philosophers(count: int) -> None:
    send, receive = trio.open_memory_channel[tuple[int, bool]](math.inf)
    answers = [trio.open_memory_channel[bool](1) for _ in range(SEATS)]

    async def arbiter() -> None:
        forks = Forks()
        async for seat, is_hungry in receive:
            if is_hungry:
                await answers[seat][0].send(forks.lend(seat))
            else:
                forks.take_back(seat)

    async def philosopher(seat: int, meals: int) -> None:
        for _ in range(meals):
            await send.send((seat, True))
            while not await answers[seat][1].receive():
                await send.send((seat, True))
            await send.send((seat, False))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(arbiter)
        async with trio.open_nursery() as table:
            for seat, meals in enumerate(meals_of(count)):
                table.start_soon(philosopher, seat, meals)
        nursery.cancel_scope.cancel()


# --- the groups --------------------------------------------------------------------------------------------------------


def contest(title: str, count: int, actors: System, channels: System) -> Contest:
    """Return a contest of actors and channels whose figure is only watched."""
    bench = f"Savina {title.partition(',')[0]} over memory channels"
    return Contest(
        title=f"Savina's {title}",
        count=count,
        systems={ACTORS: actors, CHANNELS: channels},
        targets=[Target(bench=bench, numerator=CHANNELS, denominator=ACTORS)],
    )


GROUPS: Final = {
    "counting": contest("counting, per message", 20_000, actor_counting, channel_counting),
    "fork-join-create": contest("fork-join create, per actor", 1_000, actor_create, channel_create),
    "fork-join": contest(
        f"fork-join throughput, {FORKED} actors, per message", 12_000, actor_fork_join, channel_fork_join
    ),
    "big": contest(f"big, {NEIGHBORS} actors, per ping and pong", 6_000, actor_big, channel_big),
    "philosophers": contest(f"philosophers, {SEATS} seats, per meal", 2_000, actor_philosophers, channel_philosophers),
}
