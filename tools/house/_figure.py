"""A figure with its limit, and the words that say it."""

from __future__ import annotations

from typing import final

import attrs


@final
@attrs.frozen
class Figure:
    """One measured number."""

    line: int
    """The number of the rule that it belongs to."""
    name: str
    now: float
    limit: float
    """The highest number that is right."""
    places: tuple[str, ...] = ()
    """Where what is counted stands, the worst first."""

    @property
    def is_met(self) -> bool:
        """True if the number is within its limit."""
        return self.now <= self.limit
