"""Clocks whose date and time a test sets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import attrs
import trio

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


@attrs.define
class ShiftedClock:
    """The virtual clock, whose date and time a test can set."""

    shift_s: float = 0.0

    def bind(self) -> Callable[[], float]:
        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        return START + timedelta(seconds=trio.current_time() + self.shift_s)


@attrs.define
class StillClock:
    """Trio's clock, and a date that a test sets."""

    hours: float

    def bind(self) -> Callable[[], float]:
        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        return START + timedelta(hours=self.hours)
