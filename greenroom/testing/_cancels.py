"""An instrument that sees a cancel arrive in a turn, so that a turn which swallows it is called by its name.

Trio does not tell a swallowed cancel from one that came too late (kernel 4.2), and in production only our own waits
know. Rule 1: it changes nothing but what is recorded of a turn.
"""

from __future__ import annotations

from typing import final

import trio

from greenroom.actors import CURRENT
from greenroom.testing._scheduler import is_being_cancelled


@final
class SeesCancels(trio.abc.Instrument):
    """Makes turns that swallow their cancel `swallowed`; for `run_virtual(..., instruments=[SeesCancels()])`."""

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio calls this before each step of each task."""
        cell = task.context.get(CURRENT)
        if cell is not None and cell.life.task is task and is_being_cancelled(task):
            cell.turn.note_cancelled()
