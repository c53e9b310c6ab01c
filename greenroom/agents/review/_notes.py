"""The record of an agent that a reviewer of calls is shown besides its conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

import attrs

MAX_TASKS: Final = 200
"""Maximum number of tasks that a reviewer is shown, the latest."""
MAX_REMARKS: Final = 100
"""Maximum number of hooks' remarks on calls that a reviewer is shown, the latest."""


@final
@attrs.define(eq=False)
class ReviewNotes:
    """The record of an agent that a reviewer of calls is shown besides the conversation."""

    tasks: tuple[str, ...] = ()
    """Tasks from others than the user."""
    remarks: tuple[str, ...] = ()
    """Remarks of hooks about its calls."""
    earlier_calls: tuple[str, ...] = ()
    """The calls that were compacted away."""

    def recall(self, tasks: Iterable[str]) -> None:
        """Add what the agent was told in an earlier process before the rest."""
        self.tasks = (*tasks, *self.tasks)

    def add_task(self, text: str) -> None:
        """Add what the agent was told."""
        self.tasks = (*self.tasks, text)[-MAX_TASKS:]

    def add_remark(self, text: str) -> None:
        """Add what a hook says about a call."""
        self.remarks = (*self.remarks, text)[-MAX_REMARKS:]

    def note_compacted(self, calls: Iterable[str]) -> None:
        """Replace the calls that were compacted away."""
        self.earlier_calls = tuple(calls)
