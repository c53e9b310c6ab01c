"""The states shared by everything that runs, and the transitions between them: actors, turns, tasks, tool calls.

Rule: terminal states have no way out. A restart is a new machine with the next incarnation.
Must not know: clock, disk, Trio, mailboxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from greenroom.core import IllegalTransition, OneOf


class State(StrEnum):
    """States of a machine."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


class Edge(StrEnum):
    """Transitions of a machine."""

    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    KILL = "kill"


_S = State
TRANSITIONS: Final[Mapping[State, Mapping[Edge, State]]] = {
    _S.PENDING: {Edge.BEGIN: _S.RUNNING, Edge.KILL: _S.KILLED},
    _S.RUNNING: {Edge.COMPLETE: _S.COMPLETED, Edge.FAIL: _S.FAILED, Edge.KILL: _S.KILLED},
    _S.COMPLETED: {},
    _S.FAILED: {},
    _S.KILLED: {},
}
TERMINAL: Final = frozenset(state for state, row in TRANSITIONS.items() if not row)
EndState: TypeAlias = Annotated[str, OneOf(*TERMINAL)]
"""A field of an event that holds a terminal state."""
EDGE_TO: Final[Mapping[State, Edge]] = {
    _S.RUNNING: Edge.BEGIN,
    _S.COMPLETED: Edge.COMPLETE,
    _S.FAILED: Edge.FAIL,
    _S.KILLED: Edge.KILL,
}


def step(state: State, edge: Edge) -> State:
    """Return the next state.

    Raises:
        IllegalTransition: The table has no entry for this pair.
    """
    try:
        return TRANSITIONS[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None
