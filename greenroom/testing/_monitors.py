"""Liveness: what has been promised and has to happen before all is quiet.

Rule 1: what is hot has to become cold; that it never does shows only at the end, or some while after the faults have
stopped. Rule 2: once a run is being ended because it took too long, monitors stand still, so that its clean-up hides
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

import attrs

from greenroom.core import Event

Read: TypeAlias = "Callable[[Monitor, Event], None]"
"""Called with each event for the journal, in the emitter's own step: it calls `hot` and `cold`, and must not raise."""


@final
@attrs.frozen
class Hot:
    """Something that has to happen and has not happened yet."""

    monitor: str
    what: str
    step: int
    """The scheduler step at which it became hot."""
    at_s: float
    """The virtual time of that, in seconds."""

    def __str__(self) -> str:
        return f"{self.what!r} of monitor {self.monitor!r} is hot since step {self.step} ({self.at_s:g} s)"


@final
class NotQuiescent(AssertionError):
    """A run did not come to rest: it went on for too long, or something is still hot.

    Attributes:
        why: What was waited for.
        hot: What was hot then.
    """

    def __init__(self, why: str, hot: tuple[Hot, ...]) -> None:
        super().__init__("; ".join([why, *map(str, hot)]))
        self.why = why
        self.hot = hot


@final
class Monitor:
    """Remembers what is hot. Made by `sim.monitor`.

    Attributes:
        name: What violations call it.
    """

    def __init__(self, name: str, now: Callable[[], tuple[int, float] | None], read: Read | None) -> None:
        self.name = name
        self._now = now
        self._read = read
        self._hot: dict[str, Hot] = {}

    def __repr__(self) -> str:
        return f"<Monitor {self.name!r}: {len(self._hot)} hot>"

    @property
    def reads(self) -> bool:
        """Whether it was made with a function that reads events."""
        return self._read is not None

    def hot(self, what: str) -> None:
        """Say that something has to happen from now on; saying it again changes nothing."""
        now = self._now()
        if now is not None:
            self._hot.setdefault(what, Hot(self.name, what, *now))

    def cold(self, what: str) -> None:
        """Say that it has happened; fine also where it was not hot."""
        if self._now() is not None:
            self._hot.pop(what, None)

    def read(self, event: Event) -> None:
        """Hand an event to the function that the monitor was made with."""
        if self._read is not None:
            self._read(self, event)

    def waiting(self) -> tuple[Hot, ...]:
        """Return what is hot, the oldest first."""
        return tuple(self._hot.values())
