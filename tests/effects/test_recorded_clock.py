"""Dates and times of a run that is recorded."""

from __future__ import annotations

from datetime import UTC, datetime

import trio

from greenroom.core.ports import SystemClock
from greenroom.effects import EffectHead, EffectLog, RecordedClock


def test_readings_of_other_threads_are_not_recorded() -> None:
    """They have no order; and the record is written by the run's own thread alone."""
    lines: list[bytes] = []
    clock = RecordedClock(SystemClock(), EffectLog(lines.append, lambda: 0, EffectHead(seed="1")))

    async def read() -> datetime:
        clock.wall()
        return await trio.to_thread.run_sync(clock.wall)

    assert trio.run(read).tzinfo is UTC
    assert [b'"wall"' in line for line in lines] == [False, True]
