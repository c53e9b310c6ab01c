"""The lag of the event loop: how late a task wakes that asked for a moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, final

import attrs
import trio

PERIOD_S: Final = 0.1
KEPT: Final = 600
"""Samples of the last minute."""
LONG_LAG_S: Final = 1.0
LONG_FOR_S: Final = 10.0
"""A lag over `LONG_LAG_S` that lasts for this long is reported, once."""


@final
@attrs.frozen(kw_only=True)
class LagFigures:
    """Lags of the last minute, in seconds."""

    p50_s: float
    p99_s: float
    max_s: float


@final
class LoopLag:
    """The measured lags.

    Args:
        on_long: Called once with the worst lag when the loop was late for ten seconds.
    """

    def __init__(self, on_long: Callable[[float], object]) -> None:
        self._on_long = on_long
        self._lags: deque[float] = deque(maxlen=KEPT)
        self._long_since: float | None = None
        self._worst_s = 0.0
        self._is_told = False

    def figures(self) -> LagFigures:
        """Return the figures at this moment."""
        lags = sorted(self._lags)
        if not lags:
            return LagFigures(p50_s=0.0, p99_s=0.0, max_s=0.0)
        return LagFigures(
            p50_s=lags[len(lags) // 2], p99_s=lags[min(len(lags) - 1, len(lags) * 99 // 100)], max_s=lags[-1]
        )

    async def measure(self) -> None:
        """Measure until cancelled."""
        while True:
            due = trio.current_time() + PERIOD_S
            await trio.sleep_until(due)
            now = trio.current_time()
            self.take(now - due, now)

    def take(self, lag_s: float, now_s: float) -> None:
        """Take a sample into account."""
        self._lags.append(lag_s)
        if lag_s <= LONG_LAG_S:
            self._long_since, self._worst_s, self._is_told = None, 0.0, False
            return
        self._worst_s = max(self._worst_s, lag_s)
        if self._long_since is None:
            self._long_since = now_s - lag_s
        if not self._is_told and now_s - self._long_since >= LONG_FOR_S:
            self._is_told = True
            self._on_long(self._worst_s)
