"""What background tasks put on record, for the agent whose they are."""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event, Level


@final
@attrs.frozen(kw_only=True)
class TaskBegan(Event):
    """The work of a task has begun."""

    kind: ClassVar[str] = "task.begin"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    type: str
    """What sort of task it is, such as `local_bash`."""
    description: str
    """In at most 200 characters."""


@final
@attrs.frozen(kw_only=True)
class TaskEnded(Event):
    """A task has ended; one that was killed before it began has no beginning."""

    kind: ClassVar[str] = "task.end"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    state: str
    """`completed`, `failed` or `killed`."""
    exit_code: int | None
    """Exit code of its command; None if it has none."""
    error: str
    """What went wrong, in at most 500 characters."""


EVENTS: Final = (TaskBegan, TaskEnded)
