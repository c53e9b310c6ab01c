"""An instrument that sees a cancel arrive in a turn, so that a turn that swallows it is reported.

Trio does not distinguish a swallowed cancel from one that came too late, and in production only greenroom's own waits
can. The instrument changes nothing but the recorded outcome of a turn.
"""

from __future__ import annotations

from typing import final

import trio

from greenroom.actors import CURRENT
from greenroom.testing._scheduler import is_being_cancelled


@final
class SeesCancels(trio.abc.Instrument):
    """Marks turns that swallow their cancel as `swallowed`; for `run_virtual(..., instruments=[SeesCancels()])`."""

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Check a task; called by Trio before each step of each task."""
        cell = task.context.get(CURRENT)
        if cell is not None and cell.life.task is task and is_being_cancelled(task):
            cell.turn.note_cancelled()
