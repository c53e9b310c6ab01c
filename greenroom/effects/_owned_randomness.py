"""Ids, random numbers and dates by owner: another interleaving of the same code gives the same values.

The owner is the actor whose code runs; within it, each call that runs side by side with others draws for itself.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final, final

import trio

from greenroom.actors import CURRENT
from greenroom.core.ports import Clock
from greenroom.effects._effect_port import Effects

RANDOM_SCOPE: Final[ContextVar[str]] = ContextVar("greenroom_random_scope", default="")
"""The part of an actor's work that draws for itself, such as the id of a call; empty for the actor's own steps."""


_FLOAT_BITS: Final = 53
"""Bits of a random number: as many as its type holds."""
SHARED: Final = "/"
"""Prefix of a scope that all actors share."""


@contextmanager
def drawing_apart(scope: str) -> Iterator[None]:
    """Draw ids and numbers of the block from a separate stream: code after it draws the same, whether the block runs or not.

    Args:
        scope: The part of the actor's work. All actors share a scope that begins with `/`.
    """
    before = RANDOM_SCOPE.set(scope)
    try:
        yield
    finally:
        RANDOM_SCOPE.reset(before)


def current_owner() -> str:
    """Return the path of the actor whose code runs, with the part of its work that draws for itself."""
    cell, scope = CURRENT.get(), RANDOM_SCOPE.get()
    if scope.startswith(SHARED):
        return scope
    path = "" if cell is None else cell.path
    return f"{path} {scope}" if scope else path


@final
class RecordedClock:
    """A clock whose dates and times are recorded, or come from a record.

    Attributes:
        inner: The clock that is read.
    """

    def __init__(self, inner: Clock, effects: Effects) -> None:
        self.inner = inner
        self._effects = effects
        self.bind = inner.bind

    def wall(self) -> datetime:
        """Return the date and time in UTC; a reading of another thread is not recorded, because such have no order."""
        if not trio.lowlevel.in_trio_run():
            return self.inner.wall()
        read_s = self._effects.reading("wall", current_owner(), self.inner.wall().timestamp())
        return datetime.fromtimestamp(read_s, UTC)


def plain_clock(clock: Clock) -> Clock:
    """Return a clock whose readings are not recorded: for times that no model reads."""
    return clock.inner if isinstance(clock, RecordedClock) else clock


@final
class _Streams:
    """Streams of random bits by owner, all from one seed. Each keeps only its position, because every call has one."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn: Counter[str] = Counter()

    def bits(self, count: int) -> int:
        """Return `count` random bits of the stream of the owner whose code runs."""
        owner = current_owner()
        self._drawn[owner] += 1
        named = f"{self._seed}\n{owner}\n{self._drawn[owner]}".encode("utf-8", "surrogatepass")
        size = (count + 7) // 8
        return int.from_bytes(hashlib.shake_128(named).digest(size), "big") >> (8 * size - count)


@final
class OwnedIds:
    """The port `Ids` with one stream for each owner."""

    def __init__(self, seed: str) -> None:
        self._streams = _Streams(f"ids {seed}")

    def bits(self, count: int) -> int:
        """Return `count` random bits of the owner's stream."""
        return self._streams.bits(count)


@final
class OwnedNumbers:
    """The port `Chance` with one stream for each owner."""

    def __init__(self, seed: str) -> None:
        self._streams = _Streams(f"chance {seed}")

    def random(self) -> float:
        """Return a number in [0, 1) of the owner's stream."""
        return self._streams.bits(_FLOAT_BITS) / (1 << _FLOAT_BITS)
