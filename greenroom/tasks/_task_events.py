"""Events of background tasks, for the agent that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from greenroom.actors import Edge, EndState
from greenroom.core import Event, Level, Recorder, frozen

if TYPE_CHECKING:  # a task has Trio's scopes, and whoever reads a journal has none
    from greenroom.tasks._notice import TaskNotice
    from greenroom.tasks._task import Task


@frozen(kw_only=True)
class _TaskEvent(Event):
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Id of the task."""
    run: int = 1
    """Number of the run."""


@frozen(kw_only=True)
class _TaskDescribed(Event):
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Id of the task."""
    type: str
    """Type of the task, such as `local_bash`."""
    description: str
    """Description, at most 200 characters."""
    call: str = ""
    """Id of the model's call that started it; empty if there was none."""
    agent: str = ""
    """Definition of an agent."""
    run: int = 1
    """Number of this run of the task."""
    depth: int = 0
    """Depth of an agent below main."""
    is_background: bool = True
    """True if no call waits for it."""


@final
@frozen(kw_only=True)
class TaskRegistered(_TaskDescribed):
    """A task was registered: it has its id, and its work is about to begin, or waits for a place."""

    kind: ClassVar[str] = "task.new"

    recoveries: int = 0
    """Number of times that the agent was resumed by itself, because its process had ended, since it was last told to work."""


@final
@frozen(kw_only=True)
class TaskBegan(_TaskDescribed):
    """The work of a task has begun."""

    kind: ClassVar[str] = "task.begin"


@final
@frozen(kw_only=True)
class TaskEnded(Event):
    """A task has ended."""

    kind: ClassVar[str] = "task.end"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Id of the task."""
    state: EndState
    """`completed`, `failed` or `killed`."""
    exit_code: int | None
    """Exit code of its command; None if it has none."""
    error: str
    """The error, at most 500 characters."""
    run: int = 1
    """Number of the run."""
    tokens: int = 0
    """For an agent: input tokens of its latest request, plus all its output tokens."""
    tool_uses: int = 0
    """Tool calls of an agent."""
    cause: str = ""
    """The requester of its end; empty if it ended by itself."""
    waited_ms: int = 0
    """Time that it waited for permissions."""


@final
@frozen(kw_only=True)
class TaskMoved(_TaskEvent):
    """A task was moved to the background: no call waits for it any more."""

    kind: ClassVar[str] = "task.moved"


@final
@frozen(kw_only=True)
class TaskDropped(_TaskEvent):
    """A task was ended before its work began."""

    kind: ClassVar[str] = "task.dropped"


@final
@frozen(kw_only=True)
class TaskLost(_TaskEvent):
    """A task of an earlier process that the journal shows as unfinished is gone."""

    kind: ClassVar[str] = "task.lost"

    state: EndState = "failed"
    """Its outcome: `failed`, with the cause `lost`; or the one in a transcript, which knew more than the journal."""


@final
@frozen(kw_only=True)
class TaskSettled(_TaskEvent):
    """The leftovers of an ended task, such as a worktree, were processed."""

    kind: ClassVar[str] = "task.settled"


@final
@frozen(kw_only=True)
class TaskUndelivered(Event):
    """The end of a task could not be reported: neither its requester nor any agent above exists."""

    kind: ClassVar[str] = "task.undelivered"
    level: ClassVar[Level] = Level.TURNS

    task: str
    """Id of the task."""
    run: int = 1
    """Number of the run."""
    status: EndState
    """Its outcome, as in the notice."""


@final
@frozen(kw_only=True)
class TaskLateResult(_TaskEvent):
    """The work of a task has ended after the task had, because its host was unreachable. The task does not change."""

    kind: ClassVar[str] = "task.late_result"

    state: EndState
    """The outcome of the work."""


EVENTS: Final = (
    TaskRegistered,
    TaskBegan,
    TaskEnded,
    TaskDropped,
    TaskLateResult,
    TaskLost,
    TaskMoved,
    TaskSettled,
    TaskUndelivered,
)


def record_undelivered(recorder: Recorder, notice: TaskNotice) -> None:
    """Record that an end could not be reported."""
    recorder.emit(TaskUndelivered(actor=notice.owner, task=notice.task_id, run=notice.run, status=str(notice.status)))


def record_settled(recorder: Recorder, task: Task) -> None:
    """Record that a task's leftovers were processed."""
    info = task.info
    recorder.emit_fields(TaskSettled, info.owner, 0, 0, info.id, info.run)


def record_new(recorder: Recorder, task: Task) -> None:
    """Record that a task was registered."""
    recorder.emit_fields(TaskRegistered, *_told(task), task.info.recoveries)


def record_task(recorder: Recorder, task: Task, edge: Edge | None) -> None:
    """Record that a task took an edge; None stands for its move to the background."""
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
    """Return the fields of `TaskRegistered` and `TaskBegan`, in order."""
    info = task.info
    return (
        *(info.owner, 0, 0, info.id, info.kind, info.description[:200], info.tool_use_id),
        *(info.agent_type, info.run, info.depth, task.is_background),
    )
