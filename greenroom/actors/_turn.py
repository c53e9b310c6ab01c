"""The current turn of an actor: its message, its scope, its answer, and the effects that its commit makes visible.

Rule 1: commit and rollback are one step each. Rule 2: nothing in the outbox is visible before the commit, which applies it
in this order: message, state, timers, mail. Rule 3: a message that was acknowledged or postponed is not handled again.
Rule 4: a link is a task in the turn's nursery, so the turn cannot end before the linked actor has. Whatever ends the turn
kills the linked actors in the same step, all the way down; the wait that follows is shielded and bounded by their graces.
Must not know: how turns are run.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple, final

import attrs
import trio

from greenroom.actors._events import (
    AbortRequested,
    ActorUnresponsive,
    TurnBegan,
    TurnEnded,
    TurnLinked,
    TurnNoted,
    TurnUnlinked,
)
from greenroom.actors._lifecycle import COMPLETED, Outcome, Unfinished
from greenroom.actors._send_timer import SendTimer
from greenroom.actors._states import State
from greenroom.actors._subscription import Subscription, Wait
from greenroom.core import Cause, Level, StashFull, TurnFailed, UsageError
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell
    from greenroom.actors._incarnation import Incarnation
    from greenroom.actors._ref import AbortResult, Ref

Ts = TypeVarTuple("Ts")

_log: Final = logging.getLogger("greenroom")


@final
@attrs.define
class Outbox:
    """Effects that a turn has requested, and that become visible with its commit."""

    is_postponed: bool = False
    """True if the current message is to be postponed."""
    state: Any = NOTHING
    """The state to enter."""
    state_text: str = ""
    timers: list[SendTimer] = attrs.Factory(list)
    mail: list[tuple[Cell[Any], Any, Lane, int]] = attrs.Factory(list)
    """Receiver, message, lane and size of messages that have reserved places."""
    polled: list[Envelope[Any]] = attrs.Factory(list)
    """Messages taken by `poll_now`."""


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Turn:
    """The current turn. Each incarnation has one such object; it always refers to the turn that runs."""

    _life: Incarnation
    _cell: Cell[Any]
    has_events: bool
    """True if the journal of the actor has its turns."""
    number: int = 0
    """Number of the turn within its incarnation, from 1; of the last turn if none is running."""
    envelope: Envelope[Any] | None = None
    """The message; None if no turn is running."""
    scope: trio.CancelScope | None = None
    nursery: trio.Nursery | None = None
    abort_cause: Cause | None = None
    is_committing: bool = False
    """True if the turn can no longer be aborted."""
    is_told: bool = False
    """True if code of the turn was observed to receive its cancellation."""
    is_acked: bool = False
    """True if the turn has acknowledged its message."""
    answer: Any = NOTHING
    outbox: Outbox | None = None
    links: dict[Subscription, Cell[Any]] | None = None
    """Actors that end with the turn."""
    waits: dict[Wait, Cell[Any]] | None = None
    """Actors that the turn waits for."""
    aborts: tuple[AbortResult, ...] = ()
    """Requests that are notified of the outcome of the turn."""

    def __repr__(self) -> str:
        return f"<Turn {self.token!r}>"

    # --- for handlers ------------------------------------------------------------------------------------------------

    @property
    def token(self) -> tuple[str, int, int]:
        """The identity of this turn, for `abort_turn`: id, incarnation, number."""
        return (self._cell.id, self._life.number, self.number)

    @property
    def is_aborting(self) -> bool:
        """True if an abort of this turn, or a kill of the actor, has been requested."""
        return self.cause is not None

    @property
    def cause(self) -> Cause | None:
        """Requester and reason of the end of this turn, or of a kill of the actor; None if there is none."""
        return self._life.kill_cause or self.abort_cause

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts, name: object = None) -> None:
        """Start a Trio task that ends with this turn: it is cancelled when the handler returns or the turn is aborted.

        If the task fails, so does the turn.

        Raises:
            UsageError: The behavior does not declare `turn_tasks = True`.
        """
        self._own_nursery("start a task in").start_soon(function, *args, name=name)

    def link(self, ref: Ref[Any]) -> Subscription:
        """Link an actor to this turn: the turn does not end before that actor has, wherever that is in the tree.

        While the handler runs, `await link.wait()` returns how the actor ended, and `link.unlink()` releases it. If the
        turn ends first in any way (return, error, abort, kill), the actor is killed in the same step, with all actors
        linked below it. The turn then waits for its end, shielded and within its grace; only then does the grace of this
        actor begin. An actor that does not end in time is recorded as unresponsive and abandoned.

        Raises:
            UsageError: The behavior does not declare `turn_tasks = True`, or the actor is an ancestor of this one.
            AskCycle: That actor waits for this one, directly or through others.
        """
        nursery = self._own_nursery("link an actor to")
        cell, target = self._cell, ref.cell
        is_above = not target.path or f"{cell.path}/".startswith(f"{target.path}/")
        if is_above and target is not cell:
            raise UsageError(f"cannot link {target.path or 'root'!r} to a turn of {cell.path!r}: it is an ancestor")
        cell.refuse_cycle(target)
        fields = (self.number, target.id)

        def record(event: type[TurnLinked | TurnUnlinked]) -> None:
            if cell.traits.level >= Level.TURNS:
                cell.record(event, *fields)

        link = Subscription(target.path, on_cancel=lambda: record(TurnUnlinked))
        target.subscribe(link)
        if link.is_open:
            if self.links is None:
                self.links = {}
            link.join(self.links, target)
            link.join(self.waits_made(), target)
            record(TurnLinked)
            nursery.start_soon(self._hold, link, target, name=f"link to {target.path}")
        return link

    def _own_nursery(self, doing: str) -> trio.Nursery:
        if self.nursery is None:
            raise UsageError(
                f"cannot {doing} a turn of {self._cell.behavior_name}: declare `turn_tasks = True` in the class"
            )
        return self.nursery

    # --- links and waits -----------------------------------------------------------------------------------------------

    def waits_made(self) -> dict[Wait, Cell[Any]]:
        """Return the table of waits, created on first use."""
        if self.waits is None:
            self.waits = {}
        return self.waits

    async def _hold(self, link: Subscription, target: Cell[Any]) -> None:
        try:
            await link.wait()
        except trio.Cancelled:
            self._end_link(link, target)
            with trio.move_on_after(_ladder_s(target), shield=True):
                await link.wait()
            if link.is_open:
                target.record(ActorUnresponsive)
                link.close()
            raise

    def _end_link(self, link: Subscription, target: Cell[Any]) -> None:
        if link.is_open and not link.is_ending:
            link.is_ending = True
            target.cancel_restart()
            target.request_kill(Cause(self._cell.id, "the turn that it was linked to has ended"))

    def end_links(self) -> None:
        """Kill all actors that are linked to the turn, and those linked below them, in this step."""
        for link, target in tuple((self.links or {}).items()):
            self._end_link(link, target)

    def linked_s(self) -> float:
        """Return the maximum time until the linked actors have ended; a grace of the own actor begins after that."""
        links = (self.links or {}).items()
        return max((_ladder_s(target) for link, target in links if link.is_ending), default=0.0)

    # --- begin and end -------------------------------------------------------------------------------------------------

    def begin(self, envelope: Envelope[Any]) -> bool:
        """Begin the turn of a leased message; bury it and return False if nobody waits for its answer any more."""
        cell = self._cell
        if envelope.reply is not None and not envelope.reply.is_open:
            cell.mailbox.bury(envelope, DeadReason.EXPIRED)
            return False
        self.number += 1
        self.envelope = envelope
        if self.has_events:
            life, number = self._life.number, envelope.number
            cell.seq = cell.shared.emit(TurnBegan, cell.id, life, envelope.parent, self.number, number)
        return True

    def request_abort(self, cause: Cause) -> None:
        """Cancel the turn, if one is running that can be cancelled: not on the dispatcher, nor while it is committed."""
        cell, is_abortable = self._cell, self.envelope is not None and not self.is_committing
        if is_abortable and self.scope is not None and self.abort_cause is None:
            self.abort_cause = cause
            if self.has_events:  # below that the journal has no turns
                cell.record(AbortRequested, self.number, cause, parent=cell.here())
            self.scope.cancel(cause.why)
            self.end_links()

    def note_cancelled(self) -> None:
        """Note that code of the turn received its cancellation: if the turn returns anyway, it has swallowed it."""
        self.is_told = self.is_aborting

    def observed(self, outcome: Outcome, *, hidden: str) -> Outcome:
        """Return an outcome with the observed misuse: a swallowed cancellation, or a hidden error (see `masked_error`)."""
        cell = self._cell
        where = f"turn {self.number} of {cell.path or cell.id}"
        if outcome.late_cancel and self.is_told:
            cell.shared.incidents.swallowed_cancels += 1
            _log.warning("%s swallowed its cancel: it caught Cancelled and returned; let it pass", where)
            return attrs.evolve(outcome, swallowed=True)
        if hidden and self.is_aborting:
            cell.shared.incidents.masked_errors += 1
            _log.warning("%s was being ended, and the exception that left it hides this: %s", where, hidden)
            return attrs.evolve(outcome, masked_error=hidden)
        return outcome

    def commit(self, envelope: Envelope[Any], began_t: float) -> float:
        """Commit the turn in one step: answer, acknowledgement, event. Return the clock's reading."""
        cell = self._cell
        shared = cell.shared
        if self.is_acked or self.outbox is not None or self.has_events:
            self.end(COMPLETED)
            return shared.now()
        reply = envelope.reply
        if reply is not None:
            if self.answer is NOTHING or not reply.answer(self.answer):  # forgotten, or too late
                self.end(COMPLETED)
                return shared.now()
            self.answer = NOTHING
        cell.mailbox.ack(envelope)
        self.envelope = None
        now = shared.now()
        life, parent, number = self._life.number, envelope.parent, envelope.number
        # As one display: with `*fields` it would go through a list.
        shared.note((shared.number(), now, TurnNoted, cell.id, life, parent, self.number, number, began_t, "completed"))
        cell.last_turn = COMPLETED
        if self.aborts:
            self._settle_aborts()
        return now

    def end(self, outcome: Outcome, unfinished: Unfinished = Unfinished.DROP) -> None:
        """Commit a completed turn, or roll back any other one; `unfinished` is the policy for its message."""
        envelope, life = self.envelope, self._life
        assert envelope is not None
        cell = self._cell
        if outcome.state is State.COMPLETED:
            self.is_committing = True
            self._commit_in_full(envelope)
        else:
            self._roll_back(envelope, outcome, unfinished)
        self.is_committing = self.is_acked = False
        self.envelope, self.answer = None, NOTHING
        cell.last_turn = outcome
        if not self.has_events:
            now = cell.shared.now()
            fields = (life.number, envelope.parent, self.number, envelope.number, now, outcome.state.value)
            cell.shared.note((cell.shared.number(), now, TurnNoted, cell.id, *fields))
        else:
            numbers = (self.number, envelope.number)
            cell.shared.emit(TurnEnded, cell.id, life.number, cell.seq, *outcome.fields(), *numbers)
        self._settle_aborts()

    def _settle_aborts(self) -> None:
        aborts, self.aborts = self.aborts, ()
        for abort in aborts:
            abort.settle(self._cell.last_turn)

    def _commit_in_full(self, envelope: Envelope[Any]) -> None:
        outbox, self.outbox = self.outbox, None
        cell = self._cell
        if outbox is not None and outbox.is_postponed:
            cell.mailbox.postpone(envelope)
        else:
            if envelope.reply is not None:
                self._answer(envelope)
            if not self.is_acked:
                cell.mailbox.ack(envelope)
        if outbox is None:
            return
        for polled in outbox.polled:
            cell.mailbox.ack(polled)
        if outbox.state is not NOTHING:
            self._life.change_state(outbox.state, outbox.state_text)
        for timer in outbox.timers:
            timer.start()
        for target, message, lane, size_bytes in outbox.mail:
            parent = cell.seq if target.shared is cell.shared else 0
            delivery = target.mailbox.put_reserved(message, lane, size_bytes=size_bytes, parent=parent)
            if delivery is not Delivery.ACCEPTED:
                target.note_refused(message, lane, delivery)

    def _answer(self, envelope: Envelope[Any]) -> None:
        cell, reply, answer = self._cell, envelope.reply, self.answer
        self.answer = NOTHING
        assert reply is not None
        if answer is NOTHING:
            name = type(envelope.message).__name__
            reply.fail(TurnFailed(cell.id, f"it handled {name} without ctx.reply()", path=cell.path))
        elif not reply.answer(answer):
            cell.note_refused(answer, envelope.lane, DeadReason.LATE_REPLY)

    def _roll_back(self, envelope: Envelope[Any], outcome: Outcome, unfinished: Unfinished) -> None:
        outbox, self.outbox = self.outbox, None
        if outbox is not None:
            for timer in outbox.timers:
                timer.end()
            for target, _, lane, size_bytes in outbox.mail:
                target.mailbox.unreserve(lane, size_bytes=size_bytes)
            for polled in reversed(outbox.polled):
                self._give_up(polled, outcome, unfinished)
        cell = self._cell
        if envelope.reply is not None:
            envelope.reply.fail(outcome.error_for(cell.id, cell.path))
        if not self.is_acked:
            self._give_up(envelope, outcome, unfinished)

    def _give_up(self, envelope: Envelope[Any], outcome: Outcome, unfinished: Unfinished) -> None:
        mailbox = self._cell.mailbox
        is_failed = outcome.state is State.FAILED
        if isinstance(outcome.error, StashFull):
            mailbox.bury(envelope, DeadReason.STASH_OVERFLOW)
        elif unfinished is Unfinished.DROP or envelope.reply is not None:
            mailbox.bury(envelope, DeadReason.FAILED if is_failed else DeadReason.ABORTED)
        elif unfinished is Unfinished.KEEP:
            # An abort says nothing against a message; one that fails every turn would be retried forever.
            mailbox.postpone(envelope, counts=is_failed)
        else:
            mailbox.nack(envelope)

    # --- outbox --------------------------------------------------------------------------------------------------------

    def outbox_for(self, call: str) -> Outbox:
        """Return the outbox, created on first use.

        Raises:
            UsageError: No turn is running.
        """
        if self.envelope is None:
            raise UsageError(f"{call} called outside of a turn")
        if self.outbox is None:
            self.outbox = Outbox()
        return self.outbox

    def check_not_postponed(self, call: str) -> None:
        """Raise `UsageError` if the message was postponed in this turn."""
        if self.outbox is not None and self.outbox.is_postponed:
            raise UsageError(f"{call} came too late: the message was postponed in this turn")


def _ladder_s(target: Cell[Any]) -> float:
    """Return the maximum time until a linked actor has ended: clean-up, escalation, and before them its own links."""
    below = max((_ladder_s(linked) for linked in (target.turn.links or {}).values()), default=0.0)
    return below + 2 * target.spec.kill_grace_s
