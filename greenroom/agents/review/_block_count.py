"""The count of blocked calls after which a person is asked instead of the reviewer of auto mode.

Three blocks in a row, or twenty in all, pause it; while it is paused, people are asked. What the reviewer
allows begins a new row; what a person allows ends the pause. The blocks in all are counted on until they are twenty. A review
without a verdict counts in the row, so that a reviewer that cannot be reached ends in questions, not in endless refusals; it is not one
of the blocks in all. (The limits are the leading coding agent's, documented for its permission modes; the last rule is ours.)
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

IN_A_ROW: Final = 3
IN_ALL: Final = 20


class ReviewOutcome(StrEnum):
    """The outcome of a review."""

    ALLOWED = "allowed"
    BLOCKED = "blocked"
    FAILED = "failed"
    """There is no verdict: the reviewer could not be asked, was too slow, or did not answer in the form that it was asked for."""


@final
@attrs.frozen(kw_only=True)
class BlockCount:
    """The number of times that the reviewer has blocked."""

    in_a_row: int = 0
    """Blocks, and reviews without a verdict, since the last call that was allowed."""
    in_all: int = 0
    """Blocks since they last came to the limit."""
    is_paused: bool = False
    """True if a person is asked instead."""

    def after(self, outcome: ReviewOutcome) -> BlockCount:
        """Return the count after one more review."""
        if outcome is ReviewOutcome.ALLOWED:
            return attrs.evolve(self, in_a_row=0)
        in_a_row = self.in_a_row + 1
        in_all = self.in_all + (outcome is ReviewOutcome.BLOCKED)
        is_paused = self.is_paused or in_a_row >= IN_A_ROW or in_all >= IN_ALL
        return BlockCount(in_a_row=in_a_row, in_all=in_all % IN_ALL, is_paused=is_paused)

    def resumed(self) -> BlockCount:
        """Return the count after a person has allowed a call."""
        return attrs.evolve(self, in_a_row=0, is_paused=False)
