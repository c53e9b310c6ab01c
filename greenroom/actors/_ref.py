"""The address of an actor, and what can be asked of whoever lives there."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar, final

from trio.lowlevel import checkpoint

from greenroom.actors._behavior import Request
from greenroom.actors._cell import CURRENT, Cell, current_of
from greenroom.actors._lifecycle import TERMINAL, Outcome, State
from greenroom.actors._looking import resume, state_of, suspend
from greenroom.actors._signals import Down
from greenroom.actors._waits import refuse_cycle, wait_on, waiter_of
from greenroom.actors._watch import Watch, watch_cell
from greenroom.core import ActorEnded, AskTimedOut, Cause, Undelivered, UsageError
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane, MailboxStatistics
from greenroom.waiting import ReplySlot

M = TypeVar("M", contravariant=True)
R = TypeVar("R")

ASK_TIMEOUT_S: Final = 30.0
"""How long an ask waits unless told otherwise (DESIGN 12.8)."""

DRAIN_S: Final = 30.0
"""How long an actor may take to handle what waits for it, unless told otherwise."""

_ACCEPTED: Final = Delivery.ACCEPTED
_CLOSED: Final = Delivery.CLOSED
_NEXT: Final = Lane.NEXT


class AbortStatus(StrEnum):
    """What became of a request to abort a turn."""

    ABORTED = "aborted"
    """The request came before the commit; `wait_ended()` tells how the turn ended."""
    STALE = "stale"
    """The turn that was named is over."""
    IDLE = "idle"
    """No turn runs, or one that cannot be interrupted."""
    TOO_LATE = "too_late"
    """The turn is committing."""


@final
class AbortResult:
    """The answer to `abort_turn`."""

    __slots__ = ("_cell", "_end", "status")

    def __init__(self, cell: Cell[Any], status: AbortStatus) -> None:
        self._end = cell.turn_end()
        self._cell = cell
        self.status = status

    def __repr__(self) -> str:
        return f"<AbortResult {self.status} of {self._cell.path!r}>"

    async def wait_ended(self) -> Outcome:
        """Wait for the turn that ran at the request to end and return how it did; if none ran, how the last one did."""
        slot = ReplySlot()
        self._end.tell(slot.answer)
        outcome: Outcome = await wait_on(waiter_of(current_of(self._cell.shared)), self._cell, slot)
        return outcome


def _settle(slot: ReplySlot, down: Down) -> None:
    slot.answer(down)


def _check_grace(grace_s: float) -> None:
    if not 0 <= grace_s < math.inf:
        raise UsageError(f"grace_s has to be a number of seconds, not {grace_s!r}")


def cell_of(ref: Ref[Any]) -> Cell[Any]:
    """Return the record behind an address, for the rest of this folder."""
    return ref._cell


def _say(cell: Cell[Any], why: str) -> Cause:
    current = current_of(cell.shared)
    return Cause(current.id if current is not None else "host", why)


@final
class Ref(Generic[M]):
    """The address of an actor; it follows restarts, as the mailbox does. Made by spawning."""

    __slots__ = ("_cell",)

    def __init__(self, cell: Cell[Any]) -> None:
        self._cell = cell

    def __repr__(self) -> str:
        return f"<Ref {self._cell.path!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other._cell is self._cell

    def __hash__(self) -> int:
        return hash(self._cell.id)

    @property
    def id(self) -> str:
        """The actor's id; never used again."""
        return self._cell.id

    @property
    def path(self) -> str:
        """The actor's readable place in the tree."""
        return self._cell.path

    # --- messages --------------------------------------------------------------------------------------------------

    def tell(self, message: M, lane: Lane = _NEXT, *, size_bytes: int = 0) -> Delivery:
        """Send a message now and say what became of it; never waits.

        Args:
            message: It must not be changed afterwards.
            lane: `now` is never refused for want of room, and aborts nothing by itself.
            size_bytes: What it counts against the byte capacity of the mailbox.
        """
        cell = self._cell
        here = CURRENT.get()
        # As in current_of, without its call: this is the hot path.
        parent = here.seq if here is not None and here.shared is cell.shared else 0
        delivery: Delivery = cell.mailbox.deliver(message, lane, size_bytes, parent, None, False)  # noqa: FBT003
        if delivery is not _ACCEPTED:
            reason = DeadReason.ENDED if delivery is _CLOSED else DeadReason.FULL
            cell.shared.directory.refused(cell, message, lane, reason)
        return delivery

    def notify(self, message: M, lane: Lane = Lane.LATER) -> Delivery:
        """Send a notice of the runtime: it takes no place of the capacity, so it is never refused for want of room.

        Args:
            message: It must not be changed afterwards.
            lane: Where it waits.
        """
        cell = self._cell
        current = current_of(cell.shared)
        delivery = cell.mailbox.put_nowait(
            message, lane, parent=current.seq if current is not None else 0, is_system=True
        )
        if delivery is not _ACCEPTED:
            cell.shared.directory.refused(cell, message, lane, DeadReason.ENDED)
        return delivery

    async def ask(
        self,
        request: Request[R],
        *,
        timeout_s: float = ASK_TIMEOUT_S,
        lane: Lane = _NEXT,
        size_bytes: int = 0,
        cascade: bool = False,
    ) -> R:
        """Send a request and wait for its answer.

        Cancelled, the request is taken back at once if it has not begun: a dead letter `withdrawn`. Out of time, it is not
        run any more if it has not begun, and `expired` when its turn would come. Two actors that wait for each
        other would wait for ever, and so would a longer circle: the ask that would close one is refused.

        Args:
            request: The message; its type says what comes back.
            timeout_s: Seconds; no limit has to be written as `math.inf`.
            lane: Where it waits.
            size_bytes: What it counts against the byte capacity of the mailbox.
            cascade: Whether a cancelled ask that has begun aborts the turn that handles it.

        Raises:
            AskCycle: The actor waits for the turn that asks, directly or through others; nothing was sent.
            AskTimedOut: No answer came in time.
            ActorEnded: The actor is gone, or ended before it answered.
            TurnFailed: Its handler raised, or returned without `ctx.reply()`.
            TurnKilled: Its turn was aborted, or the actor killed.
            Undelivered: The mailbox was full.
        """
        if not timeout_s >= 0:
            raise UsageError(f"timeout_s has to be 0 or more, not {timeout_s!r}")
        cell = self._cell
        slot = ReplySlot()
        here = current_of(cell.shared)
        parent = here.seq if here is not None else 0
        waiter = waiter_of(here)
        if waiter is not None:
            refuse_cycle(waiter, cell)
        delivery = cell.mailbox.put_nowait(request, lane, size_bytes=size_bytes, parent=parent, reply=slot)
        if delivery is not _ACCEPTED:
            reason = DeadReason.ENDED if delivery is _CLOSED else DeadReason.FULL
            cell.shared.directory.refused(cell, request, lane, reason)
            await checkpoint()
            if delivery is _CLOSED:
                raise ActorEnded(cell.id, cell.state.value, path=cell.path)
            raise Undelivered(cell.id, delivery.value, path=cell.path)
        envelope = cell.mailbox.last(lane)

        def expire() -> None:
            slot.fail(AskTimedOut(cell.id, timeout_s, path=cell.path))

        timer = cell.shared.timers.after(timeout_s, expire)
        try:
            answer: R = await wait_on(waiter, cell, slot)
            return answer
        finally:
            timer.cancel()
            if slot.is_withdrawn:
                self._withdraw(envelope, cascade=cascade)

    def _withdraw(self, envelope: Envelope[Any], *, cascade: bool) -> None:
        """Take an ask back that nobody waits for any more; its slot was open until now, so it is not over."""
        cell = self._cell
        if cell.envelope is not envelope:
            cell.mailbox.withdraw(envelope, is_known=True, parent=cell.here())
        elif cascade:
            self.abort_turn(cell.token, why="the asker was cancelled")

    def still_waiting(self, messages: Iterable[M]) -> list[M]:
        """Return those of these very objects that wait in the actor's mailbox: not postponed, nor in the hands of a turn."""
        waiting = {id(one.message) for one in self._cell.mailbox.waiting()}
        return [one for one in messages if id(one) in waiting]

    def withdraw(self, message: M) -> bool:
        """Take this very object back that was told and still waits: a dead letter `withdrawn`. Looks for it.

        Returns:
            Whether it was there; False once a turn has it.
        """
        cell = self._cell
        for envelope in cell.mailbox.waiting():
            if envelope.message is message and envelope.reply is None:
                return cell.mailbox.withdraw(envelope, is_known=True, parent=cell.here())
        return False

    # --- ends ------------------------------------------------------------------------------------------------------

    def abort_turn(self, token: tuple[str, int, int] | None = None, *, why: str = "aborted") -> AbortResult:
        """End the current work only; the actor lives on and takes its next message.

        Nothing is remembered: an abort of an idle actor does nothing, then or later.

        Args:
            token: Names the turn that is meant (`ctx.turn.token`); by default the current one.
            why: The reason that is recorded.
        """
        cell = self._cell
        if token is not None and token != cell.token:
            return AbortResult(cell, AbortStatus.STALE)
        if not cell.is_busy:
            return AbortResult(cell, AbortStatus.STALE if token is not None else AbortStatus.IDLE)
        if cell.turn_scope is None:  # a plain function on the dispatcher
            return AbortResult(cell, AbortStatus.IDLE)
        if cell.is_committing:
            return AbortResult(cell, AbortStatus.TOO_LATE)
        cell.request_abort(_say(cell, why))
        return AbortResult(cell, AbortStatus.ABORTED)

    def stop(self, *, grace_s: float | None = None, why: str = "stopped") -> None:
        """Let the actor finish its current turn and end; what waits in its mailbox becomes dead letters.

        Args:
            grace_s: Seconds for that turn; then it is aborted, then the actor killed. By default as it was spawned with.
            why: The reason that is recorded.
        """
        if grace_s is not None:
            _check_grace(grace_s)
        cell = self._cell
        cell.forswear()
        cell.owner.stop_child(cell, grace_s, _say(cell, why))

    def drain(self, *, grace_s: float = DRAIN_S, why: str = "drained") -> None:
        """Let the actor take nothing new, handle what waits in its mailbox, and end; `tell` answers `closed` from now on.

        A turn that fails meanwhile is followed by a restart as ever, and the next incarnation goes on draining. Returns at
        once; `wait_ended()` waits.

        Args:
            grace_s: Seconds for all of it; then it is stopped as by `stop()`.
            why: The reason that is recorded.
        """
        _check_grace(grace_s)
        cell = self._cell
        cell.owner.drain_child(cell, grace_s, _say(cell, why))

    def kill(self, why: str = "killed") -> None:
        """End the actor now: its turn is cancelled, its clean-up has the kill grace. It is not restarted."""
        cell = self._cell
        cell.forswear()
        cell.request_kill(_say(cell, why))

    def watch(self, callback: Callable[[Down], None]) -> Watch:
        """Call `callback` once when the actor is gone for good; at once when it is.

        The callback runs in the step of the end: it may flag and wake, not wait or raise. What it raises all the same
        ends nobody and is on record as `watch.failed`. An actor that wants a signal in its own mailbox calls
        `ctx.watch(ref)`.
        """
        return watch_cell(self._cell, callback)

    async def wait_ended(self) -> Down:
        """Wait until the actor is gone for good and return how it ended."""
        slot = ReplySlot()
        watch = self.watch(functools.partial(_settle, slot))
        try:
            down: Down = await wait_on(waiter_of(current_of(self._cell.shared)), self._cell, slot)
            return down
        finally:
            watch.cancel()

    # --- looking and holding, without a message (DESIGN 12.9) --------------------------------------------------------

    def suspend(self, *, why: str = "suspended") -> None:
        """Let the actor take no further message, in no lane; its current turn goes on. Nothing happens when it has ended.

        What it is sent waits in its mailbox. Stop, kill and abort are no messages and work as ever. The next
        incarnation is not suspended. A suspended supervisor leaves its decisions waiting too.
        """
        suspend(self._cell, _say(self._cell, why))

    def resume(self, *, why: str = "resumed") -> None:
        """Let the actor take messages again, in the order in which it would have; nothing happens when it does."""
        resume(self._cell, _say(self._cell, why))

    @property
    def is_suspended(self) -> bool:
        """Whether it takes no further message."""
        return self._cell.is_suspended

    def get_state(self) -> Any:
        """Return what the behavior's `snapshot()` hook says, read in this step; None between two incarnations.

        By default a dict of its public attributes: the objects themselves, which must not be changed. What the hook
        raises leaves this call.
        """
        return state_of(self._cell)

    @property
    def state(self) -> State:
        """The state of the current incarnation."""
        return self._cell.state

    @property
    def is_gone(self) -> bool:
        """Whether the actor has ended for good."""
        return self._cell.is_gone

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self._cell.is_busy

    def statistics(self) -> MailboxStatistics:
        """Return the state and the counters of its mailbox."""
        return self._cell.mailbox.statistics()

    def pinned(self) -> PinnedRef[M]:
        """Return the address of the current incarnation only."""
        return PinnedRef(self._cell, self._cell.incarnation)


@final
class PinnedRef(Generic[M]):
    """The address of one incarnation: nothing that is sent to it reaches another one."""

    __slots__ = ("_cell", "incarnation")

    def __init__(self, cell: Cell[Any], incarnation: int) -> None:
        self._cell = cell
        self.incarnation = incarnation

    def __repr__(self) -> str:
        return f"<PinnedRef {self._cell.path!r} inc={self.incarnation}>"

    @property
    def is_current(self) -> bool:
        """Whether this incarnation is the one that lives."""
        cell = self._cell
        return cell.incarnation == self.incarnation and cell.state not in TERMINAL

    def tell(self, message: M, lane: Lane = _NEXT, *, size_bytes: int = 0) -> Delivery:
        """Send a message to this incarnation; to a past one it is a dead letter, as it is when this one ends first."""
        if self.is_current:
            delivery = Ref[M](self._cell).tell(message, lane, size_bytes=size_bytes)
            if delivery is _ACCEPTED:
                self._cell.mailbox.pin_last(lane)
            return delivery
        self._cell.shared.directory.refused(self._cell, message, lane, DeadReason.ENDED)
        return _CLOSED

    def watch(self, callback: Callable[[Down], None]) -> Watch:
        """Call `callback` once when this incarnation ends; at once when it has, one tick later in such a callback.

        How it ended is known in full of the last 8 incarnations that were restarted.
        """
        return watch_cell(self._cell, callback, self.incarnation)
