"""Messages between full actors: envelope, lanes, lease, reused turn scope, recorder, supervision."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import trio

from benchmarks.measure import Target, cpu_seconds, print_figures, run_group
from benchmarks.peers import channel_ping_pong, channel_throughput, raw_ping_pong, raw_throughput
from greenroom.actors import Behavior, Context, Ref
from greenroom.mailbox import Lane, MailboxPolicy
from greenroom.supervisor import open_runtime

PING_PONGS = 5_000
MESSAGES = 20_000
BACKLOG = 100_000
WIDE = MailboxPolicy(capacity=10_000_000)


class Player(Behavior["Ref[Any] | int"]):
    """Returns the ball until it is told that the game is over."""

    def __init__(self, done: trio.Event) -> None:
        self._done = done
        self._other: Ref[Any] | None = None

    async def on_message(self, message: Ref[Any] | int, ctx: Context) -> None:
        if isinstance(message, int):
            assert self._other is not None
            if message:
                self._other.tell(message - 1)
            else:
                self._done.set()
        else:
            self._other = message


async def actor_ping_pong(count: int) -> None:
    async with open_runtime() as runtime:
        done = trio.Event()
        left = await runtime.spawn(Player, done)
        right = await runtime.spawn(Player, done)
        left.tell(right)
        right.tell(left)
        left.tell(2 * count)
        await done.wait()


class Sink(Behavior[int]):
    """Counts down."""

    mailbox = WIDE

    def __init__(self, count: int, done: trio.Event) -> None:
        self._left = count
        self._done = done

    async def on_message(self, message: int, ctx: Context) -> None:
        self._left -= 1
        if not self._left:
            self._done.set()


class Source(Behavior[int]):
    """Sends what it is told to, and yields after each 100."""

    def __init__(self, sink: Ref[int]) -> None:
        self._sink = sink

    async def on_message(self, message: int, ctx: Context) -> None:
        tell = self._sink.tell
        for number in range(message):
            tell(number)
            if number % 100 == 99:
                await trio.lowlevel.checkpoint()


async def actor_throughput(count: int) -> None:
    async with open_runtime() as runtime:
        done = trio.Event()
        sink = await runtime.spawn(Sink, count, done)
        source = await runtime.spawn(Source, sink)
        source.tell(count)
        await done.wait()


class Worker(Behavior[str | trio.Event]):
    """Takes ten microseconds for each message, and notes when an urgent one came."""

    mailbox = WIDE

    def __init__(self, arrived: list[float]) -> None:
        self._arrived = arrived

    async def on_message(self, message: str | trio.Event, ctx: Context) -> None:
        if isinstance(message, trio.Event):
            self._arrived.append(time.perf_counter())
            message.set()
            return
        until = time.perf_counter() + 10e-6
        while time.perf_counter() < until:
            pass


async def urgent_latency(backlog: int) -> float:
    """Return the median of the seconds from the send of a `now` message to its turn.

    Many of them behind one backlog, of which they see nearly all: at a single moment the collector may be about to run.
    """
    async with open_runtime() as runtime:
        arrived: list[float] = []
        worker = await runtime.spawn(Worker, arrived)
        for _ in range(backlog):
            worker.tell("work")
        latencies: list[float] = []
        for _ in range(100):
            await trio.sleep(0.001)  # it is in the middle of its backlog
            done = trio.Event()
            began = time.perf_counter()
            worker.tell(done, Lane.NOW)
            await done.wait()
            latencies.append(arrived.pop() - began)
        worker.kill()
        await worker.wait_ended()
    return statistics.median(latencies)


def cpu_of(function: Callable[[int], Awaitable[None]], count: int) -> Callable[[], float]:
    return lambda: cpu_seconds(lambda: trio.run(function, count)) / count


def ping_pong() -> None:
    channels = Target(
        bench="ping-pong over trio memory channels",
        numerator="trio memory channels",
        denominator="greenroom actors",
        limit=1.4,
        at_least=True,
    )
    raw = attrs.evolve(channels, bench="ping-pong over trio-raw", numerator="trio-raw", limit=0.8)
    run_group(
        "ping-pong, CPU per round trip",
        {
            "greenroom actors": cpu_of(actor_ping_pong, PING_PONGS),
            "trio memory channels": cpu_of(channel_ping_pong, PING_PONGS),
            "trio-raw": cpu_of(raw_ping_pong, PING_PONGS),
        },
        [channels, raw],
        unit="us",
        scale=1e6,
    )


def throughput() -> None:
    target = Target(
        bench="throughput over a trio memory channel",
        numerator="trio memory channel",
        denominator="greenroom actors",
        limit=4.0,
        at_least=True,
    )
    run_group(
        "1:1 throughput, CPU per message",
        {
            "greenroom actors": cpu_of(actor_throughput, MESSAGES),
            "trio memory channel": cpu_of(channel_throughput, MESSAGES),
            "trio-raw": cpu_of(raw_throughput, MESSAGES),
        },
        [target],
        unit="us",
        scale=1e6,
    )


def control_lane() -> None:
    target = Target(
        bench="now behind 100,000",
        numerator="behind 100,000 of `next`",
        denominator="behind none",
        limit=1.5,
        at_least=False,
    )
    run_group(
        "a `now` message, send to turn",
        {
            "behind 100,000 of `next`": lambda: trio.run(urgent_latency, BACKLOG),
            "behind none": lambda: trio.run(urgent_latency, 0),
        },
        [target],
        unit="us",
        scale=1e6,
        slices=1,
    )


def main() -> None:
    ping_pong()
    throughput()
    control_lane()


if __name__ == "__main__":
    main()
    print_figures()
