"""A timer service: one task for all deadlines of a runtime, so that a timeout costs a dictionary entry, not a cancel scope.

Nothing fires early, and at most `TICK_S` late. Deadlines due together fire in the order in which they were requested. A
callback may only set flags and wake tasks; it never waits and never raises.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Final, final

import attrs
import trio
from trio.lowlevel import current_task

from greenroom.waiting._parking import ParkingSpot

TICK_S: Final = 1 / 64


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Timer:
    """A deadline that can be cancelled."""

    callback: Callable[[], object]
    _bucket: dict[Timer, None]

    def cancel(self) -> None:
        """Cancel the deadline; no effect if it has already fired."""
        self._bucket.pop(self, None)


@final
@attrs.define(eq=False, repr=False)
class Timers:
    """Deadlines in buckets of one tick; cancelling one is a dictionary removal, not a heap search."""

    now: Callable[[], float]
    """Reads the run's clock, in seconds."""
    _buckets: dict[int, dict[Timer, None]] = attrs.Factory(dict)
    _due: list[int] = attrs.Factory(list)
    _spot: ParkingSpot = attrs.Factory(ParkingSpot)
    _sleeps_until: float = math.inf

    def __len__(self) -> int:
        """Return the number of pending deadlines."""
        return sum(map(len, self._buckets.values()))

    def after(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` after `delay_s` seconds; never if that is `math.inf` or overflows the clock."""
        ticks = (self.now() + delay_s) / TICK_S
        if ticks == math.inf:
            return Timer(callback, {})
        tick = math.ceil(ticks)
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._buckets[tick] = {}
            heapq.heappush(self._due, tick)
            if tick * TICK_S < self._sleeps_until:
                self._spot.unpark()
        timer = Timer(callback, bucket)
        bucket[timer] = None
        return timer

    async def run(self) -> None:
        """Fire deadlines as they fall due, until cancelled."""
        while True:
            self._fire()
            self._sleeps_until = self._due[0] * TICK_S if self._due else math.inf
            with trio.CancelScope(deadline=self._sleeps_until) as scope:
                await self._spot.parked(current_task())
            # Not at each new deadline: if many are cancelled, each would wake this task again.
            if scope.cancelled_caught:
                self._drop_empty()

    def _drop_empty(self) -> None:
        while self._due and not self._buckets[self._due[0]]:
            del self._buckets[heapq.heappop(self._due)]

    def _fire(self) -> None:
        while self._due and self._due[0] * TICK_S <= self.now():
            bucket = self._buckets.pop(heapq.heappop(self._due))
            while bucket:  # a callback may cancel another deadline of the bucket
                timer = next(iter(bucket))
                del bucket[timer]
                timer.callback()
