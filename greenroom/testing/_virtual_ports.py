"""Ports for tests: seeded ids and randomness, a clock driven by Trio's virtual time, no threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, final

import trio

from greenroom.core.ports import InlineBlocking, Ports, SeededIds, SystemDisk

VIRTUAL_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Initial wall-clock time of a test."""


@final
class VirtualClock:
    """The clock of the current Trio run, and a wall clock that moves with it from a fixed start."""

    __slots__ = ()

    def bind(self) -> Callable[[], float]:
        """Return the reader of the clock of the current Trio run."""
        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        """Return the fixed start plus the elapsed virtual seconds."""
        return VIRTUAL_START + timedelta(seconds=trio.current_time())


def virtual_ports(seed: int = 0) -> Ports:
    """Return ports for one run of a test: the same seed gives the same ids, randomness and times.

    Use them under `trio.testing.MockClock`, as `run_virtual` does. The disk is the real one, without waiting for its
    device.
    """
    return Ports(
        clock=VirtualClock(),
        ids=SeededIds(seed),
        chance=random.Random(seed),
        disk=SystemDisk(is_durable=False),
        blocking=InlineBlocking(),
    )
