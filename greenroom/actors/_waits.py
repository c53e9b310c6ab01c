"""Who waits for whom, and the ask that would close a circle (kernel 9.8, I-45).

An actor waits for another while its turn, a task of that turn, its start or its clean-up does: meanwhile its mailbox
waits too. Rule 1: a wait is on record before its task sleeps, and counts until that task is woken; not longer, else an
answered ask would look like a circle. Rule 2: what an actor's own tasks wait for (`ctx.start_soon`) holds up nobody and
is no edge; nor is what the host waits for. Rule 3: an ask that would close a circle is refused before it is queued. A
wait for an end is never refused: whoever is waited for may be on its way down a ladder.
Must not know: mailboxes, how turns are run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import trio
from trio.lowlevel import Task, checkpoint, current_task

from greenroom.actors._events import AskRefused
from greenroom.core import AskCycle

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell
    from greenroom.waiting import ReplySlot


class Wait(Protocol):
    """Something that one actor waits for."""

    @property
    def is_waiting(self) -> bool:
        """Whether somebody still sleeps on it."""
        ...


def waiter_of(cell: Cell[Any] | None) -> Cell[Any] | None:
    """Return the actor whose code is running if the current task keeps it from its mail; None for tasks of its own."""
    if cell is None or cell.task is None:
        return None
    task: Task = current_task()
    while task is not cell.task:
        nursery = task.parent_nursery
        if nursery is None or (cell.context is not None and nursery is cell.context.nursery):
            return None
        task = nursery.parent_task
    return cell


def refuse_cycle(waiter: Cell[Any], target: Cell[Any]) -> None:
    """Refuse that an actor waits for another one that waits for it, directly or through others.

    Raises:
        AskCycle: It does.
    """
    if target is not waiter and not target.waits:
        return
    ring = _ring(waiter, target)
    if ring:
        waiter.shared.incidents.refused_cycles += 1
        waiter.recorder.emit(
            AskRefused(
                actor=waiter.id,
                inc=waiter.incarnation,
                parent=waiter.seq,
                target=target.id,
                ring=tuple(cell.id for cell in ring),
            )
        )
        raise AskCycle(tuple(cell.path or "root" for cell in ring))


def _ring(waiter: Cell[Any], target: Cell[Any]) -> list[Cell[Any]]:
    """Return the circle that this wait would close, `waiter` at both ends; empty when it closes none."""
    if target is waiter:
        return [waiter, waiter]
    seen = {target}
    trails = [[waiter, target]]
    while trails:
        trail = trails.pop()
        for wait, further in (trail[-1].waits or {}).items():
            if not wait.is_waiting:
                continue
            if further is waiter:
                return [*trail, waiter]
            if further not in seen:
                seen.add(further)
                trails.append([*trail, further])
    return []


async def wait_on(waiter: Cell[Any] | None, target: Cell[Any], slot: ReplySlot) -> Any:
    """Wait for a slot that `target` settles, as an edge from `waiter`; the slot is closed afterwards."""
    if not slot.is_open:
        await checkpoint()
    if waiter is None:
        try:
            return await slot.wait()
        finally:
            slot.close()
    if waiter.waits is None:
        waiter.waits = {}
    waiter.waits[slot] = target
    try:
        return await slot.wait()
    except trio.Cancelled:
        waiter.note_cancelled()
        raise
    finally:
        slot.close()
        del waiter.waits[slot]
