"""Fan-out: one sends to 1,000 that are parked, and waits until all of them have taken it (G6).

Only the deliveries are measured: everybody is there, and asleep, before the clock is read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import trio
import trio.testing

from benchmarks.kernel.passing import at_least
from benchmarks.measure import run_group
from benchmarks.peers import RawBox
from greenroom.actors import Behavior, Context
from greenroom.mailbox import Mailbox
from greenroom.supervisor import open_runtime

RECEIVERS: Final = 1_000
ROUNDS: Final = 20
BARE: Final = "greenroom mailboxes alone"


class Tally:
    """Counts what arrives, and says when a round is complete."""

    def __init__(self) -> None:
        self._left = 0
        self.done = trio.Event()

    def begin(self, count: int) -> None:
        self._left = count
        self.done = trio.Event()

    def hit(self) -> None:
        self._left -= 1
        if not self._left:
            self.done.set()


async def deliveries(sends: Sequence[Callable[[Tally], object]], tally: Tally, rounds: int) -> float:
    """Return the CPU seconds of one delivery."""
    await trio.testing.wait_all_tasks_blocked()
    began = time.process_time()
    for _ in range(rounds):
        tally.begin(len(sends))
        for send in sends:
            send(tally)
        await tally.done.wait()
        await trio.testing.wait_all_tasks_blocked()
    return (time.process_time() - began) / (rounds * len(sends))


class Receiver(Behavior[Tally]):
    async def on_message(self, message: Tally, ctx: Context) -> None:
        message.hit()


class PlainReceiver(Behavior[Tally]):
    def on_message(self, message: Tally, ctx: Context) -> None:
        message.hit()


def actors_of(kind: type[Behavior[Tally]]) -> Callable[[int, int], Awaitable[float]]:
    async def fan_out(receivers: int, rounds: int) -> float:
        async with open_runtime() as runtime:
            refs = [await runtime.spawn(kind) for _ in range(receivers)]
            return await deliveries([ref.tell for ref in refs], Tally(), rounds)

    return fan_out


async def mailbox_fan_out(receivers: int, rounds: int) -> float:
    """The mailbox with a loop of the least code: take, acknowledge, park."""
    mailboxes = [Mailbox[Tally](str(number)) for number in range(receivers)]

    async def receive(mailbox: Mailbox[Tally]) -> None:
        while True:
            envelope = mailbox.take()
            if envelope is None:
                await mailbox.park()
                continue
            envelope.message.hit()
            mailbox.ack(envelope)

    return await with_tasks(receive, mailboxes, [mailbox.put_nowait for mailbox in mailboxes], rounds)


async def raw_fan_out(receivers: int, rounds: int) -> float:
    boxes = [RawBox() for _ in range(receivers)]

    async def receive(box: RawBox) -> None:
        while True:
            (await box.get()).hit()

    return await with_tasks(receive, boxes, [box.put for box in boxes], rounds)


async def channel_fan_out(receivers: int, rounds: int) -> float:
    pairs = [trio.open_memory_channel[Tally](math.inf) for _ in range(receivers)]

    async def receive(pair: tuple[Any, trio.MemoryReceiveChannel[Tally]]) -> None:
        async for tally in pair[1]:
            tally.hit()

    return await with_tasks(receive, pairs, [send.send_nowait for send, _ in pairs], rounds)


async def with_tasks(
    receive: Callable[[Any], Awaitable[None]],
    places: Sequence[Any],
    sends: Sequence[Callable[[Any], object]],
    rounds: int,
) -> float:
    """Run a receiving task for each place around the deliveries."""
    async with trio.open_nursery() as nursery:
        for place in places:
            nursery.start_soon(receive, place)
        took = await deliveries(sends, Tally(), rounds)
        nursery.cancel_scope.cancel()
    return took


SYSTEMS: Final[dict[str, Callable[[int, int], Awaitable[float]]]] = {
    "greenroom actors": actors_of(Receiver),
    "greenroom plain functions": actors_of(PlainReceiver),
    BARE: mailbox_fan_out,
    "trio memory channels": channel_fan_out,
    "trio-raw": raw_fan_out,
}


def fan_out() -> None:
    run_group(
        f"fan-out, 1 to {RECEIVERS:,} that are parked, CPU per delivery",
        {name: lambda system=system: trio.run(system, RECEIVERS, ROUNDS) for name, system in SYSTEMS.items()},  # type: ignore[misc]
        [
            at_least("G6 fan-out, mailboxes over trio-raw", "trio-raw", 2.0, ours=BARE),
            at_least("fan-out, actors over memory channels", "trio memory channels", None),
            at_least("fan-out, plain functions over trio-raw", "trio-raw", None, ours="greenroom plain functions"),
        ],
        unit="us",
        scale=1e6,
        slices=2,
    )


GROUPS: Final = {"fan-out": fan_out}
