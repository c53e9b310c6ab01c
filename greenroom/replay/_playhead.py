"""The position within a run that is played: by event, by failure, by time.

Rule 1: a position is a number of events; the time goes on between them while the run is played. Rule 2: at the end of a run that grows
the position goes on with it. This module must not depend on the clock, Trio or the terminal.
"""

from __future__ import annotations

import re
from typing import Final, final

from greenroom.trace import RunIndex

SPEEDS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Recorded seconds per second."""
_TIME: Final = re.compile(r"(?:(\d{1,6}):)?(\d{1,9}(?:\.\d{1,6})?)s?")
_PLACES: Final = "an event (812), a time (8.0s, 1:30), `start`, `end`, `failure` or `before-failure`"


@final
class Playhead:
    """A position in a run.

    Attributes:
        count: Number of events before the position.
        speed: Recorded seconds per second while it plays.
        is_playing: True while the time goes on.
        is_live: True if a run that grows is followed at its end.

    Args:
        index: The run.
        is_at_end: True to begin at the end, and to follow it.
    """

    def __init__(self, index: RunIndex, *, is_at_end: bool) -> None:
        self._index = index
        self._t = 0.0
        """Time in the journal, at or after that of the last event before the position."""
        self.count = 0
        self.speed = SPEEDS[0]
        self.is_playing = False
        self.is_live = is_at_end

    def __repr__(self) -> str:
        return f"<Playhead at {self.count} of {len(self._index)}, {self.t_s:.3f} s>"

    @property
    def t_s(self) -> float:
        """Seconds since the first event."""
        return max(0.0, self._t - self._index.time_s(0)) if len(self._index) else 0.0

    def step(self, events: int) -> None:
        """Move by a number of events, and stand still."""
        self._set(self.count + events)

    def step_failure(self, direction: int) -> str:
        """Move behind the next failure, or with -1 behind the one before; return what prevents it, empty for nothing."""
        found = (
            self._index.failure_after(self.count - 1) if direction > 0 else self._index.failure_before(self.count - 1)
        )
        if found is None:
            return "no later failure" if direction > 0 else "no earlier failure"
        self._set(found + 1)
        return ""

    def toggle(self) -> None:
        """Play, or stand still; at the end, play from the beginning."""
        if not self.is_playing and self.count >= len(self._index):
            self._set(0)
        self.is_playing, self.is_live = not self.is_playing, False

    def change_speed(self, direction: int) -> None:
        """Play faster, or with -1 slower."""
        place = SPEEDS.index(self.speed) + direction
        self.speed = SPEEDS[min(max(place, 0), len(SPEEDS) - 1)]

    def go_to(self, text: str) -> str:
        """Move to a moment that a person wrote, and stand still; return what is wrong with it, empty for nothing."""
        match text.strip().lower():
            case "end":
                self._set(len(self._index))
                self.is_live = True
            case "start":
                self._set(0)
            case "failure":
                return self.step_failure(1)
            case "before-failure":
                return self._go_before_failure()
            case number if number.isdecimal():
                return self._go_to_event(number)
            case written:
                return self._go_to_time(written)
        return ""

    def advance(self, seconds: float) -> None:
        """Advance by the time that has passed: play on, or follow the end."""
        if self.is_live:
            self._put(len(self._index))
        elif self.is_playing and len(self._index):
            self._t = max(self._t, self._index.time_s(0)) + seconds * self.speed
            self.count = max(self.count, self._index.count_at(self._t))
            if self.count >= len(self._index):
                self._set(len(self._index))

    def _set(self, count: int) -> None:
        self.is_playing = self.is_live = False
        self._put(count)

    def _put(self, count: int) -> None:
        self.count = max(0, min(count, len(self._index)))
        self._t = self._index.time_s(max(0, self.count - 1)) if len(self._index) else 0.0

    def _go_before_failure(self) -> str:
        found = self._index.failure_after(self.count)
        if found is None:
            return "no later failure"
        self._set(found)
        return ""

    def _go_to_event(self, number: str) -> str:
        last = self._index.seq(len(self._index) - 1) if len(self._index) else 0
        if len(number) > 18 or not 1 <= int(number) <= last:
            return f"the events of this run have the numbers 1 to {last}, got {number[:20]}"
        self._set(self._index.count_until(seq=int(number)))
        return ""

    def _go_to_time(self, written: str) -> str:
        found = _TIME.fullmatch(written)
        if found is None:
            return f"expected {_PLACES}, got {written[:40]!r}"
        if not len(self._index):
            return ""
        t = self._index.time_s(0) + 60 * int(found[1] or 0) + float(found[2])
        self._set(self._index.count_at(t))
        self._t = min(t, self._index.time_s(len(self._index) - 1))
        return ""
