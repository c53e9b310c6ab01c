"""Python's cyclic garbage collector, for programs with very many actors.

An actor at rest is some sixty objects that the collector looks at again and again and never frees: with 1,000 agents a
quarter of the CPU goes there, and with 100,000 idle actors one full collection stops everything for 0.4 s. Rule 1: the
collector belongs to the program, not to a library; nothing in greenroom changes it unless it is asked to.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from greenroom.core._errors import UsageError

CALM_THRESHOLD: Final = 50_000
"""New objects between two looks at the young ones; Python's own default is 700 (2,000 from 3.14 on)."""


@contextmanager
def calm_collector(threshold: int = CALM_THRESHOLD) -> Iterator[None]:
    """Let the collector look rarely while the block runs, and never at what was there before.

    For the program around the runtime, as `greenroom swarm` does it; the collector is as it was afterwards, also after an
    error. What reference counting frees is freed at once all the same; only circles wait longer, at most some
    `threshold` objects' worth. Process-wide, so one block at a time: nested blocks are refused. In a program that has
    frozen objects of its own (`gc.freeze`), what was there before stays frozen with them.

    Args:
        threshold: New objects between two looks at the young ones.

    Raises:
        UsageError: It is less than 1, or a block is open already.
    """
    if threshold < 1:
        raise UsageError(f"threshold has to be at least 1, not {threshold!r}; gc.disable() turns the collector off")
    if _OPEN:
        raise UsageError("calm_collector() is open already: the collector is one for the whole process")
    before = gc.get_threshold()
    _OPEN.append(threshold)
    had_frozen = gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    gc.set_threshold(threshold, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not had_frozen:  # Python can only take back all of it
            gc.unfreeze()
        _OPEN.clear()


_OPEN: Final[list[int]] = []
