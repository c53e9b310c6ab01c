"""Who waits for whom: the graph that refuses an ask which could never be answered.

Rule 1: an edge stands while code of a turn, of a start or of a clean-up waits for another actor, because its own actor
serves nobody meanwhile; tasks of an actor's life wait without an edge, and so does whoever is no actor. Rule 2: an edge
that would close a circle is refused before anything is sent, with the path around it. Rule 3: nothing is kept for an actor
that never waits.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from greenroom.actors._events import AskRefused
from greenroom.core import AskCycle

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell

IS_OF_A_LIFE: Final[ContextVar[bool]] = ContextVar("greenroom_is_of_a_life", default=False)
"""Whether the code that runs belongs to an actor's life rather than to a turn, so that the actor serves meanwhile."""


def begin_wait(here: Cell[Any] | None, target: Cell[Any]) -> bool:
    """Put down that the actor whose code runs waits for another; returns whether that is to be ended with `end_wait`.

    Raises:
        AskCycle: It would close a circle, so that nobody in it could ever answer.
    """
    if here is None or IS_OF_A_LIFE.get():
        return False
    circle = _path(target, here)
    if circle is not None:
        path = [here, *circle]
        here.recorder.emit_fields(AskRefused, here.id, here.incarnation, here.seq, tuple(one.id for one in path))
        raise AskCycle([one.path or one.id for one in path])
    if here.waits_for is None:
        here.waits_for = []
    here.waits_for.append(target)
    return True


def end_wait(here: Cell[Any] | None, target: Cell[Any]) -> None:
    """Take back what `begin_wait` put down."""
    assert here is not None
    assert here.waits_for is not None
    here.waits_for.remove(target)


def _path(start: Cell[Any], goal: Cell[Any]) -> list[Cell[Any]] | None:
    """Return a way from `start` to `goal` along the edges, both included; None where there is none."""
    if start is goal:
        return [goal]
    came_from: dict[str, Cell[Any]] = {}
    frontier = [start]
    while frontier:
        here = frontier.pop()
        for there in here.waits_for or ():
            if there is goal:
                path = [goal, here]
                while path[-1] is not start:
                    path.append(came_from[path[-1].id])
                return path[::-1]
            if there.id not in came_from and there is not start:
                came_from[there.id] = here
                frontier.append(there)
    return None
