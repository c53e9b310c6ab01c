"""asyncio, as a peer: its own queues, and the least code that hands over (a deque and a future)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve

RING: Final = 100
SENDERS: Final = 100
RECEIVERS: Final = 1_000


class Place(Protocol):
    """Where messages wait."""

    def put_nowait(self, message: Any, /) -> None: ...

    def get(self) -> Awaitable[Any]: ...


class RawBox:
    """A hand-rolled hand-over: a deque, and a future while somebody waits."""

    def __init__(self) -> None:
        self._queue: deque[Any] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put_nowait(self, message: Any) -> None:
        self._queue.append(message)
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            waiter.set_result(None)

    async def get(self) -> Any:
        while not self._queue:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._queue.popleft()


async def ping_pong(make: Callable[[], Place], count: int) -> Stopwatch:
    left, right = make(), make()

    async def answer() -> None:
        for _ in range(count):
            await right.get()
            left.put_nowait(None)

    with Stopwatch() as took:
        answering = asyncio.ensure_future(answer())
        for _ in range(count):
            right.put_nowait(None)
            await left.get()
        await answering
    return took


async def ring(make: Callable[[], Place], hops: int) -> Stopwatch:
    places = [make() for _ in range(RING)]
    done = asyncio.Event()

    async def link(place: Place, following: Place) -> None:
        while True:
            left = await place.get()
            if left:
                following.put_nowait(left - 1)
            else:
                done.set()

    links = [asyncio.ensure_future(link(places[number - 1], places[number])) for number in range(RING)]
    await asyncio.sleep(0)
    with Stopwatch() as took:
        places[0].put_nowait(hops)
        await done.wait()
    await cancelled(links)
    return took


async def fan_in(make: Callable[[], Place], senders: int, count: int) -> Stopwatch:
    place = make()

    async def produce(share: int) -> None:
        for number in range(1, share + 1):
            place.put_nowait(number)
            if not number % 100:
                await asyncio.sleep(0)

    with Stopwatch() as took:
        producing = [
            asyncio.ensure_future(produce(count // senders + (number < count % senders))) for number in range(senders)
        ]
        for _ in range(count):
            await place.get()
        await asyncio.gather(*producing)
    return took


async def fan_out(make: Callable[[], Place], count: int) -> Stopwatch:
    """Deliver `count` messages, in rounds of one to each receiver."""
    places = [make() for _ in range(min(count, RECEIVERS))]
    left, done = 0, asyncio.Event()

    async def receive(place: Place) -> None:
        nonlocal left
        while True:
            await place.get()
            left -= 1
            if not left:
                done.set()

    receiving = [asyncio.ensure_future(receive(place)) for place in places]
    await asyncio.sleep(0)
    with Stopwatch() as took:
        for start in range(0, count, RECEIVERS):
            chosen = places[: count - start]
            left, done = len(chosen), asyncio.Event()
            for place in chosen:
                place.put_nowait(None)
            await done.wait()
    await cancelled(receiving)
    return took


async def cancelled(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def benches_of(name: str, make: Callable[[], Place]) -> dict[str, Bench]:
    return {
        f"{name}-ping-pong": lambda count: asyncio.run(ping_pong(make, count)),
        f"{name}-ring": lambda count: asyncio.run(ring(make, count)),
        f"{name}-throughput": lambda count: asyncio.run(fan_in(make, 1, count)),
        f"{name}-fan-in": lambda count: asyncio.run(fan_in(make, SENDERS, count)),
        f"{name}-fan-out": lambda count: asyncio.run(fan_out(make, count)),
    }


BENCHES: Final[dict[str, Bench]] = {**benches_of("queue", asyncio.Queue), **benches_of("raw", RawBox)}

if __name__ == "__main__":
    serve(BENCHES)
