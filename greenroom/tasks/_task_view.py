"""States of tasks, folded from their events."""

from __future__ import annotations

from typing import Any, Final, final

import attrs

from greenroom.actors import EDGE_TO, TERMINAL, Edge, step
from greenroom.actors import State as TaskState
from greenroom.core import IllegalTransition
from greenroom.tasks._notice import LOST, name_notice
from greenroom.tasks._task_events import TaskBegan, TaskDropped, TaskEnded, TaskLost, TaskMoved, TaskRegistered


@final
@attrs.frozen(kw_only=True)
class TaskView:
    """One run of a task, from its events."""

    task: str
    run: int
    state: TaskState = TaskState.PENDING
    owner: str = ""
    """Id of the agent that is notified of its end; empty for the host."""
    type: str = ""
    description: str = ""
    call: str = ""
    agent: str = ""
    depth: int = 0
    is_background: bool = True
    exit_code: int | None = None
    error: str = ""
    cause: str = ""
    tokens: int = 0
    tool_uses: int = 0
    recoveries: int = 0
    """Number of times that an agent was resumed by itself up to this run."""
    was_registered: bool = False
    """True if its registration is recorded; journals of earlier versions begin with its work."""

    @property
    def has_ended(self) -> bool:
        """True if it has ended."""
        return self.state in TERMINAL

    @property
    def notice_id(self) -> str:
        """Id of the notice of its end: `<task id>.<run>`."""
        return name_notice(self.task, self.run)


def registered(_: TaskView | None, event: TaskRegistered) -> TaskView:
    """Add a run."""
    return attrs.evolve(_known(event), was_registered=True, recoveries=event.recoveries)


def began(before: TaskView | None, event: TaskBegan) -> TaskView:
    """Move it to `running`."""
    return _moved(before or _known(event), Edge.BEGIN)


def moved(before: TaskView | None, event: TaskMoved) -> TaskView:
    """Record that no call waits for it any more."""
    return attrs.evolve(before or _unknown(event), is_background=True)


def dropped(before: TaskView | None, event: TaskDropped) -> TaskView:
    """End it before its work began."""
    return _moved(before or _unknown(event), Edge.KILL)


def ended(before: TaskView | None, event: TaskEnded) -> TaskView:
    """End it."""
    view = before or attrs.evolve(_unknown(event), state=TaskState.RUNNING)
    return attrs.evolve(
        _moved(view, _edge_to(event.state, event.kind)),
        exit_code=event.exit_code,
        error=event.error,
        cause=event.cause,
        tokens=event.tokens,
        tool_uses=event.tool_uses,
    )


def lost(before: TaskView | None, event: TaskLost) -> TaskView:
    """End it as far as is known; it may never have begun."""
    view = before or _unknown(event)
    edge = _edge_to(event.state, event.kind)
    if view.state is TaskState.PENDING:
        view = _moved(view, Edge.BEGIN)
    view = _moved(view, edge)
    return attrs.evolve(view, cause=LOST if view.state is TaskState.FAILED else "")


def _known(event: TaskRegistered | TaskBegan) -> TaskView:
    return TaskView(
        task=event.task,
        run=event.run,
        owner=event.actor,
        type=event.type,
        description=event.description,
        call=event.call,
        agent=event.agent,
        depth=event.depth,
        is_background=event.is_background,
    )


def _unknown(event: Any) -> TaskView:
    return TaskView(task=event.task, run=event.run, owner=event.actor)


def _edge_to(state: str, event: str) -> Edge:
    """Return the edge that ends a task in a state.

    Raises:
        IllegalTransition: The state is not terminal.
    """
    try:
        return EDGE_TO[TaskState(state)]
    except (ValueError, KeyError):
        raise IllegalTransition(state=state, event=event) from None


def _moved(view: TaskView, edge: Edge) -> TaskView:
    return attrs.evolve(view, state=step(view.state, edge))


FOLDS: Final = (
    ("tasks", TaskRegistered, ("task", "run"), registered),
    ("tasks", TaskBegan, ("task", "run"), began),
    ("tasks", TaskMoved, ("task", "run"), moved),
    ("tasks", TaskDropped, ("task", "run"), dropped),
    ("tasks", TaskEnded, ("task", "run"), ended),
    ("tasks", TaskLost, ("task", "run"), lost),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""
