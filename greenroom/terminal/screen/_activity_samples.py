"""The activity of one agent over its last minute, in samples.

A sample shows the activity that took most of its time, and any activity before rest: a call of a millisecond is seen.
This module must not depend on the clock.
"""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.terminal.screen._picture import SAMPLE_S, SAMPLES, LaneUse

_ORDER: Final = (LaneUse.TOOL, LaneUse.MODEL, LaneUse.WAITING, LaneUse.IDLE, LaneUse.DOWN)
_AT_REST: Final = frozenset({LaneUse.IDLE, LaneUse.DOWN})


@final
@attrs.define
class ActivitySamples:
    """Samples of an agent, kept up to date by `change`. Times are seconds since the first event and do not go back."""

    use: LaneUse = LaneUse.DOWN
    """The activity now."""
    _since_s: float = 0.0
    _number: int = 0
    """Number of the sample that has begun, from 0."""
    _closed: tuple[LaneUse, ...] = ()
    """The samples before it, at most `SAMPLES` - 1."""
    _spent: dict[LaneUse, float] = attrs.field(factory=dict)
    """Seconds of the sample that has begun, by activity."""

    def copy(self) -> ActivitySamples:
        """Return samples that changes on its own."""
        return ActivitySamples(self.use, self._since_s, self._number, self._closed, dict(self._spent))

    def change(self, t_s: float, use: LaneUse) -> None:
        """Record that another activity begins."""
        self._advance(t_s)
        self.use = use
        self._spent.setdefault(use, 0.0)

    def samples(self, t_s: float) -> tuple[LaneUse, ...]:
        """Return the last minute before a time, oldest first."""
        later = self.copy()
        later._advance(t_s)
        return (*later._closed, later._main())

    def _advance(self, t_s: float) -> None:
        t_s = max(t_s, self._since_s)
        number = int(t_s / SAMPLE_S)
        if number != self._number:
            self._spend((self._number + 1) * SAMPLE_S - self._since_s)
            between = min(number - self._number - 1, SAMPLES)
            self._closed = (*self._closed, self._main(), *(self.use,) * between)[-(SAMPLES - 1) :]
            self._number, self._spent, self._since_s = number, {}, number * SAMPLE_S
        self._spend(t_s - self._since_s)
        self._since_s = t_s

    def _spend(self, seconds: float) -> None:
        self._spent[self.use] = self._spent.get(self.use, 0.0) + seconds

    def _main(self) -> LaneUse:
        if len(self._spent) == 1:
            return next(iter(self._spent))
        active = {use: seconds for use, seconds in self._spent.items() if use not in _AT_REST} or self._spent
        return max(_ORDER, key=lambda use: active.get(use, -1.0)) if active else self.use
