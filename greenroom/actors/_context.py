"""What a behavior is handed with each message: who it is, what it may do within this turn and within its life."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple, final

import trio

from greenroom.actors._behavior import Behavior, is_plain, is_simple
from greenroom.actors._cell import Cell
from greenroom.actors._later import SendTimer, end_timers
from greenroom.actors._links import Link, make_link
from greenroom.actors._outbox import enter, poll_now, postpone, refuse_postponed, reserve, set_timer, state_in
from greenroom.actors._ref import Ref, cell_of
from greenroom.actors._signals import Signal
from greenroom.actors._waits import waiter_of
from greenroom.actors._watch import Hearing, Watch
from greenroom.core import Cause, Recorder, UsageError
from greenroom.mailbox import Delivery, Envelope, Lane, Lease, MailboxStatistics
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._directory import Directory

_TAKEN: Final = "_is_taken"
"""Marks what a factory made and an incarnation has."""

D = TypeVar("D")
M = TypeVar("M")
Ts = TypeVarTuple("Ts")


@final
class Turn:
    """The current turn. One object serves an incarnation; it always speaks of the turn that runs."""

    __slots__ = ("_cell", "nursery")

    def __init__(self, cell: Cell[Any]) -> None:
        self._cell = cell
        self.nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        return f"<Turn {self.token!r}>"

    @property
    def token(self) -> tuple[str, int, int]:
        """Names this turn for `abort_turn`: id, incarnation, number."""
        return self._cell.token

    @property
    def is_aborting(self) -> bool:
        """Whether somebody asked for the end of this turn, or of the actor."""
        return self._cell.abort_cause is not None or self._cell.kill_cause is not None

    @property
    def cause(self) -> Cause | None:
        """Who asked for the end of this turn, or of the actor, and why; None if nobody did."""
        return self._cell.kill_cause or self._cell.abort_cause

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts, name: object = None) -> None:
        """Start a Trio task that ends with this turn: cancelled when the handler returns, and when the turn is aborted.

        Its failure fails the turn.

        Raises:
            UsageError: The behavior does not declare `turn_tasks = True`.
        """
        if self.nursery is None:
            raise UsageError(
                f"{self._cell.behavior_name} starts a task in a turn; declare `turn_tasks = True` in the class"
            )
        self.nursery.start_soon(function, *args, name=name)

    def link(self, ref: Ref[Any]) -> Link:
        """Tie an actor to this turn: the turn does not end before that actor has, whoever its supervisor is.

        While the handler runs, `await link.wait()` tells how the actor ended, and `link.unlink()` lets it go on without
        the turn. If the turn ends first in any way (return, error, abort, kill), the actor is killed in the same step,
        with what is linked below it; the turn then waits for its end, shielded and within its grace, and only then
        begins the grace of this actor. An actor that ends within neither is put on record as unresponsive, and left.

        Raises:
            UsageError: The behavior does not declare `turn_tasks = True`, or it lives under that actor.
            AskCycle: That actor waits for this one, directly or through others.
        """
        if self.nursery is None:
            raise UsageError(f"{self._cell.behavior_name} links an actor; declare `turn_tasks = True` in the class")
        return make_link(self._cell, cell_of(ref), self.nursery)


@final
class Context:
    """What an actor may do. One object serves one incarnation; kept beyond its end it only answers questions."""

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
        """The actor's readable place in the tree."""
        return self._cell.path

    @property
    def incarnation(self) -> int:
        """1 after the first start, one more after each restart."""
        return self._cell.incarnation

    @property
    def is_ending(self) -> bool:
        """Whether somebody asked for the end of this incarnation: it takes no turn after the one that runs."""
        return self._cell.stop_cause is not None or self._cell.kill_cause is not None

    @property
    def recorder(self) -> Recorder:
        """Where events of the runtime go."""
        return self._cell.recorder

    @property
    def seq(self) -> int:
        """Number of the event that explains what runs now; the `parent` of events that it causes."""
        return self._cell.seq

    @property
    def directory(self) -> Directory:
        """What leads where, and the dead letters."""
        return self._cell.shared.directory

    def reply(self, value: object) -> None:
        """Answer the request of this turn; it goes out with the commit.

        Raises:
            UsageError: The message was not sent with `ask`, or it was answered already.
        """
        cell = self._own_cell()
        if cell.envelope is None or cell.envelope.reply is None:
            raise UsageError("ctx.reply() answers an ask, and this message was told")
        if cell.answer is not NOTHING:
            raise UsageError("ctx.reply() was called twice for one ask")
        refuse_postponed(cell, "ctx.reply()")
        cell.answer = value

    def acknowledge(self) -> None:
        """Let go of this turn's message before the turn ends; neither abort nor crash will see it again.

        For turns that keep what was said somewhere safer, as an agent does in its transcript.
        """
        cell = self._own_cell()
        if cell.envelope is not None and not cell.is_acked:
            refuse_postponed(cell, "ctx.acknowledge()")
            cell.mailbox.ack(cell.envelope)
            cell.is_acked = True

    # --- states ----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Hashable:
        """The state that was entered last, this turn's included; None at the start of every incarnation."""
        return state_in(self._cell)

    def enter(self, state: Hashable) -> None:
        """Be in another state from the commit of this turn on; at once where no turn runs, as in `on_start`.

        What was postponed then comes back to the front of its lanes, in the order in which it was put. The state that
        the actor is in already is no change. A turn that fails or is aborted changes no state.

        Args:
            state: A frozen value with a hash and a short `repr`, which goes on record; best an enum.

        Raises:
            UsageError: The value has no hash.
        """
        enter(self._own_cell(), state)

    def postpone(self) -> None:
        """Let this turn's message come back in another state: to the front of its lane, before what is newer.

        The turn goes on, and completes without an acknowledgement. Meanwhile the message keeps its place of the capacity;
        an ask stays unanswered, with its deadline. A restart of the actor counts as another state.

        Raises:
            StashFull: `mailbox.stash_capacity` messages are postponed. Unless it is caught, the turn fails, and the
                message is a dead letter `stash_overflow`.
            UsageError: No turn runs, or its message was answered or acknowledged.
        """
        postpone(self._own_cell())

    # --- what is sent later ----------------------------------------------------------------------------------------

    def send_after(
        self, delay_s: float, message: object, *, lane: Lane = Lane.NEXT, for_state: bool = False
    ) -> SendTimer:
        """Send the actor itself a message in `delay_s` seconds, at most 1/64 s late, unless the timer is cancelled.

        A timer that is set in a turn runs from its commit on, counted from this call, and not at all if the turn fails or
        is aborted. It ends with the incarnation, with what it has queued. Messages of timers take no place of the
        capacity. Those that fall due together come in the order in which they were set.

        Args:
            delay_s: Seconds by the run's clock.
            message: It must not be changed afterwards.
            lane: Where it waits.
            for_state: Whether it ends with the state that this turn leaves the actor in, with what it has queued.
        """
        timer = SendTimer(self._own_cell(), delay_s, message, lane, None, for_state=for_state)
        return set_timer(self._cell, timer)

    def send_every(
        self, period_s: float, message: object, *, lane: Lane = Lane.NEXT, for_state: bool = False
    ) -> SendTimer:
        """Send the actor itself a message every `period_s` seconds, for the first time after one period.

        As `send_after`. While one of them waits no further one is sent, so that a slow actor is not buried by its timer;
        the next one comes in step with the first.
        """
        timer = SendTimer(self._own_cell(), period_s, message, lane, period_s, for_state=for_state)
        return set_timer(self._cell, timer)

    def tell_on_commit(self, ref: Ref[D], message: D, *, lane: Lane = Lane.NEXT, size_bytes: int = 0) -> Delivery:
        """Send a message with the commit of this turn, in the order of these calls; not at all if the turn does not finish.

        Its place in the other mailbox is reserved now, and counts there, so that `accepted` holds. If the other actor is
        gone by the time of the commit, the message is a dead letter `ended`.

        Raises:
            UsageError: No turn runs, or the message is larger than the byte capacity of that mailbox.
        """
        return reserve(self._own_cell(), cell_of(ref), message, lane, size_bytes)

    def poll_now(self) -> Any:
        """Take the next message or signal of lane `now` in the middle of a turn; None when none waits.

        It shares the fate of this turn's message: acknowledged with the commit, else as the behavior's `unfinished` says.
        An ask is left where it is, because it needs a turn that answers it. A suspended actor gets none.

        Raises:
            UsageError: No turn runs.
        """
        return poll_now(self._own_cell())

    def _own_cell(self) -> Cell[Any]:
        if self._cell.context is not self:
            raise UsageError(f"this context is of an incarnation of {self._cell.path!r} that has ended")
        return self._cell

    # --- mail and watches ------------------------------------------------------------------------------------------

    @property
    def has_mail(self) -> bool:
        """Whether anything waits in the actor's own mailbox that it may take; nothing while it is suspended."""
        return not (self._cell.is_suspended or self._cell.mailbox.is_empty)

    async def wait_mail(self) -> None:
        """Wait, in the middle of a turn, until something is put into the actor's own mailbox; may return without that.

        Look with `pick` or `drain` before and after. What comes stays where it is.

        Raises:
            UsageError: No turn runs, or this is a task that may outlive it (`ctx.start_soon`).
            Busy: Another task of the actor waits already.
        """
        cell = self._own_cell()
        if not cell.is_busy or waiter_of(cell) is None:
            raise UsageError(f"{cell.path!r} waits for mail outside of a turn; its next turn begins with what comes")
        await cell.mailbox.park()

    def drain(self, of: type[D], limit: int, *, lanes: Iterable[Lane] = tuple(Lane)) -> Lease[D]:
        """Lease up to `limit` messages of one class that wait in the actor's own mailbox; the caller acknowledges them.

        They come lane by lane; whatever else waits stays where it is. An ask is never drained, because it needs a turn
        that answers it; neither is a signal. A suspended actor gets none. What is still leased when the incarnation ends
        goes back to its lane.
        """

        def is_wanted(envelope: Envelope[Any]) -> bool:
            message = envelope.message
            return envelope.reply is None and isinstance(message, of) and not isinstance(message, Signal)

        cell = self._own_cell()
        return cell.mailbox.drain_nowait(0 if cell.is_suspended else limit, lanes=lanes, wanted=is_wanted)

    def pick(self, plan: Callable[[Sequence[Envelope[Any]]], Iterable[Envelope[Any]]]) -> Lease[Any]:
        """Lease what a plan chooses of what waits in the actor's own mailbox; the caller acknowledges it.

        For who takes more than `drain` can say, such as the front of a lane only. As there, an ask or a signal is never
        leased, a suspended actor gets nothing, and what is still leased when the incarnation ends goes back to its lane.

        Args:
            plan: Given all that waits save signals, lane by lane; it only reads, and returns some of it.
        """
        mailbox = self._own_cell().mailbox
        waiting = [] if self._cell.is_suspended else mailbox.waiting()
        if not waiting:  # as at nearly every turn of an agent
            return mailbox.drain_nowait(0)
        chosen = {one.number for one in plan([one for one in waiting if not isinstance(one.message, Signal)])}

        def is_wanted(envelope: Envelope[Any]) -> bool:
            return envelope.number in chosen and envelope.reply is None

        return mailbox.drain_nowait(len(chosen), wanted=is_wanted)

    def mailbox_statistics(self) -> MailboxStatistics:
        """Return the state of the actor's own mailbox."""
        return self._cell.mailbox.statistics()

    def watch(self, ref: Ref[Any]) -> Watch:
        """Get one `Down` as a signal when `ref` is gone for good; at once when it is.

        The watch ends with this incarnation: the next one watches what it wants to hear of itself.
        """
        watch = ref.watch(Hearing(self._own_cell().mailbox))
        if watch.is_open:
            if self._watches is None:
                self._watches = {}
            watch.join(self._watches)
        return watch

    def close(self) -> None:
        """Let go of what belongs to this incarnation."""
        end_timers(self._cell)
        for watch in list(self._watches or ()):
            watch.leave()

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts, name: object = None) -> None:
        """Start a Trio task that lives as long as this incarnation; its failure fails the actor.

        Raises:
            UsageError: The behavior does not declare `actor_tasks = True`.
        """
        if self.nursery is None:
            raise UsageError(
                f"{self._cell.behavior_name} starts a task of its own; declare `actor_tasks = True` in the class"
            )
        self.nursery.start_soon(function, *args, name=name)


def make_context(cell: Cell[M]) -> Behavior[M]:
    """Make the behavior and the context of a new incarnation; returns the behavior.

    Raises:
        UsageError: The factory made something else than it says, something that waits, or cleans up, where it says otherwise, or
            what another incarnation has already.
    """
    behavior = cell.factory()
    made, said = type(behavior), cell.behavior_class
    if not isinstance(behavior, said):
        if isinstance(behavior, Coroutine):
            behavior.close()
        raise UsageError(
            f"a factory that says it makes {said.__name__} returned {behavior!r}; return a new {said.__name__}"
        )
    factory: Any = cell.factory
    while isinstance(factory, functools.partial):
        factory = factory.func
    if not isinstance(factory, type):  # a class makes a new one each time
        if _TAKEN in vars(behavior):
            raise UsageError(f"a factory returned the same {made.__name__} twice; make one for each actor and restart")
        vars(behavior)[_TAKEN] = True
    if made is not said and ((cell.is_plain and not is_plain(made)) or (cell.is_simple and not is_simple(made))):
        raise UsageError(
            f"a factory that says it makes {said.__name__} made {made.__name__}, which needs more than that one; "
            f"annotate it with `-> {made.__name__}`"
        )
    cell.behavior = behavior
    cell.context = Context(cell)
    return behavior
