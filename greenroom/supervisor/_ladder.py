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

from greenroom.actors import TERMINAL, ActorUnresponsive, Cell, Parent, State
from greenroom.core import Cause

UNWIND_S: Final = 1.0
"""Minimum time for a killed child to unwind before it counts as unresponsive."""


async def end_child(cell: Cell[Any], grace_s: float, cause: Cause) -> None:
    """Climb the ladder until the child's incarnation has ended, or the child counts as unresponsive.

    If cancelled, leave the child on its current rung.
    """
    if issubclass(cell.traits.behavior_class, Parent):  # its pending decisions no longer matter
        cell.request_stop(cause, grace_s)
        _abort(cell, cause)
    rungs: tuple[tuple[Callable[[], None], float], ...] = (
        (functools.partial(cell.request_stop, cause, grace_s), grace_s),
        (functools.partial(_abort, cell, cause), cell.spec.kill_grace_s),
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
        exited = trio.Event()
        watch = cell.watch(lambda _: exited.set(), cell.incarnation)
        try:
            await exited.wait()
        finally:
            watch.cancel()


def _abort(cell: Cell[Any], cause: Cause) -> None:
    if cell.turn.envelope is not None and cell.turn.scope is not None:
        cell.turn.request_abort(cause)
