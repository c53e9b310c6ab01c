"""What a turn asks for that becomes true with its commit, and dies with the turn (DESIGN 12.7).

Rule 1: nothing of it is seen by anybody before the commit. Rule 2: the commit is one step, in this order: the messages
in hand, the state, timers, mail in the order of its calls. Rule 3: a turn that asks for nothing of it has no outbox.
Must not know: how turns are run.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from greenroom.actors._events import ActorEntered
from greenroom.actors._send_timer import SendTimer, end_state_timers
from greenroom.core import Level, StashFull, UsageError
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell

_NOW_ONLY: Final = (Lane.NOW,)
STATE_TEXT: Final = 80
"""So many characters of a state are on record."""


@final
@attrs.frozen
class _Letter:
    """A message with a reserved place in the mailbox that it is for."""

    target: Cell[Any]
    message: Any
    lane: Lane
    size_bytes: int

    def send(self, cell: Cell[Any]) -> None:
        """Put it into its place; a dead letter if whoever it is for has ended meanwhile."""
        target = self.target
        parent = cell.seq if target.shared is cell.shared else 0
        put = target.mailbox.put_reserved(self.message, self.lane, size_bytes=self.size_bytes, parent=parent)
        if put is not Delivery.ACCEPTED:
            target.shared.directory.refused(target, self.message, self.lane, DeadReason.ENDED)


@final
class Outbox:
    """What one turn asked for."""

    __slots__ = ("is_postponed", "mail", "polled", "state", "state_text", "timers")

    def __init__(self) -> None:
        self.is_postponed = False
        """Whether the message in hand is to come back in another state."""
        self.state: Any = NOTHING
        """What to enter."""
        self.state_text = ""
        self.timers: list[SendTimer] = []
        self.mail: list[_Letter] = []
        self.polled: list[Envelope[Any]] = []
        """What was taken in the middle of the turn, under its lease."""

    def commit(self, cell: Cell[Any]) -> None:
        """Make it true, in the step of the commit."""
        for envelope in self.polled:
            cell.mailbox.ack(envelope)
        if self.state is not NOTHING:
            _change(cell, self.state, self.state_text)
        for timer in self.timers:
            timer.start()
        for letter in self.mail:
            letter.send(cell)

    def drop(self) -> None:
        """Let go of it: no timer runs, and the places that it had reserved are free."""
        for timer in self.timers:
            timer.end()
        for letter in self.mail:
            letter.target.mailbox.unreserve(letter.lane, size_bytes=letter.size_bytes)


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
    # The value's own code runs here, where it may raise, and not in the commit.
    is_change = bool(cell.entered != state)
    text = (state if isinstance(state, str) else repr(state))[:STATE_TEXT] if cell.level >= Level.TURNS else ""
    if cell.is_busy:
        outbox = outbox_of(cell)
        outbox.state, outbox.state_text = (state, text) if is_change else (NOTHING, "")
    elif is_change:
        _change(cell, state, text)


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


def set_timer(cell: Cell[Any], timer: SendTimer) -> SendTimer:
    """Let a timer run from the commit of the turn on, at once where none runs."""
    if cell.is_busy:
        outbox_of(cell).timers.append(timer)
    else:
        timer.start()
    return timer


def reserve(cell: Cell[Any], target: Cell[Any], message: Any, lane: Lane, size_bytes: int) -> Delivery:
    """Take a place in the target's mailbox, for a message that goes out with the commit of the turn."""
    if not cell.is_busy:
        raise UsageError("ctx.tell_on_commit() is for turns, and none runs; use ref.tell()")
    delivery = target.mailbox.reserve(lane, size_bytes=size_bytes)
    if delivery is Delivery.ACCEPTED:
        outbox_of(cell).mail.append(_Letter(target, message, lane, size_bytes))
    else:
        reason = DeadReason.ENDED if delivery is Delivery.CLOSED else DeadReason.FULL
        target.shared.directory.refused(target, message, lane, reason)
    return delivery


def poll_now(cell: Cell[Any]) -> Any:
    """Take the next message of lane `now` under the lease of the turn; None when there is none."""
    if not cell.is_busy:
        raise UsageError("ctx.poll_now() is for turns, and none runs")
    if cell.is_suspended:
        return None
    taken = cell.mailbox.drain_nowait(1, lanes=_NOW_ONLY, wanted=_is_told).envelopes
    outbox = outbox_of(cell) if taken else None
    if outbox is None:
        return None
    outbox.polled += taken
    return taken[0].message


def _is_told(envelope: Envelope[Any]) -> bool:
    return envelope.reply is None


def refuse_postponed(cell: Cell[Any], what: str) -> None:
    """Refuse to let go of a message that is to come back.

    Raises:
        UsageError: It was postponed in this turn.
    """
    if cell.outbox is not None and cell.outbox.is_postponed:
        raise UsageError(f"{what} came too late: the message was postponed in this turn")


def _change(cell: Cell[Any], state: Hashable, text: str) -> None:
    cell.entered = state
    end_state_timers(cell)
    seq = 0
    if cell.level >= Level.TURNS:
        seq = cell.recorder.emit_fields(ActorEntered, cell.id, cell.incarnation, cell.seq, text)
    cell.mailbox.recall(parent=seq)
