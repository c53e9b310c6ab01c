"""References to actors: messages, stop and kill, watches, inspection."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar, final

import attrs
import trio
from trio.lowlevel import Task, checkpoint, current_task

from greenroom.actors._cell import CURRENT, Cell, current_of
from greenroom.actors._lifecycle import Outcome
from greenroom.actors._states import TERMINAL, State
from greenroom.actors._subscription import Down, Subscription, Wait
from greenroom.core import ActorEnded, AskTimedOut, Undelivered, UsageError
from greenroom.mailbox import Delivery, Envelope, Lane, MailboxStatistics
from greenroom.waiting import ReplySlot

M = TypeVar("M", contravariant=True)
R = TypeVar("R")
M_co = TypeVar("M_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)

ASK_TIMEOUT_S: Final = 30.0
"""Default timeout of an ask."""

DRAIN_S: Final = 30.0
"""Default grace of a drain."""

_ACCEPTED: Final = Delivery.ACCEPTED
_NEXT: Final = Lane.NEXT


def waiter_of(cell: Cell[Any] | None) -> Cell[Any] | None:
    """Return the actor whose code is running if the current task delays its turns; None for its background tasks.

    A task that was started with `ctx.start_soon` delays nobody, so its waits are not edges of the graph.
    """
    if cell is None or cell.life.task is None:
        return None
    task: Task = current_task()
    while task is not cell.life.task:
        nursery = task.parent_nursery
        if nursery is None or nursery is cell.life.nursery:
            return None
        task = nursery.parent_task
    return cell


async def wait_on(waiter: Cell[Any] | None, target: Cell[Any], wait: Wait) -> Any:
    """Wait for what `target` settles, as an edge from `waiter`; close it afterwards."""
    turn = waiter.turn if waiter is not None else None
    if turn is not None:
        turn.waits_made()[wait] = target
    try:
        return await wait.wait()
    except trio.Cancelled:
        if turn is not None:
            turn.note_cancelled()
        raise
    finally:
        wait.close()
        if turn is not None and turn.waits is not None:
            del turn.waits[wait]


class AcceptedRequest(Protocol[M_co, R_co]):
    """A request that belongs to the messages `M` of an actor; for type checkers only."""

    def _as_accepted(self) -> tuple[M_co, R_co]: ...


class Request(Generic[R_co]):
    """A message with an answer of type `R`: `await ref.ask(request)` returns the value given to `ctx.reply(value)`."""

    __slots__ = ()

    if TYPE_CHECKING:  # links the class of the request to the type of its answer, which no annotation of `ask` can

        def _as_accepted(self) -> tuple[Self, R_co]: ...


class AbortStatus(StrEnum):
    """Result of a request to abort a turn."""

    ABORTED = "aborted"
    """The request came before the commit; `wait_ended()` returns how the turn ended."""
    STALE = "stale"
    """The named turn is over."""
    IDLE = "idle"
    """No turn is running, or one that cannot be interrupted."""
    TOO_LATE = "too_late"
    """The turn is committing."""


@final
@attrs.define(eq=False, repr=False)
class AbortResult:
    """Result of `abort_turn`."""

    _cell: Cell[Any]
    status: AbortStatus
    _outcome: Outcome | None = attrs.field(default=None, init=False)
    _slots: list[ReplySlot] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        turn = self._cell.turn
        if turn.envelope is None:
            self.settle(self._cell.last_turn)
        else:
            turn.aborts = (*turn.aborts, self)

    def __repr__(self) -> str:
        return f"<AbortResult {self.status} of {self._cell.path!r}>"

    def settle(self, outcome: Outcome) -> None:
        """Store how the turn ended, and notify those who wait for it."""
        self._outcome = outcome
        for slot in self._slots:
            slot.answer(outcome)

    async def wait_ended(self) -> Outcome:
        """Wait until the turn that was running at the request has ended; return its outcome, or that of the last turn."""
        slot = ReplySlot()
        self._slots.append(slot)
        if self._outcome is not None:
            slot.answer(self._outcome)
        outcome: Outcome = await wait_on(waiter_of(current_of(self._cell.shared)), self._cell, slot)
        return outcome


def _check_grace(grace_s: float) -> None:
    if not 0 <= grace_s < math.inf:
        raise UsageError(f"grace_s must be a finite number of seconds, got {grace_s!r}")


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Ref(Generic[M]):
    """A reference to an actor; it stays valid across restarts, as the mailbox does. Created by spawning."""

    cell: Cell[Any]
    """The actor's record, for the runtime only."""

    def __repr__(self) -> str:
        return f"<Ref {self.cell.path!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.cell is self.cell

    def __hash__(self) -> int:
        return hash(self.cell.id)

    @property
    def id(self) -> str:
        """The actor's id; never reused."""
        return self.cell.id

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return self.cell.path

    # --- messages --------------------------------------------------------------------------------------------------

    def tell(self, message: M, lane: Lane = _NEXT, *, size_bytes: int = 0) -> Delivery:
        """Send a message and return whether it was accepted; never waits.

        Args:
            message: It must not be changed afterwards.
            lane: `now` ignores the capacity; it does not abort anything by itself.
            size_bytes: Its size, counted against the byte capacity of the mailbox.
        """
        cell = self.cell
        here = CURRENT.get()
        # current_of, inlined: this is the hot path.
        parent = here.seq if here is not None and here.shared is cell.shared else 0
        delivery: Delivery = cell.mailbox.put_nowait(message, lane, size_bytes, parent, None, False)  # noqa: FBT003
        if delivery is not _ACCEPTED:
            cell.note_refused(message, lane, delivery)
        return delivery

    def notify(self, message: M, lane: Lane = Lane.LATER) -> Delivery:
        """Send a system message: it does not count against the capacity, so a full mailbox accepts it.

        Args:
            message: It must not be changed afterwards.
            lane: The lane of the message.
        """
        cell = self.cell
        delivery = cell.mailbox.put_nowait(message, lane, parent=cell.here(), is_system=True)
        if delivery is not _ACCEPTED:
            cell.note_refused(message, lane, delivery)
        return delivery

    async def ask(
        self,
        request: AcceptedRequest[M, R],
        *,
        timeout_s: float = ASK_TIMEOUT_S,
        lane: Lane = _NEXT,
        size_bytes: int = 0,
        cascade: bool = False,
    ) -> R:
        """Send a request and wait for its answer.

        If the caller is cancelled, a request that has not begun is withdrawn: a dead letter `withdrawn`. If the timeout
        expires first, a request that has not begun is never run: a dead letter `expired` when its turn would come. An ask
        that would deadlock, because the target waits for the caller, is refused.

        Args:
            request: The message; its type determines the type of the answer.
            timeout_s: Seconds; `math.inf` for no limit.
            lane: The lane of the message.
            size_bytes: Its size, counted against the byte capacity of the mailbox.
            cascade: True if cancelling the ask also aborts the turn that handles it.

        Raises:
            AskCycle: The actor waits, directly or through others, for the turn that asks; nothing was sent.
            AskTimedOut: No answer came in time.
            ActorEnded: The actor is gone, or ended before it answered.
            TurnFailed: Its handler raised, or returned without `ctx.reply()`.
            TurnKilled: Its turn was aborted, or the actor killed.
            Undelivered: The mailbox was full.
        """
        if not timeout_s >= 0:
            raise UsageError(f"timeout_s must be 0 or more, got {timeout_s!r}")
        cell = self.cell
        slot = ReplySlot()
        here = current_of(cell.shared)
        parent = here.seq if here is not None else 0
        waiter = waiter_of(here)
        if waiter is not None:
            waiter.refuse_cycle(cell)
        delivery: Delivery = cell.mailbox.put_nowait(request, lane, size_bytes, parent, slot)
        if delivery is not _ACCEPTED:
            cell.note_refused(request, lane, delivery)
            await checkpoint()
            if delivery is Delivery.CLOSED:
                raise ActorEnded(cell.id, cell.state.value, path=cell.path)
            raise Undelivered(cell.id, delivery.value, path=cell.path)
        envelope = cell.mailbox.newest(lane)
        timer = cell.shared.timers.after(timeout_s, lambda: slot.fail(AskTimedOut(cell.id, timeout_s, path=cell.path)))
        try:
            answer: R = await wait_on(waiter, cell, slot)
            return answer
        finally:
            timer.cancel()
            if slot.is_withdrawn:
                self._withdraw(envelope, cascade=cascade)

    def _withdraw(self, envelope: Envelope[Any], *, cascade: bool) -> None:
        """Withdraw an ask whose asker was cancelled."""
        cell = self.cell
        if cell.turn.envelope is not envelope:
            cell.mailbox.withdraw(envelope, is_known=True, parent=cell.here())
        elif cascade:
            self.abort_turn(cell.turn.token, why="the asker was cancelled")

    def still_waiting(self, messages: Iterable[M]) -> list[M]:
        """Return the messages (compared by identity) that are still queued: not postponed, and not taken by a turn."""
        waiting = {id(envelope.message) for envelope in self.cell.mailbox.lanes.waiting()}
        return [message for message in messages if id(message) in waiting]

    def withdraw(self, message: M) -> bool:
        """Withdraw a queued message (found by identity, in linear time): it becomes a dead letter `withdrawn`.

        Returns:
            True if it was still queued; False if a turn has taken it.
        """
        cell = self.cell
        for envelope in cell.mailbox.lanes.waiting():
            if envelope.message is message and envelope.reply is None:
                return cell.mailbox.withdraw(envelope, is_known=True, parent=cell.here())
        return False

    # --- ends ------------------------------------------------------------------------------------------------------

    def abort_turn(self, token: tuple[str, int, int] | None = None, *, why: str = "aborted") -> AbortResult:
        """Abort the current turn; the actor lives on and takes its next message.

        An abort of an idle actor has no effect, now or later.

        Args:
            token: The turn to abort (`ctx.turn.token`); by default the current one.
            why: The recorded reason.
        """
        cell = self.cell
        if token is not None and token != cell.turn.token:
            return AbortResult(cell, AbortStatus.STALE)
        if cell.turn.envelope is None:
            return AbortResult(cell, AbortStatus.STALE if token is not None else AbortStatus.IDLE)
        if cell.turn.scope is None:  # a plain function on the dispatcher
            return AbortResult(cell, AbortStatus.IDLE)
        if cell.turn.is_committing:
            return AbortResult(cell, AbortStatus.TOO_LATE)
        cell.turn.request_abort(cell.cause(why))
        return AbortResult(cell, AbortStatus.ABORTED)

    def stop(self, *, grace_s: float | None = None, why: str = "stopped") -> None:
        """Stop the actor after its current turn; queued messages become dead letters.

        Args:
            grace_s: Seconds for that turn; then it is aborted, then the actor is killed. By default from its spec.
            why: The recorded reason.
        """
        if grace_s is not None:
            _check_grace(grace_s)
        cell = self.cell
        cell.cancel_restart()
        cell.owner.stop_child(cell, grace_s, cell.cause(why))

    def drain(self, *, grace_s: float = DRAIN_S, why: str = "drained") -> None:
        """Stop accepting messages, process what is queued, then stop; `tell` returns `closed` from now on.

        If a turn fails meanwhile, the actor is restarted as usual, and the next incarnation continues to drain. Returns
        immediately; use `wait_ended()` to wait.

        Args:
            grace_s: Seconds for all queued messages; then the actor is stopped as by `stop()`.
            why: The recorded reason.
        """
        _check_grace(grace_s)
        cell = self.cell
        cell.owner.drain_child(cell, grace_s, cell.cause(why))

    def kill(self, why: str = "killed") -> None:
        """Kill the actor: cancel its turn, and allow the kill grace for clean-up. It is not restarted."""
        cell = self.cell
        cell.cancel_restart()
        cell.request_kill(cell.cause(why))

    def watch(self, callback: Callable[[Down], None]) -> Subscription:
        """Call `callback` once when the actor has terminated; immediately if it already has.

        The callback runs in the step of the end: it may set flags and wake tasks, not wait or raise. If it does raise, the
        error is recorded as `watch.failed`. An actor that wants a signal in its own mailbox calls `ctx.watch(ref)`.
        """
        return self.cell.watch(callback)

    async def wait_ended(self) -> Down:
        """Wait until the actor has terminated and return how it ended."""
        cell = self.cell
        down: Down = await wait_on(waiter_of(current_of(cell.shared)), cell, cell.subscribe(Subscription(cell.path)))
        return down

    # --- inspection and suspension, without a message -----------------------------------------------------------------

    def suspend(self, *, why: str = "suspended") -> None:
        """Suspend the actor: it takes no messages from any lane; its current turn continues. No effect if it has ended.

        Messages queue up in its mailbox. Stop, kill and abort are not messages and work as usual. The next incarnation is
        not suspended. The pending decisions of a suspended supervisor wait, too.
        """
        self.cell.suspend(self.cell.cause(why))

    def resume(self, *, why: str = "resumed") -> None:
        """Resume a suspended actor: it takes its messages in their usual order. No effect if it is not suspended."""
        self.cell.suspend(self.cell.cause(why), is_suspended=False)

    @property
    def is_suspended(self) -> bool:
        """True if the actor is suspended."""
        return self.cell.life.is_suspended

    def get_state(self) -> Any:
        """Return the behavior's `snapshot()`, taken in this step; None between two incarnations.

        By default a dict of its public attributes: the objects themselves, which must not be changed. An error of the hook
        propagates.
        """
        behavior = self.cell.life.behavior
        state = behavior.snapshot() if behavior is not None else None
        if inspect.isawaitable(state):
            if inspect.iscoroutine(state):
                state.close()
            raise UsageError(f"{self.cell.behavior_name}.snapshot() must be a plain function, got an async one")
        return state

    @property
    def state(self) -> State:
        """The state of the current incarnation."""
        return self.cell.state

    @property
    def is_gone(self) -> bool:
        """True if the actor has terminated."""
        return self.cell.is_gone

    @property
    def is_busy(self) -> bool:
        """True if a turn is running."""
        return self.cell.turn.envelope is not None

    def statistics(self) -> MailboxStatistics:
        """Return the statistics of its mailbox."""
        return self.cell.mailbox.statistics()

    def pinned(self) -> PinnedRef[M]:
        """Return a reference to the current incarnation only."""
        return PinnedRef(self.cell, self.cell.incarnation)


@final
@attrs.define(eq=False, repr=False)
class PinnedRef(Generic[M]):
    """A reference to one incarnation: its messages never reach another one."""

    _cell: Cell[Any]
    incarnation: int

    def __repr__(self) -> str:
        return f"<PinnedRef {self._cell.path!r} inc={self.incarnation}>"

    @property
    def is_current(self) -> bool:
        """True if this incarnation is the current one and has not ended."""
        cell = self._cell
        return cell.incarnation == self.incarnation and cell.state not in TERMINAL

    def tell(self, message: M, lane: Lane = _NEXT, *, size_bytes: int = 0) -> Delivery:
        """Send a message to this incarnation; it becomes a dead letter if the incarnation has ended or ends first."""
        if self.is_current:
            delivery = Ref[M](self._cell).tell(message, lane, size_bytes=size_bytes)
            if delivery is _ACCEPTED:
                self._cell.mailbox.pin_last(lane)
            return delivery
        self._cell.note_refused(message, lane, Delivery.CLOSED)
        return Delivery.CLOSED

    def watch(self, callback: Callable[[Down], None]) -> Subscription:
        """Call `callback` once when this incarnation ends; immediately if it has ended, one tick later in such a callback.

        The full details are kept for the last 8 restarted incarnations.
        """
        return self._cell.watch(callback, self.incarnation)
