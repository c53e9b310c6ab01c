"""The context passed to every handler."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple, final

import trio

from greenroom.actors._behavior import Behavior, is_plain, is_simple
from greenroom.actors._cell import Cell
from greenroom.actors._links import Link, make_link
from greenroom.actors._outbox import enter, poll_now, postpone, refuse_postponed, reserve, set_timer, state_in
from greenroom.actors._ref import Ref, cell_of
from greenroom.actors._send_timer import SendTimer, end_timers
from greenroom.actors._signals import Signal
from greenroom.actors._waits import waiter_of
from greenroom.actors._watch import Hearing, Watch
from greenroom.core import Cause, Recorder, UsageError
from greenroom.mailbox import Delivery, Envelope, Lane, Lease, MailboxStatistics
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._directory import Directory

_TAKEN: Final = "_is_taken"
"""Marks a behavior that already belongs to an incarnation."""

D = TypeVar("D")
M = TypeVar("M")
Ts = TypeVarTuple("Ts")


@final
class Turn:
    """The current turn. Each incarnation has one such object; it always refers to the turn that runs."""

    __slots__ = ("_cell", "nursery")

    def __init__(self, cell: Cell[Any]) -> None:
        self._cell = cell
        self.nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        return f"<Turn {self.token!r}>"

    @property
    def token(self) -> tuple[str, int, int]:
        """The identity of this turn, for `abort_turn`: id, incarnation, number."""
        return self._cell.token

    @property
    def is_aborting(self) -> bool:
        """True if an abort of this turn, or a kill of the actor, has been requested."""
        return self._cell.abort_cause is not None or self._cell.kill_cause is not None

    @property
    def cause(self) -> Cause | None:
        """Who requested the end of this turn, or a kill of the actor, and why; None if nobody did."""
        return self._cell.kill_cause or self._cell.abort_cause

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts, name: object = None) -> None:
        """Start a Trio task that ends with this turn: it is cancelled when the handler returns or the turn is aborted.

        If the task fails, so does the turn.

        Raises:
            UsageError: The behavior does not declare `turn_tasks = True`.
        """
        if self.nursery is None:
            raise UsageError(
                f"cannot start a task in a turn of {self._cell.behavior_name}: declare `turn_tasks = True` in the class"
            )
        self.nursery.start_soon(function, *args, name=name)

    def link(self, ref: Ref[Any]) -> Link:
        """Link an actor to this turn: the turn does not end before that actor has, whoever supervises it.

        While the handler runs, `await link.wait()` returns how the actor ended, and `link.unlink()` releases it. If the
        turn ends first in any way (return, error, abort, kill), the actor is killed in the same step, with all actors
        linked below it. The turn then waits for its end, shielded and within its grace; only then does the grace of this
        actor begin. An actor that does not end in time is recorded as unresponsive and abandoned.

        Raises:
            UsageError: The behavior does not declare `turn_tasks = True`, or the actor is an ancestor of this one.
            AskCycle: That actor waits for this one, directly or through others.
        """
        if self.nursery is None:
            raise UsageError(
                f"cannot link an actor to a turn of {self._cell.behavior_name}: declare `turn_tasks = True` in the class"
            )
        return make_link(self._cell, cell_of(ref), self.nursery)


@final
class Context:
    """The context passed to every handler. Each incarnation has its own; after its end it can only be read."""

    __slots__ = ("_cell", "_watches", "nursery", "ref", "turn")

    def __init__(self, cell: Cell[Any]) -> None:
        self._cell = cell
        self.ref: Ref[Any] = Ref(cell)
        """The actor itself."""
        self.turn = Turn(cell)
        """The turn that runs."""
        self.nursery: trio.Nursery | None = None
        self._watches: dict[Watch, None] | None = None

    def __repr__(self) -> str:
        return f"<Context of {self._cell.path!r}>"

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return self._cell.path

    @property
    def incarnation(self) -> int:
        """The number of the incarnation: 1 after the first start, one more after each restart."""
        return self._cell.incarnation

    @property
    def is_ending(self) -> bool:
        """True if a stop or kill has been requested; no turn follows the current one."""
        return self._cell.stop_cause is not None or self._cell.kill_cause is not None

    @property
    def recorder(self) -> Recorder:
        """The runtime's event recorder."""
        return self._cell.recorder

    @property
    def seq(self) -> int:
        """`seq` of the event that led to the code that runs now; the `parent` of events that it causes."""
        return self._cell.seq

    @property
    def directory(self) -> Directory:
        """The runtime's name registry and dead letters."""
        return self._cell.shared.directory

    def reply(self, value: object) -> None:
        """Answer the request of this turn; the answer is sent with the commit.

        Raises:
            UsageError: The message was not sent with `ask`, or has already been answered.
        """
        cell = self._own_cell()
        if cell.envelope is None or cell.envelope.reply is None:
            raise UsageError("ctx.reply() called for a message that was sent with tell(), not ask()")
        if cell.answer is not NOTHING:
            raise UsageError("ctx.reply() called twice for one ask")
        refuse_postponed(cell, "ctx.reply()")
        cell.answer = value

    def acknowledge(self) -> None:
        """Acknowledge the current message now instead of at the end of the turn.

        After this, an abort or crash does not redeliver it. For turns that save the message elsewhere, as an agent does in
        its transcript.
        """
        cell = self._own_cell()
        if cell.envelope is not None and not cell.is_acked:
            refuse_postponed(cell, "ctx.acknowledge()")
            cell.mailbox.ack(cell.envelope)
            cell.is_acked = True

    # --- states ----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Hashable:
        """The state entered last, in this turn or before; None at the start of every incarnation."""
        return state_in(self._cell)

    def enter(self, state: Hashable) -> None:
        """Switch to `state` when the current turn commits (immediately if no turn is running, as in `on_start`).

        Postponed messages are returned to the front of their lanes, in their original order. Entering the current state
        again has no effect. A turn that fails or is aborted does not change the state.

        Args:
            state: A frozen, hashable value with a short `repr`, which is recorded; preferably an enum.

        Raises:
            UsageError: The value is not hashable.
        """
        enter(self._own_cell(), state)

    def postpone(self) -> None:
        """Postpone the current message until the next state change; it then returns to the front of its lane.

        The turn continues, and completes without an acknowledgement. Meanwhile the message counts against the capacity; an
        ask stays unanswered, with its timeout. A restart of the actor counts as a state change.

        Raises:
            StashFull: `mailbox.stash_capacity` messages are already postponed. If it is not caught, the turn fails, and the
                message is a dead letter `stash_overflow`.
            UsageError: No turn is running, or its message has been answered or acknowledged.
        """
        postpone(self._own_cell())

    # --- timers and messages sent on commit -------------------------------------------------------------------------

    def send_after(
        self, delay_s: float, message: object, *, lane: Lane = Lane.NEXT, for_state: bool = False
    ) -> SendTimer:
        """Send `message` to this actor in `delay_s` seconds, at most 1/64 s late, unless the timer is cancelled.

        A timer that is set in a turn starts with the commit, counted from this call; it does not start if the turn fails or
        is aborted. It ends with the incarnation, and its queued message with it. Messages of timers do not count against
        the capacity. Timers due together fire in the order in which they were set.

        Args:
            delay_s: Seconds by the run's clock.
            message: It must not be changed afterwards.
            lane: The lane of the message.
            for_state: True if the timer, with its queued message, ends at the next change of the actor's state.
        """
        timer = SendTimer(self._own_cell(), delay_s, message, lane, None, for_state=for_state)
        return set_timer(self._cell, timer)

    def send_every(
        self, period_s: float, message: object, *, lane: Lane = Lane.NEXT, for_state: bool = False
    ) -> SendTimer:
        """Send `message` to this actor every `period_s` seconds, for the first time after one period.

        A tick is skipped while the previous one is still queued; the next one keeps step with the first. Otherwise as
        `send_after`.
        """
        timer = SendTimer(self._own_cell(), period_s, message, lane, period_s, for_state=for_state)
        return set_timer(self._cell, timer)

    def tell_on_commit(self, ref: Ref[D], message: D, *, lane: Lane = Lane.NEXT, size_bytes: int = 0) -> Delivery:
        """Send `message` when this turn commits, in the order of these calls; never if the turn does not complete.

        Its place in the other mailbox is reserved now, so `accepted` holds. If the other actor is gone by the time of the
        commit, the message is a dead letter `ended`.

        Raises:
            UsageError: No turn is running, or the message is larger than the byte capacity of that mailbox.
        """
        return reserve(self._own_cell(), cell_of(ref), message, lane, size_bytes)

    def poll_now(self) -> Any:
        """Take the next message or signal of lane `now` in the middle of a turn; None if there is none.

        It is treated like the turn's own message: acknowledged with the commit, otherwise subject to `unfinished`. Asks stay
        in the mailbox, because each needs a turn that answers it. Returns None if the actor is suspended.

        Raises:
            UsageError: No turn is running.
        """
        return poll_now(self._own_cell())

    def _own_cell(self) -> Cell[Any]:
        if self._cell.context is not self:
            raise UsageError(f"cannot use this context: its incarnation of {self._cell.path!r} has ended")
        return self._cell

    # --- mailbox and watches ----------------------------------------------------------------------------------------

    @property
    def has_mail(self) -> bool:
        """True if the actor's mailbox has messages that it may take; False while it is suspended."""
        return not (self._cell.is_suspended or self._cell.mailbox.is_empty)

    async def wait_mail(self) -> None:
        """Wait, in the middle of a turn, until a message arrives in the actor's mailbox; may return spuriously.

        Check with `pick` or `drain` before and after. New messages stay in the mailbox.

        Raises:
            UsageError: No turn is running, or this task may outlive it (`ctx.start_soon`).
            Busy: Another task of the actor is already waiting.
        """
        cell = self._own_cell()
        if not cell.is_busy or waiter_of(cell) is None:
            raise UsageError(f"cannot wait for mail of {cell.path!r} outside of a turn: mail starts its next turn")
        await cell.mailbox.park()

    def drain(self, of: type[D], limit: int, *, lanes: Iterable[Lane] = tuple(Lane)) -> Lease[D]:
        """Lease up to `limit` waiting messages of one class from the actor's mailbox; the caller acknowledges them.

        They are taken lane by lane; other messages stay in the mailbox. Asks are never drained, because each needs a turn
        that answers it; neither are signals. A suspended actor gets none. Messages that are still leased when the
        incarnation ends return to their lanes.
        """

        def is_wanted(envelope: Envelope[Any]) -> bool:
            message = envelope.message
            return envelope.reply is None and isinstance(message, of) and not isinstance(message, Signal)

        cell = self._own_cell()
        return cell.mailbox.drain_nowait(0 if cell.is_suspended else limit, lanes=lanes, wanted=is_wanted)

    def pick(self, plan: Callable[[Sequence[Envelope[Any]]], Iterable[Envelope[Any]]]) -> Lease[Any]:
        """Lease the waiting messages that `plan` selects from the actor's mailbox; the caller acknowledges them.

        For selections that `drain` cannot express, such as the front of a lane only. As with `drain`, asks and signals are
        never leased, a suspended actor gets none, and leased messages return when the incarnation ends.

        Args:
            plan: Called with all waiting messages except signals, lane by lane; only reads them, and returns a selection.
        """
        mailbox = self._own_cell().mailbox
        waiting = [] if self._cell.is_suspended else mailbox.waiting()
        if not waiting:  # the usual case for agents
            return mailbox.drain_nowait(0)
        messages = [envelope for envelope in waiting if not isinstance(envelope.message, Signal)]
        chosen = {envelope.number for envelope in plan(messages)}

        def is_wanted(envelope: Envelope[Any]) -> bool:
            return envelope.number in chosen and envelope.reply is None

        return mailbox.drain_nowait(len(chosen), wanted=is_wanted)

    def mailbox_statistics(self) -> MailboxStatistics:
        """Return the statistics of the actor's mailbox."""
        return self._cell.mailbox.statistics()

    def watch(self, ref: Ref[Any]) -> Watch:
        """Receive one `Down` signal when `ref` has terminated; immediately if it already has.

        The watch ends with this incarnation; the next one has to watch again.
        """
        watch = ref.watch(Hearing(self._own_cell().mailbox))
        if watch.is_open:
            if self._watches is None:
                self._watches = {}
            watch.join(self._watches)
        return watch

    def close(self) -> None:
        """End the timers and watches of this incarnation."""
        end_timers(self._cell)
        for watch in list(self._watches or ()):
            watch.detach()

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts, name: object = None) -> None:
        """Start a Trio task that lives as long as this incarnation; if it fails, so does the actor.

        Raises:
            UsageError: The behavior does not declare `actor_tasks = True`.
        """
        if self.nursery is None:
            raise UsageError(
                f"cannot start a task of {self._cell.behavior_name}: declare `actor_tasks = True` in the class"
            )
        self.nursery.start_soon(function, *args, name=name)


def make_context(cell: Cell[M]) -> Behavior[M]:
    """Create the behavior and the context of a new incarnation, and return the behavior.

    Raises:
        UsageError: The factory returned an object of another class than it declares, one that waits or cleans up while the
            declared class does not, or the behavior of another incarnation.
    """
    behavior = cell.factory()
    made, said = type(behavior), cell.behavior_class
    if not isinstance(behavior, said):
        if isinstance(behavior, Coroutine):
            behavior.close()
        raise UsageError(
            f"a factory declared to return {said.__name__} must return a new {said.__name__}, got {behavior!r}"
        )
    factory: Any = cell.factory
    while isinstance(factory, functools.partial):
        factory = factory.func
    if not isinstance(factory, type):  # a class makes a new one each time
        if _TAKEN in vars(behavior):
            raise UsageError(
                f"a factory must return a new {made.__name__} for each actor and restart, got the same one twice"
            )
        vars(behavior)[_TAKEN] = True
    if made is not said and ((cell.is_plain and not is_plain(made)) or (cell.is_simple and not is_simple(made))):
        raise UsageError(
            f"a factory declared to return {said.__name__} returned {made.__name__}, which needs a task or clean-up that "
            f"{said.__name__} does not; annotate it with `-> {made.__name__}`"
        )
    cell.behavior = behavior
    cell.context = Context(cell)
    return behavior
