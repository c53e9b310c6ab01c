"""The escalation ladder for ending a child: stop, abort the turn, kill, and finally give up.

Each rung follows when the deadline of the previous one has passed, on the run's clock; the time of linked actors is not
charged to the child. An idle child ends on the first rung, in the same step. A child that blocks, or waits in a shield of
its own, is recorded as unresponsive and no longer waited for; Trio cannot abandon its task.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import trio

from greenroom.actors import TERMINAL, ActorUnresponsive, Cell, Parent, State, Subscription
from greenroom.core import Cause

UNWIND_S: Final = 1.0
"""Minimum time for a killed child to unwind before it counts as unresponsive."""


async def end_child(cell: Cell[Any], grace_s: float, cause: Cause) -> None:
    """Climb the ladder until the child's incarnation has ended, or the child counts as unresponsive.

    If cancelled, leave the child on its current rung.
    """
    if issubclass(cell.traits.behavior_class, Parent):  # its pending decisions no longer matter
        cell.request_stop(cause, grace_s)
        cell.turn.request_abort(cause)
    rungs: tuple[tuple[Callable[[], None], float], ...] = (
        (functools.partial(cell.request_stop, cause, grace_s), grace_s),
        (lambda: cell.turn.request_abort(cause), cell.spec.kill_grace_s),
        (functools.partial(cell.request_kill, cause), max(cell.spec.kill_grace_s * 2, UNWIND_S)),
    )
    for rung, limit_s in rungs:
        rung()
        if cell.state in TERMINAL:  # it was idle
            return
        with trio.move_on_after(limit_s + cell.turn.linked_s()):
            await _wait_exited(cell)
            return
    if cell.state not in TERMINAL:
        cell.record(ActorUnresponsive)


async def _wait_exited(cell: Cell[Any]) -> None:
    if cell.state in {State.PENDING, State.RUNNING}:
        watch = cell.subscribe(Subscription(cell.path, cell.incarnation))
        try:
            await watch.wait()
        finally:
            watch.cancel()
