"""Liveness monitors: obligations that must be fulfilled before a run is quiet.

A hot obligation must become cold; it is checked at the end of a run, or some time after the faults have stopped. If a run is
stopped because it took too long, monitors ignore later events, so that the clean-up does not hide what was hot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

import attrs

from greenroom.core import Event

Read: TypeAlias = "Callable[[Monitor, Event], None]"
"""Called with each journal event, in the emitter's own step: it calls `hot` and `cold`, and must not raise."""


@final
@attrs.frozen
class Hot:
    """An unfulfilled obligation."""

    monitor: str
    what: str
    step: int
    """The scheduler step at which it became hot."""
    at_s: float
    """The virtual time of that step, in seconds."""

    def __str__(self) -> str:
        return f"{self.what!r} of monitor {self.monitor!r} is hot since step {self.step} ({self.at_s:g} s)"


@final
class NotQuiescent(AssertionError):
    """A run did not come to rest: it ran too long, or an obligation is still hot.

    Attributes:
        why: The limit that was reached.
        hot: The obligations that were hot then.
    """

    def __init__(self, why: str, hot: tuple[Hot, ...]) -> None:
        super().__init__("; ".join([why, *map(str, hot)]))
        self.why = why
        self.hot = hot


@final
class Monitor:
    """Keeps track of hot obligations. Made by `sim.monitor`.

    Attributes:
        name: Its name in violations.
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
        """True if it was made with a function that reads events."""
        return self._read is not None

    def hot(self, what: str) -> None:
        """Record an obligation; repeating it changes nothing."""
        now = self._now()
        if now is not None:
            self._hot.setdefault(what, Hot(self.name, what, *now))

    def cold(self, what: str) -> None:
        """Record that an obligation is fulfilled; it need not be hot."""
        if self._now() is not None:
            self._hot.pop(what, None)

    def read(self, event: Event) -> None:
        """Pass an event to the function that the monitor was made with."""
        if self._read is not None:
            self._read(self, event)

    def waiting(self) -> tuple[Hot, ...]:
        """Return the hot obligations, the oldest first."""
        return tuple(self._hot.values())
