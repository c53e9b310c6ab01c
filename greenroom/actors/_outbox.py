"""What a turn asks for that becomes true with its commit, and dies with the turn (DESIGN 12.7).

Rule 1: nothing of it is seen by anybody before the commit. Rule 2: the commit is one step, in this order: the message in
hand, the state. Rule 3: a turn that asks for nothing of it has no outbox.
Must not know: how turns are run.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, final

from greenroom.actors._events import ActorEntered
from greenroom.actors._slot import NOTHING
from greenroom.core import Level, StashFull, UsageError

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell

STATE_TEXT: Final = 80
"""So many characters of a state are on record."""


@final
class Outbox:
    """What one turn asked for."""

    __slots__ = ("is_postponed", "state")

    def __init__(self) -> None:
        self.is_postponed = False
        """Whether the message in hand is to come back in another state."""
        self.state: Any = NOTHING
        """What to enter."""

    def commit(self, cell: Cell[Any]) -> None:
        """Make it true, in the step of the commit."""
        if self.state is not NOTHING:
            _change(cell, self.state)


def outbox_of(cell: Cell[Any]) -> Outbox:
    """Return the outbox of the turn that runs, made on first use."""
    if cell.outbox is None:
        cell.outbox = Outbox()
    return cell.outbox


def state_in(cell: Cell[Any]) -> Hashable:
    """Return the state of an actor, as its turn sees it."""
    outbox = cell.outbox
    return cell.entered if outbox is None or outbox.state is NOTHING else outbox.state


def enter(cell: Cell[Any], state: Hashable) -> None:
    """Change the state of an actor: with the commit of its turn, at once where none runs."""
    try:
        hash(state)
    except TypeError:
        raise UsageError(
            f"{cell.behavior_name} enters {state!r}, which has no hash; use a frozen value, such as an enum"
        ) from None
    if cell.is_busy:
        outbox_of(cell).state = state
    else:
        _change(cell, state)


def postpone(cell: Cell[Any]) -> None:
    """Set the message in hand aside with the commit of this turn."""
    if not cell.is_busy:
        raise UsageError("ctx.postpone() is about the message of a turn, and none runs")
    if cell.is_acked or cell.answer is not NOTHING:
        done = "acknowledged" if cell.is_acked else "answered"
        raise UsageError(f"ctx.postpone() came too late: the message was {done} in this turn")
    if not cell.mailbox.can_postpone:
        raise StashFull(cell.id, cell.mailbox.statistics().postponed)
    outbox_of(cell).is_postponed = True


def refuse_postponed(cell: Cell[Any], what: str) -> None:
    """Refuse to let go of a message that is to come back.

    Raises:
        UsageError: It was postponed in this turn.
    """
    if cell.outbox is not None and cell.outbox.is_postponed:
        raise UsageError(f"{what} came too late: the message was postponed in this turn")


def _change(cell: Cell[Any], state: Hashable) -> None:
    if cell.entered == state:
        return
    cell.entered = state
    seq = 0
    if cell.level >= Level.TURNS:
        text = state if isinstance(state, str) else repr(state)
        seq = cell.recorder.emit_fields(ActorEntered, cell.id, cell.incarnation, cell.seq, text[:STATE_TEXT])
    cell.mailbox.recall(parent=seq)
