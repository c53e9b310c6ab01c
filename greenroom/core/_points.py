"""Fault points: places in a program where a test may let something else happen. Outside of a test they do nothing.

Rule 1: this half decides nothing; what happens at a point is the test kit's affair (`greenroom.testing`), which code that
is shipped must not import. Rule 2: unarmed, a point costs one look at a global, and it is no checkpoint.
Must not know: Trio, the test kit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

AtPoint: TypeAlias = Callable[[str], Awaitable[None]]
"""Awaited at each point with its name."""

# A global and not a context variable: actors begin with fresh context variables, and it has to reach them. Whoever arms
# points decides the order of all of Trio's tasks as well, so there is one of them in a process anyway.
_armed: AtPoint | None = None


async def point(name: str) -> None:
    """Mark a place at which a test may insert a delay, an error or a cancel: `await point("saved")`.

    In production it returns at once, without a checkpoint. In a run of `greenroom.testing.explore` it may wait, raise an
    error that the test gave for this name, or be cancelled.

    Args:
        name: What has just happened, or is about to; several places may share a name.
    """
    if _armed is not None:
        await _armed(name)


@contextmanager
def arm_points(at_point: AtPoint) -> Iterator[None]:
    """Call `at_point` at every fault point of the process that is passed inside the block."""
    global _armed  # noqa: PLW0603 - see there
    before, _armed = _armed, at_point
    try:
        yield
    finally:
        _armed = before
