"""The record of an actor across its incarnations: identity, mailbox, owner, subscriptions to its end.

Rule 1: a step is synchronous, so nobody sees half of it. Rule 2: a request stores its cause before it cancels anything;
the first cause wins. Rule 3: an incarnation ends in this order: terminal event, leases, verdict of the supervisor; an actor
terminates in this order: mailbox, asks, name, Downs.
Must not know: how turns are run (`_loop`, `_dispatcher`), restart strategies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, Generic, TypeVar, final

import attrs
import trio
from trio.lowlevel import checkpoint

from greenroom.actors._directory import DeadLetter, Directory
from greenroom.actors._events import (
    ActorCreated,
    ActorExited,
    ActorGone,
    ActorResumed,
    ActorSuspended,
    AskRefused,
    DrainRequested,
    KillOverran,
    KillRequested,
    NameRegistered,
    NameReleased,
    StopRequested,
    WatchFailed,
)
from greenroom.actors._incarnation import Incarnation, LifeSpec, Owner, Traits
from greenroom.actors._lifecycle import COMPLETED, GONE, Outcome, Verdict, describe
from greenroom.actors._states import EDGE_TO, TERMINAL, State, step
from greenroom.actors._subscription import DOWNS_KEPT, FORGOTTEN, Down, Subscription, cycle_of
from greenroom.actors._turn import Turn
from greenroom.core import ActorEnded, AskCycle, Cause, Event, Level, Recorder
from greenroom.core.texts import stand_in
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane, Mailbox, MessageDied
from greenroom.waiting import TICK_S, Timers

M = TypeVar("M")

CURRENT: Final[ContextVar[Cell[Any] | None]] = ContextVar("greenroom_current_actor", default=None)
"""The actor whose code is running: the cause of what it sends and spawns."""


@final
@attrs.define
class Incidents:
    """Counters of misuse: refused ask cycles, swallowed cancellations, masked errors."""

    refused_cycles: int = 0
    swallowed_cancels: int = 0
    masked_errors: int = 0


@attrs.frozen(kw_only=True)
class ActorContext:
    """Resources shared by the actors of a runtime."""

    recorder: Recorder
    directory: Directory[Cell[Any]]
    timers: Timers
    make_mailbox: Callable[..., Mailbox[Any]] = Mailbox
    """Makes the mailbox of an actor, from the arguments of `Mailbox`."""
    incidents: Incidents = attrs.field(factory=Incidents)
    # Methods of the recorder, bound once per runtime instead of once per use.
    emit: Callable[..., int] = attrs.Factory(lambda self: self.recorder.emit_fields, takes_self=True)
    note: Callable[[tuple[Any, ...]], None] = attrs.Factory(lambda self: self.recorder.note, takes_self=True)
    number: Callable[[], int] = attrs.Factory(lambda self: self.recorder.number, takes_self=True)
    now: Callable[[], float] = attrs.Factory(lambda self: self.recorder.now, takes_self=True)


@final
@attrs.define(kw_only=True, eq=False, repr=False, weakref_slot=False)
class Cell(Generic[M]):
    """One actor, across its incarnations. Created by supervisors; everybody else holds a `Ref`."""

    id: str
    path: str
    """Its path in the tree; empty for the root."""
    is_named: bool
    factory: Callable[[], Any]
    """Returns a new behavior for each incarnation."""
    traits: Traits
    owner: Owner
    shared: ActorContext
    spec: LifeSpec

    mailbox: Mailbox[M] = attrs.field(init=False)
    descent: str = attrs.field(init=False)
    """Id of the actor that spawned it; empty for the host."""
    seq: int = attrs.field(init=False)
    """`seq` of the latest event that explains what this actor does."""
    life: Incarnation = attrs.field(init=False)
    """The current incarnation."""
    poke: Callable[[], None] | None = attrs.field(default=None, init=False)
    """Notifies the dispatcher, for actors without a task."""

    was_ready: bool = attrs.field(default=False, init=False)
    is_gone: bool = attrs.field(default=False, init=False)
    """True if the actor has terminated."""
    is_unwanted: bool = attrs.field(default=False, init=False)
    """True if it must not be restarted, because its end was requested."""
    is_notifying: bool = attrs.field(default=False, init=False)
    """True while a subscription to this actor is being notified."""
    is_drain_noted: bool = attrs.field(default=False, init=False)
    drain_cause: Cause | None = attrs.field(default=None, init=False)
    exit_seq: int = attrs.field(default=0, init=False)
    """`seq` of the last `actor.end` event; 0 before that."""
    ends: tuple[tuple[int, State, Cause | None, BaseException | None, int], ...] = attrs.field(default=(), init=False)
    """Ends of the latest incarnations: number, state, cause, error, `seq`. A `Down` is created for those who ask."""
    failure: BaseException | None = attrs.field(default=None, init=False)
    """The error that ended it before it was ready."""
    subscriptions: dict[Subscription, None] | None = attrs.field(default=None, init=False)
    """Subscriptions to its end."""
    last_turn: Outcome = attrs.field(default=COMPLETED, init=False)
    _changed: trio.Event | None = attrs.field(default=None, init=False)
    """Set when the actor is ready, is held, or has terminated."""

    def __attrs_post_init__(self) -> None:
        self.mailbox = self.shared.make_mailbox(
            self.id,
            policy=self.traits.policy,
            recorder=self.shared.recorder,
            is_traced=self.traits.level >= Level.FULL,
            on_dead=self._on_dead,
        )
        spawner = current_of(self.shared)
        self.descent, self.seq = (spawner.id, spawner.seq) if spawner is not None else ("", 0)
        self._incarnate(1, 0.0)
        if self.path:  # the root has none
            self.shared.directory.register(self.path, self)
            if self.is_named:
                self.record(NameRegistered, self.path, parent=0)

    def __repr__(self) -> str:
        return f"<Cell {self.path!r} {self.state} inc={self.incarnation} turn={self.turn.number}>"

    @property
    def behavior_name(self) -> str:
        """Name of its behavior class, for events and errors."""
        return self.traits.behavior_class.__name__

    @property
    def state(self) -> State:
        """The state of the current incarnation."""
        return self.life.state

    @property
    def incarnation(self) -> int:
        """Number of the current incarnation, from 1."""
        return self.life.number

    @property
    def turn(self) -> Turn:
        """The current turn."""
        return self.life.turn

    @property
    def down(self) -> Down | None:
        """The end of the latest incarnation that has ended."""
        return self._down_of(None) if self.ends else None

    @property
    def end_error(self) -> BaseException:
        """The error with which the latest incarnation ended; call it for one that failed."""
        error = self.ends[-1][3]
        assert error is not None
        return error

    def record(self, event: type[Event], *fields: Any, parent: int | None = None) -> int:
        """Record an event of this actor, by default with its own `seq` as the parent; return the number of the event."""
        above = self.seq if parent is None else parent
        return self.shared.emit(event, self.id, self.life.number, above, *fields)

    def here(self) -> int:
        """Return the `seq` of the event that explains the code that runs now."""
        return current.seq if (current := current_of(self.shared)) is not None else 0

    def cause(self, why: str) -> Cause:
        """Return the cause of a request by the code that runs now."""
        current = current_of(self.shared)
        return Cause(current.id if current is not None else "host", why)

    def note_refused(self, message: Any, lane: Lane, why: Delivery | DeadReason) -> None:
        """Note a message that was not delivered or not handled.

        Its sender is told, but nobody has to look: for a plain actor the 1st, 2nd, 4th, 8th ... refused message goes to the
        journal, so that a flood of them is seen and does not fill the disk.
        """
        reason = why if isinstance(why, DeadReason) else _REASONS[why]
        fields = (self.id, 0, 0, 0, lane.value, type(message).__name__, reason.value, False)
        if self.traits.level > Level.LIFECYCLE or (refused := self.mailbox.statistics().refused) & (refused - 1):
            self.shared.note((self.shared.number(), self.shared.now(), MessageDied, *fields))
        else:
            self.shared.emit(MessageDied, *fields)
        self._note_dead(message, lane, reason)

    def _note_dead(self, message: Any, lane: Lane, reason: DeadReason) -> None:
        self.shared.directory.dead_letters.add(DeadLetter(actor=self.id, message=message, lane=lane, reason=reason))

    def _on_dead(self, envelope: Envelope[M], reason: DeadReason) -> None:
        self._note_dead(envelope.message, envelope.lane, reason)
        if envelope.reply is not None:
            envelope.reply.fail(ActorEnded(self.id, self.state.value, path=self.path))

    # --- incarnations ------------------------------------------------------------------------------------------------

    def renew(self, delay_s: float) -> None:
        """Create the next incarnation: pending, with the old mailbox."""
        self._incarnate(self.life.number + 1, delay_s)

    def _incarnate(self, number: int, delay_s: float) -> None:
        self.life = Incarnation(self, number, delay_s)
        self.mailbox.incarnation = number
        traits, spec = self.traits, self.spec
        self.seq = self.shared.emit(
            ActorCreated,
            self.id,
            number,
            self.exit_seq or self.seq,
            self.path,
            self.behavior_name,
            self.owner.id,
            self.descent,
            _LEVEL_WORDS[traits.level],
            traits.policy.capacity,
            str(spec.restart),
        )
        self._note_drain()

    def set_ready(self) -> None:
        """Mark the actor ready and wake its spawner."""
        self.life.is_ready = self.was_ready = True
        self._announce()

    def exit(self, outcome: Outcome) -> Verdict:
        """End the current incarnation and return the verdict of the supervisor."""
        life, mailbox = self.life, self.mailbox
        life.state = step(life.state, EDGE_TO[outcome.state])
        self.failure = None if self.was_ready else outcome.error
        late_s, grace_s = self.shared.now() - life.killed_s, self.spec.kill_grace_s
        if late_s > grace_s:
            self.record(KillOverran, late_s, grace_s)
        fields = outcome.fields(life.stop_cause)
        self.exit_seq = seq = self.shared.emit(ActorExited, self.id, life.number, self.seq, *fields)
        life.close()
        cause, error = outcome.cause or life.stop_cause, outcome.error
        kept = None if error is None else stand_in(error)  # a ref must not keep the frames of an error alive
        last = self.last_turn
        if last.error is not None:
            copied = kept if last.error is error else stand_in(last.error)
            self.last_turn = last.without_frames(copied)
        self.ends = (*self.ends[-DOWNS_KEPT:], (life.number, outcome.state, cause, kept, seq))
        verdict = self.owner.child_exited(self, outcome)
        for envelope in reversed(mailbox.lanes.leased):  # leased outside turns, and never acknowledged
            mailbox.nack(envelope, parent=seq)
        if verdict.is_gone:
            self.terminate()
            return verdict
        mailbox.recall(parent=seq)
        mailbox.bury_pinned(DeadReason.ENDED, parent=seq)
        life.is_held = True  # also before a restart in place: a watcher may terminate it
        if verdict.delay_s is None:
            mailbox.incarnation = 0  # messages that arrive now are for none of them
            self._announce()  # its supervisor may wait for it
        self._notify_subscribers(is_final=False)
        if self.is_gone:
            return GONE
        life.is_held = verdict.delay_s is None
        return verdict

    def terminate(self) -> None:
        """Terminate permanently: close the mailbox, free the name, notify subscribers."""
        self.is_gone, self.life.is_held = True, False
        del self.factory  # a ref must not keep alive what it holds
        seq = self.exit_seq
        self.mailbox.close("the actor has ended", dead_reason=DeadReason.ENDED, parent=seq)
        for envelope in self.mailbox.lanes.leased:
            self.mailbox.bury(envelope, DeadReason.ENDED, parent=seq)
        if self.shared.directory.release(self.path) and self.is_named:
            self.record(NameReleased, self.path, parent=seq)
        self.shared.emit(ActorGone, self.id, self.life.number, seq, self.life.state._value_)
        self._announce()
        if self.subscriptions:
            self._notify_subscribers(is_final=True)

    # --- requests ----------------------------------------------------------------------------------------------------

    def cancel_restart(self) -> None:
        """Mark the actor as not to be restarted."""
        self.is_unwanted = True
        if self.life.is_held:
            self.owner.discard(self)

    def drain(self, cause: Cause) -> None:
        """Stop accepting messages, and stop once the mailbox is empty."""
        if self.drain_cause is None and not self.is_gone:  # also if it is held for a restart
            self.drain_cause = cause
            self._note_drain()
            self.mailbox.refuse_new(cause.why)

    def _note_drain(self) -> None:
        if self.drain_cause is not None and not self.is_drain_noted and self.state not in TERMINAL:
            self.is_drain_noted = True  # between two incarnations, it is recorded with the next one
            self.record(DrainRequested, self.drain_cause, parent=self.here())

    def request_stop(self, cause: Cause, grace_s: float) -> None:
        """Request the end of the incarnation after its current turn, and wake it."""
        life = self.life
        if life.stop_cause is not None or life.kill_cause is not None or life.state in TERMINAL:
            return
        life.stop_cause = cause
        self.shared.emit(StopRequested, self.id, life.number, self.here(), cause, grace_s)
        if life.state is State.PENDING:  # waiting for its start or restart: nothing to finish
            life.kill_cause = cause
        self._apply_requests()

    def request_kill(self, cause: Cause) -> None:
        """End the incarnation now; the first cause wins."""
        life = self.life
        if life.kill_cause is not None or life.state in TERMINAL:
            return
        life.kill_cause, life.killed_s = cause, self.shared.now()
        self.record(KillRequested, cause, self.spec.kill_grace_s, parent=self.here())
        if life.turn.envelope is not None:  # if the turn returns anyway, it does so too late
            life.turn.abort_cause = life.turn.abort_cause or cause
        life.turn.end_links()
        self._apply_requests()

    def _apply_requests(self) -> None:
        life = self.life
        if self.poke is not None:
            self.poke()
            return
        if life.end_if_idle() is None and life.kill_cause is not None and life.scope is not None:
            life.scope.cancel(life.kill_cause.why)
        if not self.is_gone:  # otherwise closing the mailbox has woken the task
            self.mailbox.nudge()

    def suspend(self, cause: Cause, *, is_suspended: bool = True) -> None:
        """Suspend the incarnation, or resume it: a suspended one takes no messages. The next one is not suspended."""
        if self.life.is_suspended is not is_suspended and self.state not in TERMINAL:
            self.life.is_suspended = is_suspended
            self.record(ActorSuspended if is_suspended else ActorResumed, cause, parent=self.here())
            self.mailbox.nudge()

    # --- subscriptions -----------------------------------------------------------------------------------------------

    def watch(self, callback: Callable[[Down], object], incarnation: int | None = None) -> Subscription:
        """Call `callback` once when the actor, or one incarnation of it, has ended."""
        return self.subscribe(Subscription(self.path, incarnation, callback))

    def subscribe(self, subscription: Subscription) -> Subscription:
        """Add a subscription to the end of this actor; notify it now if that end has passed.

        While another subscription is being notified, it is notified one tick later, so that a callback that watches again
        does not call itself.
        """
        if self.subscriptions is None:
            self.subscriptions = {}
        subscription.join(self.subscriptions)
        number = subscription.incarnation
        if self.is_gone or (number is not None and (number < self.incarnation or self.state in TERMINAL)):
            if self.is_notifying:
                self.shared.timers.after(TICK_S, functools.partial(self._notify, subscription))
            else:
                self._notify(subscription)
        return subscription

    def _notify_subscribers(self, *, is_final: bool) -> None:
        for subscription in tuple(self.subscriptions or ()):
            if is_final or subscription.incarnation is not None:
                self._notify(subscription)

    def _notify(self, subscription: Subscription) -> None:
        if not subscription.is_open:  # an earlier callback may have cancelled it
            return
        was_notifying, self.is_notifying = self.is_notifying, True
        try:
            subscription.deliver(self._down_of(subscription.incarnation))
        except Exception as error:  # noqa: BLE001 - the boundary: a subscriber must not harm the actor, nor other subscribers
            self.record(WatchFailed, describe(error), parent=self.exit_seq)
        finally:
            self.is_notifying = was_notifying

    def _down_of(self, incarnation: int | None) -> Down:
        assert self.ends
        # An end that was forgotten was followed by a restart: a failure, unless the actor is permanent.
        forgotten = (incarnation or 0, State.FAILED, FORGOTTEN, None, 0)
        known = (end for end in reversed(self.ends) if incarnation is None or end[0] == incarnation)
        number, state, cause, error, seq = next(known, forgotten)
        return Down(actor=self.id, incarnation=number, state=state, cause=cause, error=error, seq=seq, path=self.path)

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    async def _wait_until(self, is_reached: Callable[[], bool]) -> None:
        if is_reached():
            await checkpoint()
        while not is_reached():
            if self._changed is None:
                self._changed = trio.Event()
            await self._changed.wait()

    async def wait_ready(self, *, or_held: bool = False) -> None:
        """Wait until the actor is ready or has terminated; with `or_held`, also until it is held for a restart."""
        await self._wait_until(lambda: self.life.is_ready or self.is_gone or (or_held and self.life.is_held))

    async def wait_gone(self) -> None:
        """Wait until the actor has terminated."""
        await self._wait_until(lambda: self.is_gone)

    def refuse_cycle(self, target: Cell[Any]) -> None:
        """Refuse a wait of this actor for another one that waits for it, directly or through others.

        Raises:
            AskCycle: It does.
        """
        if target is not self and not target.turn.waits:
            return
        ring = cycle_of(self, target, lambda cell: cell.turn.waits)
        if ring:
            self.shared.incidents.refused_cycles += 1
            self.record(AskRefused, target.id, tuple(cell.id for cell in ring))
            raise AskCycle(tuple(cell.path or "root" for cell in ring))


_REASONS: Final = {Delivery.CLOSED: DeadReason.ENDED, Delivery.FULL: DeadReason.FULL}
_LEVEL_WORDS: Final = {level: level.name.lower() for level in Level}


def current_of(shared: ActorContext) -> Cell[Any] | None:
    """Return the actor whose code is running, if it belongs to this runtime; runtimes may be nested."""
    current = CURRENT.get()
    return current if current is not None and current.shared is shared else None
