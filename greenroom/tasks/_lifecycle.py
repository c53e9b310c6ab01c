"""The states of a task, and the five edges between them.

Rule 1: a task that has ended stays as it ended. Rule 2: a kill of what has not begun needs no beginning.
Must not know: clock, disk, Trio, and what a task does.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from greenroom.core import IllegalTransition


class TaskState(StrEnum):
    """Where a task stands."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


class Edge(StrEnum):
    """What happened to a task."""

    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    KILL = "kill"


_S = TaskState
TRANSITIONS: Final[Mapping[TaskState, Mapping[Edge, TaskState]]] = {
    _S.PENDING: {Edge.BEGIN: _S.RUNNING, Edge.KILL: _S.KILLED},
    _S.RUNNING: {Edge.COMPLETE: _S.COMPLETED, Edge.FAIL: _S.FAILED, Edge.KILL: _S.KILLED},
    _S.COMPLETED: {},
    _S.FAILED: {},
    _S.KILLED: {},
}
TERMINAL: Final = frozenset(state for state, row in TRANSITIONS.items() if not row)


def step(state: TaskState, edge: Edge) -> TaskState:
    """Return the state that follows, or refuse.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None
