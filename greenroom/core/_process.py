"""Process-wide switches: the garbage collector's calm mode, and fault points for tests.

An idle actor is some sixty objects that the collector scans repeatedly and never frees: with 1,000 agents this takes a
quarter of the CPU, and with 100,000 idle actors one full collection pauses the program for 0.4 s. The collector belongs to
the program, not to a library, so greenroom changes it only on request.

Fault points are places where a test may insert a delay, an error or a cancel. The test kit (`greenroom.testing`) decides
what happens at a point; production code must not import it. An unarmed point costs one read of a global and is not a
checkpoint.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from greenroom.core._errors import UsageError

CALM_THRESHOLD: Final = 200_000
"""New objects between two collections of the youngest generation: as many as 1,000 agents keep. Python's default is 700 (2,000 from 3.14 on)."""


@contextmanager
def calm_collector(threshold: int = CALM_THRESHOLD, *, looks_once: bool = False) -> Iterator[None]:
    """Reduce garbage collection within the block, and exempt all objects that existed before it.

    Meant for the program around the runtime, as in `greenroom swarm`. The previous settings are restored afterwards,
    also after an error. Reference counting still frees objects at once; only cycles wait longer, up to about
    `threshold` objects. The setting is process-wide, so blocks cannot be nested. If the program has frozen objects of
    its own (`gc.freeze`), the objects frozen here stay frozen.

    Args:
        threshold: New objects between two collections of the youngest generation.
        looks_once: True to exempt also what has survived a collection: no collection looks at more than about `threshold` objects, so
            pauses stay short however much the program keeps. Cycles that are dropped later stay until the block ends; meant for a program
            whose state grows and makes none.

    Raises:
        UsageError: `threshold` is less than 1, or a block is already open.
    """
    if threshold < 1:
        raise UsageError(f"threshold must be at least 1, got {threshold!r}; gc.disable() turns the collector off")
    if _OPEN:
        raise UsageError("cannot nest calm_collector(): the collector is process-wide, and a block is already open")
    before = gc.get_threshold()
    _OPEN.append(threshold)
    had_frozen = gc.get_freeze_count() > 0
    gc.collect(
        1
    )  # not all of it: a program that has just been imported takes 0.1 s to look through, and has no garbage
    gc.freeze()
    gc.set_threshold(threshold, *before[1:])
    if looks_once:
        gc.callbacks.append(_exempt_survivors)
    try:
        yield
    finally:
        if looks_once:
            gc.callbacks.remove(_exempt_survivors)
        gc.set_threshold(*before)
        if not had_frozen:  # Python can only unfreeze everything
            gc.unfreeze()
        _OPEN.clear()


def _exempt_survivors(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()


_OPEN: Final[list[int]] = []


AtPoint: TypeAlias = Callable[[str], Awaitable[None]]
"""Awaited at each point with its name."""

# A global, not a context variable: actors begin with fresh context variables, and the points must reach them. A test
# that arms points also controls the order of all Trio tasks, so there is only one per process.
_armed: AtPoint | None = None


async def point(name: str) -> None:
    """Mark a place where a test may insert a delay, an error or a cancel: `await point("saved")`.

    In production it returns at once, without a checkpoint. In a run of `greenroom.testing.explore` it may wait, raise
    an error that the test gave for this name, or be cancelled.

    Args:
        name: Name of the place; several places may share one.
    """
    if _armed is not None:
        await _armed(name)


@contextmanager
def arm_points(at_point: AtPoint) -> Iterator[None]:
    """Call `at_point` at every fault point that is passed while the block runs."""
    global _armed  # noqa: PLW0603 - see the comment at its definition
    before, _armed = _armed, at_point
    try:
        yield
    finally:
        _armed = before
