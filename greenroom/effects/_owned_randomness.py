"""Ids and random numbers drawn by owner: another interleaving of the same code gives the same values.

The owner is the actor whose code runs; within it, each call that runs side by side with others draws for itself.
"""

from __future__ import annotations

import random
from contextvars import ContextVar
from typing import Final, final

from greenroom.actors import CURRENT

RANDOM_SCOPE: Final[ContextVar[str]] = ContextVar("greenroom_random_scope", default="")
"""The part of an actor's work that draws for itself, such as the id of a call; empty for the actor's own steps."""


@final
class _Streams:
    """Generators by owner, all from one seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def current(self) -> random.Random:
        """Return the generator of the owner whose code runs."""
        cell = CURRENT.get()
        owner = f"{'' if cell is None else cell.path or cell.id}\n{RANDOM_SCOPE.get()}"
        stream = self._streams.get(owner)
        if stream is None:
            stream = self._streams[owner] = random.Random(f"{self._seed}\n{owner}")
        return stream


@final
class OwnedIds:
    """The port `Ids` with one stream for each owner."""

    def __init__(self, seed: str) -> None:
        self._streams = _Streams(f"ids {seed}")

    def bits(self, count: int) -> int:
        """Return `count` random bits of the owner's stream."""
        return self._streams.current().getrandbits(count)


@final
class OwnedNumbers:
    """The port `Chance` with one stream for each owner."""

    def __init__(self, seed: str) -> None:
        self._streams = _Streams(f"chance {seed}")

    def random(self) -> float:
        """Return a number in [0, 1) of the owner's stream."""
        return self._streams.current().random()
