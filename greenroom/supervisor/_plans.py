"""Pending restart plans of a supervisor.

Rule 1: if a pending plan stops and restarts a child, the end of that child needs no further decision. Rule 2: each child
has at most one pending plan. Rule 3: before its first step, a plan supersedes the pending plans of all children that it
starts: their children are among its own, and a failure after the start is decided anew.
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
    """A plan that involves several children."""

    steps: tuple[Step, ...]
    child: str = ""
    """The child that ended or is to be restarted; empty for the rest of a plan that has begun."""


@final
class Plans:
    """Pending plans, and the children that they stop and restart."""

    def __init__(self) -> None:
        self._waiting: dict[str, Batch] = {}
        self._being_stopped: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Plans: {len(self._waiting)} pending, {self._being_stopped.total()} ends expected>"

    def restarts(self, child: str) -> bool:
        """True if a pending plan restarts this child when it ends."""
        return child in self._being_stopped

    def add(self, batch: Batch) -> None:
        """Add a pending plan; it supersedes an earlier one of the same child."""
        self._supersede(batch.child)
        self._waiting[batch.child] = batch
        self._being_stopped.update(stopped_to_start(batch.steps))

    def begin(self, batch: Batch) -> bool:
        """Remove a plan from the pending ones; return False if it was superseded."""
        if not batch.child:
            return True
        if self._waiting.get(batch.child) is not batch:
            return False
        del self._waiting[batch.child]
        for step in batch.steps:
            if isinstance(step, StartChild):
                self._supersede(step.child)
        return True

    def note_stopped(self, child: str) -> None:
        """Record that the running plan has stopped `child`; other pending plans may include it, too."""
        self._being_stopped -= Counter((child,))

    def forget(self, child: str) -> None:
        """Forget a child that has terminated: no plan restarts it."""
        del self._being_stopped[child]

    def clear(self) -> None:
        """Discard all pending plans, because the supervisor ends."""
        self._waiting.clear()
        self._being_stopped.clear()

    def _supersede(self, child: str) -> None:
        superseded = self._waiting.pop(child, None)
        if superseded is not None:
            self._being_stopped -= Counter(stopped_to_start(superseded.steps))
