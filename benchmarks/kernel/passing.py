"""Messages from actor to actor: Savina's thread ring, fan-in, asks (G4, G5, G7, G8, G10)."""

from __future__ import annotations

import math
from typing import Any

import trio

from benchmarks.measure import Target, run_group
from benchmarks.messaging import Sink, cpu_of
from benchmarks.peers import RawBox
from greenroom.actors import Behavior, Context, Ref, Request
from greenroom.supervisor import open_runtime

RING = 100
HOPS = 10_000
SENDERS = 100
EACH = 200
ASKS = 3_000


class Link(Behavior[Any]):
    """Passes a number on, one less each time."""

    def __init__(self, done: trio.Event) -> None:
        self._done = done
        self._next: Ref[Any] | None = None

    async def on_message(self, message: Any, ctx: Context) -> None:
        if not isinstance(message, int):
            self._next = message
        elif message:
            assert self._next is not None
            self._next.tell(message - 1)
        else:
            self._done.set()


class PlainLink(Behavior[Any]):
    """The same as a plain function."""

    def __init__(self, done: trio.Event) -> None:
        self._done = done
        self._next: Ref[Any] | None = None

    def on_message(self, message: Any, ctx: Context) -> None:
        if not isinstance(message, int):
            self._next = message
        elif message:
            assert self._next is not None
            self._next.tell(message - 1)
        else:
            self._done.set()


async def ring_of(kind: type[Behavior[Any]], hops: int) -> None:
    async with open_runtime() as runtime:
        done = trio.Event()
        links = [await runtime.spawn(kind, done) for _ in range(RING)]
        for number, link in enumerate(links):
            link.tell(links[(number + 1) % RING])
        links[0].tell(hops)
        await done.wait()


async def actor_ring(hops: int) -> None:
    await ring_of(Link, hops)


async def plain_ring(hops: int) -> None:
    await ring_of(PlainLink, hops)


async def channel_ring(hops: int) -> None:
    pairs = [trio.open_memory_channel[int](math.inf) for _ in range(RING)]

    async def link(number: int) -> None:
        send, receive = pairs[(number + 1) % RING][0], pairs[number][1]
        async for left in receive:
            if not left:
                nursery.cancel_scope.cancel()
                return
            await send.send(left - 1)

    async with trio.open_nursery() as nursery:
        for number in range(RING):
            nursery.start_soon(link, number)
        await pairs[0][0].send(hops)


async def raw_ring(hops: int) -> None:
    boxes = [RawBox() for _ in range(RING)]

    async def link(number: int) -> None:
        while True:
            left = await boxes[number].get()
            if not left:
                nursery.cancel_scope.cancel()
                return
            boxes[(number + 1) % RING].put(left - 1)

    async with trio.open_nursery() as nursery:
        for number in range(RING):
            nursery.start_soon(link, number)
        boxes[0].put(hops)


class Polite(Behavior[int]):
    """Sends what it is told to, and yields after each."""

    def __init__(self, sink: Ref[int]) -> None:
        self._sink = sink

    async def on_message(self, message: int, ctx: Context) -> None:
        for number in range(message):
            self._sink.tell(number)
            await trio.lowlevel.checkpoint()


async def actor_fan_in(count: int) -> None:
    """Each sender yields after each message, as those of performance.md do."""
    async with open_runtime() as runtime:
        done = trio.Event()
        sink = await runtime.spawn(Sink, count, done)
        for source in [await runtime.spawn(Polite, sink) for _ in range(SENDERS)]:
            source.tell(count // SENDERS)
        await done.wait()


async def channel_fan_in(count: int) -> None:
    send, receive = trio.open_memory_channel[int](math.inf)

    async def produce() -> None:
        for number in range(count // SENDERS):
            await send.send(number)

    async with trio.open_nursery() as nursery:
        for _ in range(SENDERS):
            nursery.start_soon(produce)
        for _ in range(count):
            await receive.receive()


async def raw_fan_in(count: int) -> None:
    box = RawBox()

    async def produce() -> None:
        for number in range(count // SENDERS):
            box.put(number)
            await trio.lowlevel.checkpoint()  # after each, as the others do

    async with trio.open_nursery() as nursery:
        for _ in range(SENDERS):
            nursery.start_soon(produce)
        for _ in range(count):
            await box.get()


class Get(Request[int]):
    """Asks for a number."""


class Answerer(Behavior[Get]):
    """Answers at once."""

    async def on_message(self, message: Get, ctx: Context) -> None:
        ctx.reply(1)


async def asks(count: int, timeout_s: float) -> None:
    async with open_runtime() as runtime:
        answerer = await runtime.spawn(Answerer)
        request = Get()
        for _ in range(count):
            await answerer.ask(request, timeout_s=timeout_s)


async def endless_asks(count: int) -> None:
    await asks(count, math.inf)


async def default_asks(count: int) -> None:
    await asks(count, 30.0)


async def raw_asks(count: int) -> None:
    box = RawBox()

    async def answer() -> None:
        for _ in range(count):
            (await box.get()).put(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        for _ in range(count):
            back = RawBox()
            box.put(back)
            await back.get()


async def channel_asks(count: int) -> None:
    send, receive = trio.open_memory_channel[Any](math.inf)

    async def answer() -> None:
        for _ in range(count):
            await (await receive.receive()).send(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        for _ in range(count):
            back, answers = trio.open_memory_channel[int](1)
            await send.send(back)
            await answers.receive()


def at_least(bench: str, reference: str, limit: float | None, *, ours: str = "greenroom actors") -> Target:
    """Return a target: so many times as fast as a reference; without a limit it is only watched."""
    return Target(bench=bench, numerator=reference, denominator=ours, limit=limit, at_least=True)


def at_most(bench: str, reference: str, limit: float | None, *, ours: str = "greenroom actors") -> Target:
    """Return a target: at most so many times the cost of a reference; without a limit it is only watched."""
    return Target(bench=bench, numerator=ours, denominator=reference, limit=limit, at_least=False)


def ring() -> None:
    run_group(
        f"thread ring of {RING}, CPU per hop",
        {
            "greenroom actors": cpu_of(actor_ring, HOPS),
            "greenroom plain functions": cpu_of(plain_ring, HOPS),
            "trio memory channels": cpu_of(channel_ring, HOPS),
            "trio-raw": cpu_of(raw_ring, HOPS),
        },
        [
            at_least("G5 ring over trio-raw", "trio-raw", 1.0),
            at_least("G5 ring over memory channels", "trio memory channels", 1.8),
            at_least("G10 plain ring over trio-raw", "trio-raw", 6.0, ours="greenroom plain functions"),
        ],
        unit="us",
        scale=1e6,
        slices=2,
    )


def fan_in() -> None:
    count = SENDERS * EACH
    run_group(
        f"fan-in, {SENDERS} to 1, CPU per message",
        {
            "greenroom actors": cpu_of(actor_fan_in, count),
            "trio memory channels": cpu_of(channel_fan_in, count),
            "trio-raw": cpu_of(raw_fan_in, count),
        },
        [
            at_least("G4 fan-in over trio-raw", "trio-raw", 0.6),
            at_least("G4 fan-in over memory channels", "trio memory channels", 1.9),
        ],
        unit="us",
        scale=1e6,
        slices=2,
    )


def ask() -> None:
    run_group(
        "ask and answer, CPU per ask",
        {
            "greenroom actors": cpu_of(endless_asks, ASKS),
            "greenroom, with the default time-out": cpu_of(default_asks, ASKS),
            "trio memory channels": cpu_of(channel_asks, ASKS),
            "trio-raw": cpu_of(raw_asks, ASKS),
        },
        [
            at_most("G7 ask over trio-raw", "trio-raw", 1.0),
            at_most("G7 ask over memory channels", "trio memory channels", 0.5),
            at_most("G8 ask with a time-out", "greenroom actors", 1.15, ours="greenroom, with the default time-out"),
        ],
        unit="us",
        scale=1e6,
        slices=2,
    )


GROUPS = {"ring": ring, "fan-in": fan_in, "ask": ask}
