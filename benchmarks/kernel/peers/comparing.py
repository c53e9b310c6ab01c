"""Full actors, plain functions and bare mailboxes against other systems, per message, hop or ask (G1 to G10).

CPU time, where a system runs on one thread. Pykka has a thread for each actor, and much of its time is one thread waking
the next, so there wall is compared with wall.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import trio

from benchmarks.kernel.fan_out import BARE, RECEIVERS, ROUNDS, SYSTEMS
from benchmarks.kernel.passing import actor_fan_in, actor_ring, at_least, endless_asks, plain_ring
from benchmarks.kernel.peers.process import (
    ASYNCIO,
    AUTOGEN,
    ERLANG,
    PYKKA,
    THESPIAN,
    XOSCAR,
    AnyPeer,
    PeerFailed,
    PeerProcess,
    open_peer,
)
from benchmarks.measure import Target, report_skipped, run_group
from benchmarks.messaging import actor_ping_pong, actor_throughput, cpu_of
from greenroom.actors import Behavior, Context, Ref
from greenroom.mailbox import Mailbox
from greenroom.supervisor import open_runtime

ACTORS: Final = "greenroom actors"
ACTORS_WALL: Final = "greenroom actors, wall"
PLAIN: Final = "greenroom plain functions"
QUEUE: Final = "asyncio queue"
RAW: Final = "asyncio, deque and future"
SEND: Final = "AutoGen core, send"
PUBLISH: Final = "AutoGen core, publish"
PYKKA_WALL: Final = "Pykka, wall"


@attrs.frozen
class Entrant:
    """A peer in one comparison: what it is called there, and what its process is asked for."""

    name: str
    peer: AnyPeer
    bench: str
    count: int

    @property
    def is_wall(self) -> bool:
        return self.peer is PYKKA


@attrs.frozen(kw_only=True)
class Comparison:
    """A group of the benchmarks: call it to measure."""

    title: str
    ours: Mapping[str, Callable[[], float]]
    entrants: Sequence[Entrant]
    targets: Sequence[Target]

    def __call__(self) -> None:
        with contextlib.ExitStack() as stack:
            theirs: dict[str, Callable[[], float]] = {}
            missing: dict[str, str] = {}
            versions: dict[str, str] = {}
            for one in self.entrants:
                try:
                    process = stack.enter_context(open_peer(one.peer))
                    process.measure(one.bench, 1)
                except PeerFailed as failure:
                    missing[one.name] = str(failure)
                else:
                    theirs[one.name] = measure_of(process, one.bench, one.count, is_wall=one.is_wall)
                    versions[one.peer.name] = process.version
            told = ", ".join(f"{name} {version}" for name, version in versions.items())
            try:
                run_group(
                    f"{self.title}; with {told or 'nobody else'}",
                    {**self.ours, **theirs},
                    self.targets,
                    unit="us",
                    scale=1e6,
                    slices=1,
                    missing=missing,
                )
            except PeerFailed as failure:  # in the middle: then no ratio of this comparison is whole
                for target in self.targets:
                    report_skipped(target, str(failure))


def measure_of(process: PeerProcess, bench: str, count: int, *, is_wall: bool) -> Callable[[], float]:
    return lambda: process.measure(bench, count)[is_wall]


def wall_of(function: Callable[[int], Awaitable[None]], count: int) -> Callable[[], float]:
    def measure() -> float:
        began = time.perf_counter()
        trio.run(function, count)
        return (time.perf_counter() - began) / count

    return measure


class PlainPlayer(Behavior["Ref[Any] | int"]):
    """Returns the ball until the game is over, as a plain function."""

    def __init__(self, done: trio.Event) -> None:
        self._done = done
        self._other: Ref[Any] | None = None

    def on_message(self, message: Ref[Any] | int, ctx: Context) -> None:
        if isinstance(message, Ref):
            self._other = message
        elif message:
            assert self._other is not None
            self._other.tell(message - 1)
        else:
            self._done.set()


async def plain_ping_pong(count: int) -> None:
    async with open_runtime() as runtime:
        done = trio.Event()
        left, right = await runtime.spawn(PlainPlayer, done), await runtime.spawn(PlainPlayer, done)
        left.tell(right)
        right.tell(left)
        left.tell(2 * count)
        await done.wait()


async def mailbox_ping_pong(count: int) -> None:
    """Two mailboxes, each with a loop of the least code: take, acknowledge, park."""
    left, right = Mailbox[None]("left"), Mailbox[None]("right")

    async def play(own: Mailbox[None], other: Mailbox[None]) -> None:
        seen = 0
        while seen < count:
            envelope = own.take()
            if envelope is None:
                await own.park()
                continue
            seen += 1
            own.ack(envelope)
            other.put_nowait(None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(play, left, right)
        nursery.start_soon(play, right, left)
        left.put_nowait(None)


def fan_out_of(name: str) -> Callable[[], float]:
    return lambda: trio.run(SYSTEMS[name], RECEIVERS, ROUNDS)


PING_PONG: Final = Comparison(
    title="ping-pong, per round trip",
    ours={
        ACTORS: cpu_of(actor_ping_pong, 3_000),
        ACTORS_WALL: wall_of(actor_ping_pong, 3_000),
        PLAIN: cpu_of(plain_ping_pong, 3_000),
        BARE: cpu_of(mailbox_ping_pong, 3_000),
    },
    entrants=[
        Entrant(QUEUE, ASYNCIO, "queue-ping-pong", 5_000),
        Entrant(RAW, ASYNCIO, "raw-ping-pong", 5_000),
        Entrant(PYKKA_WALL, PYKKA, "ping-pong", 2_000),
        Entrant("Thespian, simple system", THESPIAN, "ping-pong", 2_000),
        Entrant("xoscar, one pool", XOSCAR, "ping-pong", 1_000),
        Entrant(SEND, AUTOGEN, "send-ping-pong", 500),
        Entrant(PUBLISH, AUTOGEN, "ping-pong", 500),
        Entrant("Erlang", ERLANG, "ping-pong", 200_000),
    ],
    targets=[
        at_least("G1 ping-pong, mailboxes over asyncio, deque and future", RAW, 0.9, ours=BARE),
        at_least("G2 ping-pong over AutoGen core, send", SEND, 18),
        at_least("G2 ping-pong over Pykka", PYKKA_WALL, 7, ours=ACTORS_WALL),
        at_least("G10 plain ping-pong over Erlang", "Erlang", 0.5, ours=PLAIN),
        at_least("G10 plain ping-pong over AutoGen core, publish", PUBLISH, 140, ours=PLAIN),
        at_least("ping-pong over an asyncio queue pair", QUEUE, None),
        at_least("ping-pong over Thespian", "Thespian, simple system", None),
        at_least("ping-pong over xoscar", "xoscar, one pool", None),
    ],
)
THROUGHPUT: Final = Comparison(
    title="1:1 throughput, per message",
    ours={ACTORS: cpu_of(actor_throughput, 10_000)},
    entrants=[
        Entrant(QUEUE, ASYNCIO, "queue-throughput", 20_000),
        Entrant(PUBLISH, AUTOGEN, "throughput", 500),
    ],
    targets=[
        at_least("G3 throughput over an asyncio queue", QUEUE, 0.45),
        at_least("G3 throughput over AutoGen core, publish", PUBLISH, 75),
    ],
)
FAN_IN: Final = Comparison(
    title="fan-in, 100 to 1, per message",
    ours={ACTORS: cpu_of(actor_fan_in, 20_000)},
    entrants=[Entrant(QUEUE, ASYNCIO, "queue-fan-in", 20_000), Entrant(PUBLISH, AUTOGEN, "fan-in", 1_000)],
    targets=[
        at_least("G4 fan-in over AutoGen core, publish", PUBLISH, 30),
        at_least("fan-in over an asyncio queue", QUEUE, None),
    ],
)
RING: Final = Comparison(
    title="ring of 100, per hop",
    ours={
        ACTORS: cpu_of(actor_ring, 5_000),
        ACTORS_WALL: wall_of(actor_ring, 5_000),
        PLAIN: cpu_of(plain_ring, 5_000),
    },
    entrants=[
        Entrant(QUEUE, ASYNCIO, "queue-ring", 10_000),
        Entrant(PYKKA_WALL, PYKKA, "ring", 3_000),
        Entrant(PUBLISH, AUTOGEN, "ring", 1_000),
        Entrant("Erlang", ERLANG, "ring", 400_000),
    ],
    targets=[
        at_least("G5 ring over AutoGen core, publish", PUBLISH, 28),
        at_least("G10 plain ring over Erlang", "Erlang", 0.5, ours=PLAIN),
        at_least("G10 plain ring over AutoGen core, publish", PUBLISH, 140, ours=PLAIN),
        at_least("ring over asyncio queues", QUEUE, None),
        at_least("ring over Pykka", PYKKA_WALL, None, ours=ACTORS_WALL),
    ],
)
FAN_OUT: Final = Comparison(
    title=f"fan-out, 1 to {RECEIVERS:,} that are parked (AutoGen: 100), per delivery",
    ours={name: fan_out_of(name) for name in (ACTORS, BARE)},
    entrants=[
        Entrant(RAW, ASYNCIO, "raw-fan-out", RECEIVERS * ROUNDS),
        Entrant(QUEUE, ASYNCIO, "queue-fan-out", RECEIVERS * ROUNDS),
        Entrant(PUBLISH, AUTOGEN, "fan-out", 2_000),
    ],
    targets=[
        at_least("G6 fan-out, mailboxes over asyncio, deque and future", RAW, 1.3, ours=BARE),
        at_least("G6 fan-out, mailboxes over AutoGen core, publish", PUBLISH, 25, ours=BARE),
        at_least("fan-out over asyncio queues", QUEUE, None),
    ],
)
ASK: Final = Comparison(
    title="ask and answer, per ask",
    ours={ACTORS: cpu_of(endless_asks, 2_000), ACTORS_WALL: wall_of(endless_asks, 2_000)},
    entrants=[Entrant(PYKKA_WALL, PYKKA, "ask", 2_000), Entrant(SEND, AUTOGEN, "ask", 500)],
    targets=[
        at_least("G7 ask over AutoGen core, send", SEND, 17),
        at_least("G7 ask over Pykka", PYKKA_WALL, 9, ours=ACTORS_WALL),
    ],
)

GROUPS: Final = {
    "peers-ping-pong": PING_PONG,
    "peers-throughput": THROUGHPUT,
    "peers-fan-in": FAN_IN,
    "peers-fan-out": FAN_OUT,
    "peers-ring": RING,
    "peers-ask": ASK,
}
