"""A timer wheel for the bare loop: one task sleeps for all, on a grid of a millisecond."""

from __future__ import annotations

import heapq
from typing import Any

import trio
from trio.lowlevel import Abort, Task

GRID_S = 0.001


class Wheel:
    def __init__(self) -> None:
        self._slots: dict[int, dict[Task, None]] = {}
        self._due: list[int] = []
        self._changed = trio.Event()

    async def run(self) -> None:
        while True:
            if not self._due:
                self._changed = trio.Event()
                await self._changed.wait()
            tick = heapq.heappop(self._due)
            await trio.sleep_until(tick * GRID_S)
            for task in self._slots.pop(tick):
                trio.lowlevel.reschedule(task)

    async def sleep(self, seconds: float) -> None:
        tick = int((trio.current_time() + seconds) / GRID_S) + 1
        slot = self._slots.get(tick)
        if slot is None:
            slot = self._slots[tick] = {}
            heapq.heappush(self._due, tick)
            self._changed.set()
        task = trio.lowlevel.current_task()
        slot[task] = None

        def abort(_: Any) -> Abort:
            slot.pop(task, None)
            return Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
