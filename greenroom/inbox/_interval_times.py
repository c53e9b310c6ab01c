"""Times at a constant distance, counted from a moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import final

import attrs

from greenroom.core import UsageError

MIN_INTERVAL = timedelta(seconds=1)


@final
@attrs.frozen(kw_only=True)
class IntervalTimes:
    """The times of an interval; each is given in whole seconds, rounded down."""

    anchor: datetime
    """The first time, in UTC."""
    every: timedelta
    """The distance, at least a second."""

    def __attrs_post_init__(self) -> None:
        if self.every < MIN_INTERVAL:
            raise UsageError(f"an interval must be at least 1 s, got {self.every.total_seconds():g} s")

    def times(self, after: datetime) -> Iterator[datetime]:
        """Yield the times after a moment, in UTC and in order."""
        for number in count(max(0, (after - self.anchor) // self.every)):
            moment = (self.anchor + number * self.every).replace(microsecond=0)
            if moment > after:
                yield moment
