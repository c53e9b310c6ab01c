"""What background tasks put on record, for the agent whose they are."""

from __future__ import annotations

from typing import Any, ClassVar, Final, final

import attrs

from greenroom.actors import Edge, EndState
from greenroom.core import Event, Level, Recorder
from greenroom.tasks._notice import TaskNotice
from greenroom.tasks._task import Task


@attrs.frozen(kw_only=True)
class _TaskEvent(Event):
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    run: int = 1
    """Number of the run."""


@attrs.frozen(kw_only=True)
class _TaskDescribed(Event):
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
class TaskRegistered(_TaskDescribed):
    """A task is known: its id was given, and its work is about to begin, or waits for a place."""

    kind: ClassVar[str] = "task.new"


@final
@attrs.frozen(kw_only=True)
class TaskBegan(_TaskDescribed):
    """The work of a task has begun."""

    kind: ClassVar[str] = "task.begin"


@final
@attrs.frozen(kw_only=True)
class TaskEnded(Event):
    """A task has ended."""

    kind: ClassVar[str] = "task.end"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    state: EndState
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
    waited_ms: int = 0
    """How much of its time it waited for somebody's permission."""


@final
@attrs.frozen(kw_only=True)
class TaskMoved(_TaskEvent):
    """The call that waited for a task lets it go on in the background."""

    kind: ClassVar[str] = "task.moved"


@final
@attrs.frozen(kw_only=True)
class TaskDropped(_TaskEvent):
    """A task was ended before its work began."""

    kind: ClassVar[str] = "task.dropped"


@final
@attrs.frozen(kw_only=True)
class TaskLost(_TaskEvent):
    """A task of an earlier process, which the journal shows as not ended, is no more."""

    kind: ClassVar[str] = "task.lost"

    state: EndState = "failed"
    """How it ended: `failed`, its cause being `lost`; or as a transcript tells, which knew more than the journal."""


@final
@attrs.frozen(kw_only=True)
class TaskSettled(_TaskEvent):
    """What a task that has ended left behind, such as a worktree, was looked after."""

    kind: ClassVar[str] = "task.settled"


@final
@attrs.frozen(kw_only=True)
class TaskUndelivered(Event):
    """Nobody is there any more who could be told how a task has ended: neither who asked for it nor anybody above."""

    kind: ClassVar[str] = "task.undelivered"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Its id."""
    run: int = 1
    """Number of the run."""
    status: EndState
    """How it ended, as the notice says it."""


EVENTS: Final = (
    TaskRegistered,
    TaskBegan,
    TaskEnded,
    TaskDropped,
    TaskLost,
    TaskMoved,
    TaskSettled,
    TaskUndelivered,
)


def record_undelivered(recorder: Recorder, notice: TaskNotice) -> None:
    """Put on record that nobody could be told of an end."""
    recorder.emit(TaskUndelivered(actor=notice.owner, task=notice.task_id, run=notice.run, status=str(notice.status)))


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
            task.waited_ms,
        )


def _told(task: Task) -> tuple[Any, ...]:
    """Return the fields of `TaskRegistered` and of `TaskBegan`, in their order."""
    info = task.info
    return (
        *(info.owner, 0, 0, info.id, info.kind, info.description[:200], info.tool_use_id),
        *(info.agent_type, info.run, info.depth, task.is_background),
    )
