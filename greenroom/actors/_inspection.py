"""What can be done to every actor without a message (DESIGN 12.9): suspend, resume, drain, read its state.

Rule 1: all of it happens in the caller's step, also while a turn takes ten minutes. Rule 2: a suspended actor takes no
mail, in no lane, signals included; stop, kill and abort are no mail and work as ever. Rule 3: the flag belongs to the
incarnation: whoever is restarted is not suspended, as in OTP. Rule 4: whoever is drained goes on draining after a
restart, because what waits is the actor's and not the incarnation's.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from greenroom.actors._events import ActorResumed, ActorSuspended
from greenroom.actors._lifecycle import TERMINAL
from greenroom.core import Cause, UsageError

if TYPE_CHECKING:
    from greenroom.actors._behavior import Behavior
    from greenroom.actors._cell import Cell


def suspend(cell: Cell[Any], cause: Cause) -> bool:
    """Let an actor take no further message; returns whether that changed anything."""
    if cell.is_suspended or cell.state in TERMINAL:
        return False
    cell.is_suspended = True
    cell.recorder.emit(ActorSuspended(actor=cell.id, inc=cell.incarnation, parent=cell.here(), cause=cause))
    return True


def resume(cell: Cell[Any], cause: Cause) -> bool:
    """Let a suspended actor take messages again; returns whether that changed anything."""
    if not cell.is_suspended or cell.state in TERMINAL:
        return False
    cell.is_suspended = False
    cell.recorder.emit(ActorResumed(actor=cell.id, inc=cell.incarnation, parent=cell.here(), cause=cause))
    cell.mailbox.nudge()
    return True


def drain(cell: Cell[Any], cause: Cause) -> None:
    """Let an actor take nothing new, and stop once its mailbox is empty."""
    if cell.drain_cause is None and not cell.is_gone:  # also one that has ended and is held for a restart
        cell.drain_cause = cause
        cell.note_drain()
        cell.mailbox.refuse_new(cause.why)


def end_drained(cell: Cell[Any]) -> bool:
    """Stop an actor whose mailbox has been found empty, if it was asked to drain; returns whether it was."""
    if cell.drain_cause is None or cell.is_suspended:
        return False
    cell.is_unwanted = True  # also where a neighbour is just being restarted
    cell.request_stop(cell.drain_cause, 0.0)
    return True


def state_of(cell: Cell[Any]) -> Any:
    """Return what the behavior's `snapshot()` says of it, in the caller's step; None between two incarnations."""
    if cell.behavior is None:
        return None
    state = cell.behavior.snapshot()
    if inspect.isawaitable(state):
        if inspect.iscoroutine(state):
            state.close()
        raise UsageError(f"{cell.behavior_name}.snapshot() has to be a plain function: nobody waits for it")
    return state


def public_attributes(behavior: Behavior[Any]) -> dict[str, Any]:
    """Return the attributes of an object whose names have no underscore in front."""
    names = [name for one in type(behavior).__mro__ for name in _slots_of(one)]
    names += getattr(behavior, "__dict__", ())
    return {name: getattr(behavior, name) for name in names if not name.startswith("_") and hasattr(behavior, name)}


def _slots_of(one: type) -> tuple[str, ...]:
    slots = one.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
