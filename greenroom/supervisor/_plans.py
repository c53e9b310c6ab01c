"""The plans that a supervisor has made and not carried out yet, and the ends of children that they have settled.

Rule 1: the end of a child that a plan stops and starts again means nothing more: that plan starts it. Rule 2: one plan
at most waits because of a child. Rule 3: a plan overtakes, before its first step, those that wait because of a child
that it starts: all whom these are about are among its own, and whoever fails once it was started is another matter.
Must not know: clock, Trio, actors, strategies.
"""

from __future__ import annotations

from collections import Counter
from typing import final

import attrs

from greenroom.supervisor._strategy import StartChild, Step, stopped_to_start


@final
@attrs.frozen
class Batch:
    """A plan that concerns more than the child that ended."""

    steps: tuple[Step, ...]
    child: str = ""
    """The one that ended, or is to; empty for the rest of a plan that has begun."""


@final
class Plans:
    """What waits to be carried out, and whom it is about."""

    def __init__(self) -> None:
        self._waiting: dict[str, Batch] = {}
        self._being_stopped: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Plans: {len(self._waiting)} wait, {self._being_stopped.total()} ends are settled>"

    def is_settled(self, child: str) -> bool:
        """Whether a plan starts this child again when it ends."""
        return child in self._being_stopped

    def add(self, batch: Batch) -> None:
        """Let a plan wait; one that waited because of the same child is overtaken."""
        self._overtake(batch.child)
        self._waiting[batch.child] = batch
        self._being_stopped.update(stopped_to_start(batch.steps))

    def begin(self, batch: Batch) -> bool:
        """Begin to carry out a plan; False when it was overtaken, so that nothing is left of it."""
        if not batch.child:
            return True
        if self._waiting.get(batch.child) is not batch:
            return False
        del self._waiting[batch.child]
        for one in batch.steps:
            if isinstance(one, StartChild):
                self._overtake(one.child)
        return True

    def note_stopped(self, child: str) -> None:
        """Hear that the plan that is carried out has stopped a child; others that wait may be about it as well."""
        self._being_stopped -= Counter((child,))

    def forget(self, child: str) -> None:
        """Hear that a child is gone for good: no plan starts it again."""
        del self._being_stopped[child]

    def clear(self) -> None:
        """Drop all plans: the supervisor ends."""
        self._waiting.clear()
        self._being_stopped.clear()

    def _overtake(self, child: str) -> None:
        overtaken = self._waiting.pop(child, None)
        if overtaken is not None:
            self._being_stopped -= Counter(stopped_to_start(overtaken.steps))
