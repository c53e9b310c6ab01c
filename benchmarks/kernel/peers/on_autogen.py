"""AutoGen core, as a peer: its single-threaded runtime, with `send_message` (an ask) and `publish_message` (a tell)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from autogen_core import (
    AgentId,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    TopicId,
    TypeSubscription,
    message_handler,
)

from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve

RING: Final = 100
SENDERS: Final = 100
SUBSCRIBERS: Final = 100


@dataclass
class Number:
    value: int


@dataclass
class Produce:
    count: int


class Echo(RoutedAgent):
    """Answers a number with itself."""

    def __init__(self) -> None:
        super().__init__("echo")

    @message_handler
    async def on_number(self, message: Number, ctx: MessageContext) -> Number:
        return message


class Player(RoutedAgent):
    """Sends so many numbers to the echo, each after the answer to the one before."""

    def __init__(self) -> None:
        super().__init__("player")

    @message_handler
    async def on_produce(self, message: Produce, ctx: MessageContext) -> Number:
        for value in range(message.count):
            await self.send_message(Number(value), AgentId("echo", "default"))
        return Number(message.count)


class Link(RoutedAgent):
    """Publishes a number to the next of a ring, one less each time."""

    size = RING

    def __init__(self) -> None:
        super().__init__("link")

    @message_handler
    async def on_number(self, message: Number, ctx: MessageContext) -> None:
        if message.value:
            following = str((int(self.id.key) + 1) % self.size)
            await self.publish_message(Number(message.value - 1), TopicId("link", following))


class Pair(Link):
    """The same in a ring of two."""

    size = 2


class Sink(RoutedAgent):
    """Takes numbers."""

    seen = 0

    def __init__(self) -> None:
        super().__init__("sink")

    @message_handler
    async def on_number(self, message: Number, ctx: MessageContext) -> None:
        Sink.seen += 1


class Source(RoutedAgent):
    """Publishes numbers to the sink."""

    def __init__(self) -> None:
        super().__init__("source")

    @message_handler
    async def on_produce(self, message: Produce, ctx: MessageContext) -> None:
        for value in range(message.count):
            await self.publish_message(Number(value), TopicId("sink", "default"))


async def send_ping_pong(count: int) -> Stopwatch:
    runtime = SingleThreadedAgentRuntime()
    await Echo.register(runtime, "echo", Echo)
    await Player.register(runtime, "player", Player)
    runtime.start()
    await runtime.send_message(Produce(1), AgentId("player", "default"))  # agents are made at their first message
    with Stopwatch() as took:
        await runtime.send_message(Produce(count), AgentId("player", "default"))
    await runtime.stop()
    return took


async def ask(count: int) -> Stopwatch:
    runtime = SingleThreadedAgentRuntime()
    await Echo.register(runtime, "echo", Echo)
    runtime.start()
    echo = AgentId("echo", "default")
    await runtime.send_message(Number(0), echo)
    with Stopwatch() as took:
        for value in range(count):
            await runtime.send_message(Number(value), echo)
    await runtime.stop()
    return took


async def around(kind: type[Link], hops: int) -> Stopwatch:
    runtime = SingleThreadedAgentRuntime()
    await kind.register(runtime, "link", kind)
    await runtime.add_subscription(TypeSubscription("link", "link"))
    with Stopwatch() as took:
        runtime.start()
        await runtime.publish_message(Number(hops), TopicId("link", "0"))
        await runtime.stop_when_idle()
    return took


async def fan_in(senders: int, count: int) -> Stopwatch:
    runtime = SingleThreadedAgentRuntime()
    await Sink.register(runtime, "sink", Sink)
    await Source.register(runtime, "source", Source)
    await runtime.add_subscription(TypeSubscription("sink", "sink"))
    Sink.seen = 0
    shares = [count // senders + (number < count % senders) for number in range(senders)]
    with Stopwatch() as took:
        runtime.start()
        produced = [
            runtime.send_message(Produce(share), AgentId("source", str(key))) for key, share in enumerate(shares)
        ]
        await asyncio.gather(*produced)
        await runtime.stop_when_idle()
    assert Sink.seen == count, f"{Sink.seen} of {count} came"
    return took


async def fan_out(count: int) -> Stopwatch:
    """Deliver `count` messages, in rounds of one to each subscriber."""
    runtime = SingleThreadedAgentRuntime()
    subscribers = min(count, SUBSCRIBERS)
    for number in range(subscribers):
        await Sink.register(runtime, f"sink{number}", Sink)
        await runtime.add_subscription(TypeSubscription("news", f"sink{number}"))
    rounds = count // subscribers
    Sink.seen = 0
    with Stopwatch() as took:
        runtime.start()
        for value in range(rounds):
            await runtime.publish_message(Number(value), TopicId("news", "default"))
        await runtime.stop_when_idle()
    assert Sink.seen == rounds * subscribers, f"{Sink.seen} of {count} came"
    return took


BENCHES: Final[dict[str, Bench]] = {
    "send-ping-pong": lambda count: asyncio.run(send_ping_pong(count)),
    "ping-pong": lambda count: asyncio.run(around(Pair, 2 * count)),
    "ring": lambda count: asyncio.run(around(Link, count)),
    "throughput": lambda count: asyncio.run(fan_in(1, count)),
    "fan-in": lambda count: asyncio.run(fan_in(SENDERS, count)),
    "fan-out": lambda count: asyncio.run(fan_out(count)),
    "ask": lambda count: asyncio.run(ask(count)),
}

if __name__ == "__main__":
    serve(BENCHES, "autogen-core")
