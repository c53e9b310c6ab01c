"""What background tasks put on record, for the agent whose they are."""

from __future__ import annotations

from typing import Any, ClassVar, Final, final

import attrs

from greenroom.actors import Edge
from greenroom.core import Event, Level, Recorder
from greenroom.tasks._task import Task


@final
@attrs.frozen(kw_only=True)
class TaskRegistered(Event):
    """A task is known: its id was given, and its work is about to begin, or waits for a place."""

    kind: ClassVar[str] = "task.new"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    type: str
    """What sort of task it is, such as `local_bash`."""
    description: str
    """In at most 200 characters."""
    call: str = ""
    """Id of the model's call that started it; empty where there was none."""
    agent: str = ""
    """Definition of an agent."""
    run: int = 1
    """Number of this run of the task."""
    depth: int = 0
    """How far an agent is below main."""
    is_background: bool = True
    """Whether no call waits for it."""


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
    call: str = ""
    """Id of the model's call that started it; empty where there was none."""
    agent: str = ""
    """Definition of an agent."""
    run: int = 1
    """Number of this run of the task."""
    depth: int = 0
    """How far an agent is below main."""
    is_background: bool = True
    """Whether no call waits for it."""


@final
@attrs.frozen(kw_only=True)
class TaskEnded(Event):
    """A task has ended."""

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
    run: int = 1
    """Number of the run that has ended."""
    tokens: int = 0
    """Of an agent: what its latest request read, and all that it wrote."""
    tool_uses: int = 0
    """Calls of tools that an agent made."""
    cause: str = ""
    """Who asked for its end; empty where it ended by itself."""


@final
@attrs.frozen(kw_only=True)
class TaskMoved(Event):
    """The call that waited for a task lets it go on in the background."""

    kind: ClassVar[str] = "task.moved"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    run: int = 1
    """Number of the run."""


@final
@attrs.frozen(kw_only=True)
class TaskDropped(Event):
    """A task was ended before its work began."""

    kind: ClassVar[str] = "task.dropped"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    run: int = 1
    """Number of the run."""


@final
@attrs.frozen(kw_only=True)
class TaskLost(Event):
    """A task of an earlier process, which the journal shows as not ended, is no more."""

    kind: ClassVar[str] = "task.lost"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    run: int = 1
    """Number of the run."""
    state: str = "failed"
    """How it ended: `failed`, its cause being `lost`; or as a transcript tells, which knew more than the journal."""


@final
@attrs.frozen(kw_only=True)
class TaskSettled(Event):
    """What a task that has ended left behind, such as a worktree, was looked after."""

    kind: ClassVar[str] = "task.settled"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    run: int = 1
    """Number of the run."""


EVENTS: Final = (TaskRegistered, TaskBegan, TaskEnded, TaskDropped, TaskLost, TaskMoved, TaskSettled)


def record_settled(recorder: Recorder, task: Task) -> None:
    """Put on record that what a task left behind was looked after."""
    info = task.info
    recorder.emit_fields(TaskSettled, info.owner, 0, 0, info.id, info.run)


def record_new(recorder: Recorder, task: Task) -> None:
    """Put on record that a task is known."""
    recorder.emit_fields(TaskRegistered, *_told(task))


def record_task(recorder: Recorder, task: Task, edge: Edge | None) -> None:
    """Put on record that a task took an edge; None stands for its move to the background."""
    info = task.info
    if edge is None:
        recorder.emit_fields(TaskMoved, info.owner, 0, 0, info.id, info.run)
    elif edge is Edge.BEGIN:
        recorder.emit_fields(TaskBegan, *_told(task))
    elif not task.has_begun:
        recorder.emit_fields(TaskDropped, info.owner, 0, 0, info.id, info.run)
    else:
        usage = task.usage
        recorder.emit_fields(
            TaskEnded,
            *(info.owner, 0, 0, info.id, task.state.value, task.exit_code, task.error[:500], info.run),
            *((usage.total_tokens, usage.tool_uses) if usage is not None else (0, 0)),
            "" if task.cause is None else task.cause.who,
        )


def _told(task: Task) -> tuple[Any, ...]:
    """Return the fields of `TaskRegistered` and of `TaskBegan`, in their order."""
    info = task.info
    return (
        *(info.owner, 0, 0, info.id, info.kind, info.description[:200], info.tool_use_id),
        *(info.agent_type, info.run, info.depth, task.is_background),
    )
