"""One run of an agent, from its first message to its report, and what was refused in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

import attrs

from greenroom.core import Cause
from greenroom.tasks import Progress, Task


@final
@attrs.frozen(kw_only=True)
class Denial:
    """A call that was refused."""

    tool: str
    call: str
    """The model's id of the call."""
    input: Mapping[str, Any]


@final
@attrs.define(eq=False)
class AgentRun:
    """The current run of an agent: from its first message to its report."""

    task: Task | None = None
    """Its place in the table of tasks; None for an agent that does not stand there."""
    stall_s: float = math.inf
    """Seconds for which its model may send nothing while the task is in the background."""
    progress: Progress | None = None
    """The counters of the run, which its task shows; None without a task."""
    denials: tuple[Denial, ...] = ()
    """Calls that were refused, in order."""
    ended_by: Cause | None = None
    """The cause of the end of the turn with which the run ended."""

    @property
    def stall_limit_s(self) -> float:
        """Seconds for which the model may send nothing; without limit while a call waits for the run.

        Read when a request begins: one that was under way when the task was moved to the background has no limit.
        """
        return self.stall_s if self.task is not None and self.task.is_background else math.inf

    def refuse(self, denial: Denial) -> None:
        """Note a call that was refused."""
        self.denials += (denial,)

    def end_by(self, cause: Cause) -> None:
        """Note who asked for the end of the last turn."""
        self.ended_by = cause
