"""The context passed to every handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVarTuple, final

import trio

from greenroom.actors._cell import Cell
from greenroom.actors._directory import Directory
from greenroom.actors._incarnation import Incarnation
from greenroom.actors._ref import Ref, waiter_of
from greenroom.actors._send_timer import SendTimer
from greenroom.actors._states import TERMINAL
from greenroom.actors._subscription import Signal, Subscription
from greenroom.core import Level, Recorder, StashFull, UsageError
from greenroom.mailbox import Delivery, Envelope, Lane, Lease
from greenroom.waiting import NOTHING

_NOW_ONLY: Final = (Lane.NOW,)
STATE_TEXT: Final = 80
"""Maximum number of characters of a state that are recorded."""

if TYPE_CHECKING:  # defaults of type variables need Python 3.13
    from typing_extensions import TypeVar

    Answer = TypeVar("Answer", default=Any, contravariant=True)
else:
    from typing import TypeVar

    Answer = TypeVar("Answer", contravariant=True)

D = TypeVar("D")
Ts = TypeVarTuple("Ts")


@final
class Context(Generic[Answer]):
    """The context passed to every handler. Each incarnation has its own; after its end it can only be read.

    With `ctx: Context[int]`, a type checker accepts only answers of that type in `ctx.reply`.
    """

    __slots__ = ("_cell", "_life", "_ref", "turn")

    def __init__(self, cell: Cell[Any]) -> None:
        self._cell = cell
        self._life: Incarnation = cell.life
        self._ref: Ref[Any] | None = None
        """Made for the first who asks: most actors never do."""
        self.turn = cell.life.turn
        """The current turn."""

    def __repr__(self) -> str:
        return f"<Context of {self._cell.path!r}>"

    @property
    def ref(self) -> Ref[Any]:
        """The actor itself."""
        ref = self._ref
        if ref is None:
            ref = self._ref = Ref(self._cell)
        return ref

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return self._cell.path

    @property
    def incarnation(self) -> int:
        """The number of the incarnation: 1 after the first start, one more after each restart."""
        return self._life.number

    @property
    def is_ending(self) -> bool:
        """True if a stop or kill has been requested; no turn follows the current one."""
        return self._life.is_asked_to_end

    @property
    def nursery(self) -> trio.Nursery | None:
        """The nursery of `start_soon`; None without `actor_tasks`."""
        return self._life.nursery

    @property
    def recorder(self) -> Recorder:
        """The runtime's event recorder."""
        return self._cell.shared.recorder

    @property
    def seq(self) -> int:
        """`seq` of the event that led to the code that runs now; the `parent` of events that it causes."""
        return self._cell.seq

    @property
    def directory(self) -> Directory[Any]:
        """The runtime's name registry and dead letters."""
        return self._cell.shared.directory

    def reply(self, value: Answer) -> None:
        """Answer the request of this turn; the answer is sent with the commit.

        Raises:
            UsageError: The message was not sent with `ask`, or has already been answered.
        """
        self._own_cell()
        turn = self.turn
        if turn.envelope is None or turn.envelope.reply is None:
            raise UsageError("ctx.reply() called for a message that was sent with tell(), not ask()")
        if turn.answer is not NOTHING:
            raise UsageError("ctx.reply() called twice for one ask")
        if turn.outbox is not None:
            turn.check_not_postponed("ctx.reply()")
        turn.answer = value

    def acknowledge(self) -> None:
        """Acknowledge the current message now instead of at the end of the turn.

        After this, an abort or crash does not redeliver it. For turns that save the message elsewhere, as an agent does in
        its transcript.
        """
        cell, turn = self._own_cell(), self.turn
        if turn.envelope is not None and not turn.is_acked:
            turn.check_not_postponed("ctx.acknowledge()")
            cell.mailbox.ack(turn.envelope)
            turn.is_acked = True

    # --- states ----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Hashable:
        """The state entered last, in this turn or before; None at the start of every incarnation."""
        outbox = self.turn.outbox
        return self._life.entered if outbox is None or outbox.state is NOTHING else outbox.state

    def enter(self, state: Hashable) -> None:
        """Switch to `state` when the current turn commits (immediately if no turn is running, as in `on_start`).

        Postponed messages are returned to the front of their lanes, in their original order. Entering the current state
        again has no effect. A turn that fails or is aborted does not change the state.

        Args:
            state: A frozen, hashable value with a short `repr`, which is recorded; preferably an enum.

        Raises:
            UsageError: The value is not hashable.
        """
        cell, turn = self._own_cell(), self.turn
        try:
            hash(state)
        except TypeError:
            raise UsageError(f"state must be hashable, got {state!r}; use a frozen value, such as an enum") from None
        # The value's own code runs here, where it may raise, and not in the commit.
        is_change = bool(self._life.entered != state)
        is_recorded = cell.traits.level >= Level.TURNS
        text = (state if isinstance(state, str) else repr(state))[:STATE_TEXT] if is_recorded else ""
        if turn.envelope is not None:
            outbox = turn.outbox_for("ctx.enter()")
            outbox.state, outbox.state_text = (state, text) if is_change else (NOTHING, "")
        elif is_change:
            self._life.change_state(state, text)

    def postpone(self) -> None:
        """Postpone the current message until the next state change; it then returns to the front of its lane.

        The turn continues, and completes without an acknowledgement. Meanwhile the message counts against the capacity; an
        ask stays unanswered, with its timeout. A restart of the actor counts as a state change.

        Raises:
            StashFull: `mailbox.stash_capacity` messages are already postponed. If it is not caught, the turn fails, and the
                message is a dead letter `stash_overflow`.
            UsageError: No turn is running, or its message has been answered or acknowledged.
        """
        cell, turn = self._own_cell(), self.turn
        outbox = turn.outbox_for("ctx.postpone()")
        if turn.is_acked or turn.answer is not NOTHING:
            done = "acknowledged" if turn.is_acked else "answered"
            raise UsageError(f"ctx.postpone() came too late: the message was {done} in this turn")
        if not cell.mailbox.can_postpone:
            raise StashFull(cell.id, cell.mailbox.statistics().postponed)
        outbox.is_postponed = True

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
        return self._set_timer(delay_s, None, message, lane, for_state=for_state)

    def send_every(
        self, period_s: float, message: object, *, lane: Lane = Lane.NEXT, for_state: bool = False
    ) -> SendTimer:
        """Send `message` to this actor every `period_s` seconds, for the first time after one period.

        A tick is skipped while the previous one is still queued; the next one keeps step with the first. Otherwise as
        `send_after`.
        """
        return self._set_timer(period_s, period_s, message, lane, for_state=for_state)

    def _set_timer(
        self, delay_s: float, period_s: float | None, message: object, lane: Lane, *, for_state: bool
    ) -> SendTimer:
        cell, life = self._own_cell(), self._life
        if not delay_s >= 0 or (period_s is not None and not period_s > 0):
            raise UsageError(f"a timer's delay must be 0 s or more, its period above 0 s, got {delay_s!r}")
        if life.timers is None:
            life.timers = {}
        timer = SendTimer(
            cell.mailbox,
            cell.shared.timers,
            message,
            lane,
            period_s=period_s,
            due_t=cell.shared.now() + delay_s,
            for_state=for_state,
            here=cell.here,
            parent=cell.seq,
            among=life.timers,
        )
        if self.turn.envelope is not None:
            self.turn.outbox_for("ctx.send_after()").timers.append(timer)
        else:
            timer.start()
        return timer

    def tell_on_commit(self, ref: Ref[D], message: D, *, lane: Lane = Lane.NEXT, size_bytes: int = 0) -> Delivery:
        """Send `message` when this turn commits, in the order of these calls; never if the turn does not complete.

        Its place in the other mailbox is reserved now, so `accepted` holds. If the other actor is gone by the time of the
        commit, the message is a dead letter `ended`.

        Raises:
            UsageError: No turn is running, or the message is larger than the byte capacity of that mailbox.
        """
        self._own_cell()
        outbox = self.turn.outbox_for("ctx.tell_on_commit()")
        target = ref.cell
        delivery = target.mailbox.reserve(lane, size_bytes=size_bytes)
        if delivery is Delivery.ACCEPTED:
            outbox.mail.append((target, message, lane, size_bytes))
        else:
            target.note_refused(message, lane, delivery)
        return delivery

    def poll_now(self) -> Any:
        """Take the next message or signal of lane `now` in the middle of a turn; None if there is none.

        It is treated like the turn's own message: acknowledged with the commit, otherwise subject to `unfinished`. Asks stay
        in the mailbox, because each needs a turn that answers it. Returns None if the actor is suspended.

        Raises:
            UsageError: No turn is running.
        """
        cell = self._own_cell()
        outbox = self.turn.outbox_for("ctx.poll_now()")
        limit = 0 if self._life.is_suspended else 1
        taken = cell.mailbox.drain_nowait(
            limit, lanes=_NOW_ONLY, wanted=lambda envelope: envelope.reply is None
        ).envelopes
        outbox.polled += taken
        return taken[0].message if taken else None

    def _own_cell(self) -> Cell[Any]:
        if self._life.state in TERMINAL:
            raise UsageError(f"cannot use this context: its incarnation of {self._cell.path!r} has ended")
        return self._cell

    # --- mailbox and watches ----------------------------------------------------------------------------------------

    @property
    def has_mail(self) -> bool:
        """True if the actor's mailbox has messages that it may take; False while it is suspended."""
        return not (self._life.is_suspended or self._cell.mailbox.lanes.is_empty)

    async def wait_mail(self) -> None:
        """Wait, in the middle of a turn, until a message arrives in the actor's mailbox; may return spuriously.

        Check with `pick` or `drain` before and after. New messages stay in the mailbox.

        Raises:
            UsageError: No turn is running, or this task may outlive it (`ctx.start_soon`).
            Busy: Another task of the actor is already waiting.
        """
        cell = self._own_cell()
        if self.turn.envelope is None or waiter_of(cell) is None:
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

        return self._own_cell().mailbox.drain_nowait(
            0 if self._life.is_suspended else limit, lanes=lanes, wanted=is_wanted
        )

    def pick(self, plan: Callable[[Sequence[Envelope[Any]]], Iterable[Envelope[Any]]]) -> Lease[Any]:
        """Lease the waiting messages that `plan` selects from the actor's mailbox; the caller acknowledges them.

        For selections that `drain` cannot express, such as the front of a lane only. As with `drain`, asks and signals are
        never leased, a suspended actor gets none, and leased messages return when the incarnation ends.

        Args:
            plan: Called with all waiting messages except signals, lane by lane; only reads them, and returns a selection.
        """
        mailbox = self._own_cell().mailbox
        waiting = [] if self._life.is_suspended else mailbox.lanes.waiting()
        if not waiting:  # the usual case for agents
            return mailbox.drain_nowait(0)
        messages = [envelope for envelope in waiting if not isinstance(envelope.message, Signal)]
        chosen = {envelope.number for envelope in plan(messages)}

        def is_wanted(envelope: Envelope[Any]) -> bool:
            return envelope.number in chosen and envelope.reply is None

        return mailbox.drain_nowait(len(chosen), wanted=is_wanted)

    def watch(self, ref: Ref[Any]) -> Subscription:
        """Receive one `Down` signal when `ref` has terminated; immediately if it already has.

        The subscription ends with this incarnation; the next one has to watch again.
        """
        watch = Subscription(ref.path, mailbox=self._own_cell().mailbox)
        ref.cell.subscribe(watch)
        if watch.is_open:
            if self._life.subscriptions is None:
                self._life.subscriptions = {}
            watch.join(self._life.subscriptions)
        return watch

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts, name: object = None) -> None:
        """Start a Trio task that lives as long as this incarnation; if it fails, so does the actor.

        Raises:
            UsageError: The behavior does not declare `actor_tasks = True`.
        """
        if self._life.nursery is None:
            raise UsageError(
                f"cannot start a task of {self._cell.behavior_name}: declare `actor_tasks = True` in the class"
            )
        self._life.nursery.start_soon(function, *args, name=name)
