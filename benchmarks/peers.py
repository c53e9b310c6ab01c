"""What greenroom is measured against: the least code that does the same on Trio."""

from __future__ import annotations

from collections import deque
from typing import Any

import trio
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled


class RawBox:
    """A hand-rolled hand-over on Trio's documented calls: a deque, park, wake. No lease, no lanes, no capacity."""

    def __init__(self) -> None:
        self.queue: deque[Any] = deque()
        self.waiter: Task | None = None

    def put(self, message: Any) -> None:
        self.queue.append(message)
        waiter = self.waiter
        if waiter is not None:
            self.waiter = None
            reschedule(waiter)

    async def get(self) -> Any:
        while not self.queue:
            self.waiter = current_task()

            def abort(_: Any) -> Abort:
                self.waiter = None
                return Abort.SUCCEEDED

            await wait_task_rescheduled(abort)
        return self.queue.popleft()


async def raw_ping_pong(count: int) -> None:
    left, right = RawBox(), RawBox()

    async def answer() -> None:
        for _ in range(count):
            await right.get()
            left.put(None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        for _ in range(count):
            right.put(None)
            await left.get()


async def channel_ping_pong(count: int) -> None:
    to_right, from_left = trio.open_memory_channel[None](float("inf"))
    to_left, from_right = trio.open_memory_channel[None](float("inf"))

    async def answer() -> None:
        for _ in range(count):
            await from_left.receive()
            await to_left.send(None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        for _ in range(count):
            await to_right.send(None)
            await from_right.receive()


async def channel_throughput(count: int) -> None:
    send, receive = trio.open_memory_channel[int](float("inf"))

    async def produce() -> None:
        for number in range(count):
            await send.send(number)
        await send.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(produce)
        async for _ in receive:
            pass


async def raw_throughput(count: int) -> None:
    box = RawBox()

    async def produce() -> None:
        for number in range(count):
            box.put(number)
            if number % 100 == 99:
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(produce)
        for _ in range(count):
            await box.get()
