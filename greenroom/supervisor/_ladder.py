"""The ladder by which a supervisor ends a child: stop, abort the turn, kill, and at last give up.

Rule 1: each rung comes after the deadline of the one before, on the run's clock; what is linked below is not charged to
it. Rule 2: an idle child ends on the first rung, in the same step. Rule 3: a child that blocks, or waits in a shield of
its own, is on record as unresponsive, and waited for no longer; Trio cannot abandon its task.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import trio

from greenroom.actors import TERMINAL, ActorUnresponsive, Cell, Ref, State
from greenroom.core import Cause

UNWIND_S: Final = 1.0
"""The least that a killed child gets before it counts as unresponsive: to unwind takes a few steps."""


async def end_child(cell: Cell[Any], grace_s: float, cause: Cause, *, is_supervisor: bool) -> None:
    """Walk the ladder until the child's incarnation has ended, for good or to be held for a restart, or it is given up on.

    Cancelled, it leaves the child on the rung where it is.
    """
    if is_supervisor:  # whatever it decided has been overtaken
        cell.request_stop(cause, grace_s)
        _abort(cell, cause)
    rungs: tuple[tuple[Callable[[], None], float], ...] = (
        (functools.partial(cell.request_stop, cause, grace_s), grace_s),
        (functools.partial(_abort, cell, cause), cell.kill_grace_s),
        (functools.partial(cell.request_kill, cause), max(cell.kill_grace_s * 2, UNWIND_S)),
    )
    for rung, limit_s in rungs:
        rung()
        if cell.state in TERMINAL:  # it was idle
            return
        with trio.move_on_after(limit_s + cell.linked_s()):
            await _wait_exited(cell)
            return
    if cell.state not in TERMINAL:
        cell.recorder.emit(ActorUnresponsive(actor=cell.id, inc=cell.incarnation, parent=cell.seq))


async def _wait_exited(cell: Cell[Any]) -> None:
    if cell.state in {State.PENDING, State.RUNNING}:
        exited = trio.Event()
        watch = Ref[Any](cell).pinned().watch(lambda _: exited.set())
        try:
            await exited.wait()
        finally:
            watch.cancel()


def _abort(cell: Cell[Any], cause: Cause) -> None:
    if cell.is_busy and cell.turn_scope is not None:
        cell.request_abort(cause)
