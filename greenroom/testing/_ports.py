"""The world of a test: seeded ids and chance, a clock that only Trio's virtual time moves, no threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, final

import trio

from greenroom.core import InlineBlocking, Ports, SeededIds, SystemDisk

VIRTUAL_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""What the wall clock of a test shows when its run begins."""


@final
class VirtualClock:
    """The clock of the current Trio run, and a wall clock that moves with it from a fixed start."""

    __slots__ = ()

    def bind(self) -> Callable[[], float]:
        """Return the reader of the clock of the current Trio run."""
        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        """Return the fixed start and the virtual seconds since."""
        return VIRTUAL_START + timedelta(seconds=trio.current_time())


def virtual_ports(seed: int = 0) -> Ports:
    """Return ports for one run of a test: the same seed gives the same ids, the same chance and the same times.

    To be used under `trio.testing.MockClock`, as `run_virtual` does. The disk is the real one, and nobody waits for
    its device.
    """
    return Ports(
        clock=VirtualClock(),
        ids=SeededIds(seed),
        chance=random.Random(seed),
        disk=SystemDisk(is_durable=False),
        blocking=InlineBlocking(),
    )
