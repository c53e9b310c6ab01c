"""The record of one actor: its id, mailbox, machine and flags, and every step of its life that needs no waiting.

Rule 1: a step is synchronous, so nobody sees half of it. Rule 2: whoever ends something stores the cause first, then
cancels; the first cause wins. Rule 3: at the end, in this order: terminal event, leases, the supervisor's verdict;
gone for good: mailbox, asks, name, Downs.
Must not know: how turns are run (`_loop`, `_dispatcher`), which strategies there are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, final

import attrs
import trio
from trio.lowlevel import Task, checkpoint

from greenroom.actors._behavior import Behavior, is_plain, is_simple
from greenroom.actors._commit import commit_turn, give_up_turn, notify_unfinished
from greenroom.actors._events import (
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorExited,
    ActorGone,
    DrainRequested,
    KillOverran,
    KillRequested,
    StopRequested,
    TurnBegan,
    TurnEnded,
    TurnNoted,
)
from greenroom.actors._lifecycle import COMPLETED, EDGE_TO, TERMINAL, Edge, Outcome, State, TurnEnd, step
from greenroom.actors._links import Link, end_links
from greenroom.actors._owner import GONE, ActorContext, Owner, Verdict
from greenroom.actors._signals import Down
from greenroom.actors._waits import Wait
from greenroom.actors._watch import Watch, note_down, tell_watchers
from greenroom.core import ActorEnded, Cause, InternalError, Level, Recorder, stand_in
from greenroom.mailbox import DeadReason, Envelope, Mailbox
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._context import Context
    from greenroom.actors._dispatcher import PlainRunner
    from greenroom.actors._outbox import Outbox
    from greenroom.actors._send_timer import SendTimer

M = TypeVar("M")

_LIFECYCLE: Final = Level.LIFECYCLE
"""Once per message: a member costs 90 ns where it is read from its class, before Python 3.12."""

CURRENT: Final[ContextVar[Cell[Any] | None]] = ContextVar("greenroom_current_actor", default=None)
"""The actor whose code is running: the cause of what it sends and spawns."""


@final
@attrs.define(kw_only=True, eq=False, repr=False, weakref_slot=False)
class Cell(Generic[M]):
    """One actor, across its incarnations. Made by supervisors; everybody else holds a `Ref`."""

    id: str
    path: str
    """Its path in the tree; empty for the root."""
    is_named: bool
    factory: Callable[[], Behavior[M]]
    behavior_class: type[Behavior[M]]
    owner: Owner
    shared: ActorContext
    kill_grace_s: float
    start_timeout_s: float
    restart: str = ""
    """When it comes back, for the record."""

    # What follows from that.
    level: Level = attrs.field(init=False)
    is_plain: bool = attrs.field(init=False)
    is_simple: bool = attrs.field(init=False)
    recorder: Recorder = attrs.field(init=False)
    _note: Callable[[tuple[Any, ...]], None] = attrs.field(init=False)
    _number: Callable[[], int] = attrs.field(init=False)
    _now: Callable[[], float] = attrs.field(init=False)
    mailbox: Mailbox[M] = attrs.field(init=False)
    descent: str = attrs.field(init=False)
    """Id of the actor whose code spawned it."""
    seq: int = attrs.field(init=False)
    """Number of the latest event that explains what this actor does now."""

    # Across its incarnations.
    incarnation: int = attrs.field(default=0, init=False)
    was_ready: bool = attrs.field(default=False, init=False)
    is_gone: bool = attrs.field(default=False, init=False)
    is_unwanted: bool = attrs.field(default=False, init=False)
    """Whether somebody wants its end, so that no plan brings it back."""
    is_telling: bool = attrs.field(default=False, init=False)
    """Whether a callback about it runs."""
    drain_cause: Cause | None = attrs.field(default=None, init=False)
    is_drain_noted: bool = attrs.field(default=False, init=False)
    down: Down | None = attrs.field(default=None, init=False)
    """How the last incarnation that ended did."""
    past: deque[Down] | None = attrs.field(default=None, init=False)
    """How the incarnations before that one ended."""
    failure: BaseException | None = attrs.field(default=None, init=False)
    exit_seq: int = attrs.field(default=0, init=False)
    """Number of its last terminal event."""
    watches: dict[Watch, None] | None = attrs.field(default=None, init=False)
    """Who hears of its end."""
    waits: dict[Wait, Cell[Any]] | None = attrs.field(default=None, init=False)
    """Whom its turn waits for now."""
    links: dict[Link, None] | None = attrs.field(default=None, init=False)
    """Who ends with its turn."""
    task: Task | None = attrs.field(default=None, init=False)
    """What runs its turns; None for plain ones."""
    runner: PlainRunner | None = attrs.field(default=None, init=False)
    """What runs an actor that has no task."""
    last_turn: Outcome = attrs.field(default=COMPLETED, init=False)
    _ready: trio.Event | None = attrs.field(default=None, init=False)
    _ended: trio.Event | None = attrs.field(default=None, init=False)
    _turn_end: TurnEnd | None = attrs.field(default=None, init=False)

    # Of one incarnation: `renew` sets them, `make_context` the first two.
    behavior: Behavior[M] | None = attrs.field(default=None, init=False)
    context: Context | None = attrs.field(default=None, init=False)
    state: State = attrs.field(init=False)
    delay_s: float = attrs.field(init=False)
    """Seconds of back-off before it begins."""
    life_scope: trio.CancelScope = attrs.field(init=False)
    stop_cause: Cause | None = attrs.field(init=False)
    kill_cause: Cause | None = attrs.field(init=False)
    killed_s: float = attrs.field(init=False)
    """When its kill was requested, on the run's clock; infinite before that."""
    is_ready: bool = attrs.field(init=False)
    is_held: bool = attrs.field(init=False)
    """Whether it has ended, and comes back when its supervisor starts it."""
    is_suspended: bool = attrs.field(init=False)
    entered: Hashable = attrs.field(init=False)
    """The state that it is in, in the words of its behavior."""
    timers: dict[SendTimer, None] | None = attrs.field(init=False)

    # Of one turn.
    turn: int = attrs.field(init=False)
    """Number of the current turn, or of the last one."""
    turn_scope: trio.CancelScope | None = attrs.field(init=False)
    abort_cause: Cause | None = attrs.field(init=False)
    is_busy: bool = attrs.field(init=False)
    is_committing: bool = attrs.field(init=False)
    """Whether the turn is beyond what an abort can undo."""
    is_told: bool = attrs.field(init=False)
    """Whether code of the turn was seen to be told of its cancel."""
    is_acked: bool = attrs.field(init=False)
    """Whether the turn let go of its message."""
    envelope: Envelope[M] | None = attrs.field(init=False)
    outbox: Outbox | None = attrs.field(init=False)
    answer: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.level = self.behavior_class.journal
        self.is_plain, self.is_simple = is_plain(self.behavior_class), is_simple(self.behavior_class)
        self.recorder = self.shared.recorder
        self._note, self._number, self._now = self.recorder.note, self.recorder.number, self.recorder.now
        self.mailbox = Mailbox(
            self.id,
            policy=self.behavior_class.mailbox,
            recorder=self.recorder,
            is_traced=self.level >= Level.FULL,
            on_dead=self._on_dead,
        )
        spawner = current_of(self.shared)
        self.descent, self.seq = (spawner.id, spawner.seq) if spawner is not None else ("", 0)
        self.renew(0.0)

    @property
    def behavior_name(self) -> str:
        """Name of its class, for the record and for errors."""
        return self.behavior_class.__name__

    def __repr__(self) -> str:
        return f"<Cell {self.path!r} {self.state} inc={self.incarnation} turn={self.turn}>"

    # --- one incarnation -------------------------------------------------------------------------------------------

    def renew(self, delay_s: float) -> None:
        """Become the next incarnation: pending, with a fresh machine and the old mailbox."""
        self.incarnation += 1
        self.mailbox.incarnation = self.incarnation
        self.state = State.PENDING
        self.delay_s = delay_s
        self.life_scope = trio.CancelScope(shield=True)
        self.stop_cause = self.kill_cause = self.abort_cause = self.turn_scope = None
        self.is_ready = self.is_held = self.is_suspended = False
        self.is_busy = self.is_committing = self.is_told = self.is_acked = False
        self.turn, self.killed_s = 0, math.inf
        self.envelope = self.outbox = self.entered = self.timers = None
        self.answer = NOTHING
        self.seq = self.recorder.emit_fields(
            ActorCreated,
            self.id,
            self.incarnation,
            self.exit_seq or self.seq,
            self.path,
            self.behavior_name,
            self.owner.id,
            self.descent,
            _LEVEL_WORDS[self.level],
            self.mailbox.capacity,
            self.restart,
        )
        self.note_drain()

    def begin(self) -> None:
        """`pending -> running`."""
        self.state = step(self.state, Edge.BEGIN)
        self.seq = self.recorder.emit_fields(ActorBegan, self.id, self.incarnation, self.seq)

    def set_ready(self) -> None:
        """Let whoever spawned the actor go on."""
        self.is_ready = self.was_ready = True
        self.owner.child_ready(self)
        if self._ready is not None:
            self._ready.set()

    def exit(self, outcome: Outcome) -> Verdict:
        """End this incarnation and return what the supervisor says comes next."""
        self.state = step(self.state, EDGE_TO[outcome.state])
        self.failure = None if self.was_ready else outcome.error  # for whoever still waits for its start
        late_s = self._now() - self.killed_s
        if late_s > self.kill_grace_s:
            self.recorder.emit_fields(KillOverran, self.id, self.incarnation, self.seq, late_s, self.kill_grace_s)
        self.exit_seq = self.recorder.emit_fields(
            ActorExited, self.id, self.incarnation, self.seq, *outcome.fields(self.stop_cause)
        )
        if self.context is not None:
            self.context.close()
        self.behavior = self.context = self.task = None  # a task holds its cell, in its context variables
        if self.last_turn.error is not None:
            self.last_turn = attrs.evolve(self.last_turn, error=stand_in(self.last_turn.error), reraise=None)
        note_down(self, outcome)
        verdict = self.owner.child_exited(self, outcome)
        for envelope in reversed(self.mailbox.leased):  # leased outside turns, and never acknowledged
            self.mailbox.nack(envelope, parent=self.exit_seq)
        if verdict.is_gone:
            self.terminate()
        else:
            self.mailbox.recall(parent=self.exit_seq)
            self.mailbox.bury_pinned(DeadReason.ENDED, parent=self.exit_seq)
            self.is_held = True  # also before a restart in place: a watcher may want it gone, and then it is
            if verdict.delay_s is None:
                self.mailbox.incarnation = 0  # what comes now is for none of them
                if self._ready is not None:  # its supervisor may wait for it
                    self._ready.set()
            tell_watchers(self, is_final=False)
            if self.is_gone:
                return GONE
            self.is_held = verdict.delay_s is None
        return verdict

    def terminate(self) -> None:
        """Be gone for good: after the last incarnation, or when a supervisor gives up on one that it held."""
        self.is_gone, self.is_held = True, False
        self.factory = _begin_no_more  # whoever keeps a ref keeps nothing of what the factory holds
        self.mailbox.close("the actor has ended", dead_reason=DeadReason.ENDED, parent=self.exit_seq)
        for envelope in self.mailbox.leased:
            self.mailbox.bury(envelope, DeadReason.ENDED, parent=self.exit_seq)
        self.shared.directory.release(self)
        self.recorder.emit_fields(ActorGone, self.id, self.incarnation, self.exit_seq, self.state.value)
        for event in (self._ready, self._ended):
            if event is not None:
                event.set()
        tell_watchers(self, is_final=True)

    # --- one turn --------------------------------------------------------------------------------------------------

    def note_turn_began(self, envelope: Envelope[M]) -> None:
        """Record the beginning of a turn, for actors whose journal has turns."""
        self.seq = self.recorder.emit_fields(
            TurnBegan, self.id, self.incarnation, envelope.parent, self.turn, envelope.number
        )

    def commit(self, envelope: Envelope[M], began_t: float) -> float:
        """Make a turn's result true in one step: answer, acknowledgement, event. Returns the clock's reading."""
        if self.is_acked or self.outbox is not None or self.level is not _LIFECYCLE:
            return self._commit_in_full()
        reply = envelope.reply
        if reply is not None:
            if self.answer is NOTHING or not reply.answer(self.answer):  # forgotten, or too late
                return self._commit_in_full()
            self.answer = NOTHING
        self.mailbox.ack(envelope)
        self.is_busy = False
        self.envelope = None
        now = self._now()
        self._note(
            (
                self._number(),
                now,
                TurnNoted,
                self.id,
                self.incarnation,
                envelope.parent,
                self.turn,
                envelope.number,
                began_t,
                "completed",
            )
        )
        self.last_turn = COMPLETED
        if self._turn_end is not None:
            self._settle_turn_end()
        return now

    def _commit_in_full(self) -> float:
        self.end_turn(COMPLETED)
        return self._now()

    def end_turn(self, outcome: Outcome) -> Outcome:
        """End a turn that did not simply return: what it asked for is not committed, unless it finished all the same.

        Returns:
            How it ended, with what the behavior's `on_unfinished` made of it.
        """
        envelope = self.envelope
        assert envelope is not None
        if outcome.state is State.COMPLETED:
            self.is_committing = True
            commit_turn(self, envelope)
        else:
            outcome = notify_unfinished(self, envelope, outcome)
            give_up_turn(self, envelope, outcome)
        self.is_busy = self.is_committing = self.is_acked = False
        self.envelope = None
        self.answer = NOTHING
        self.last_turn = outcome
        if self.level is Level.LIFECYCLE:
            fields = (self.id, self.incarnation, envelope.parent, self.turn, envelope.number)
            now = self._now()
            self._note((self._number(), now, TurnNoted, *fields, now, outcome.state.value))
        else:
            self._emit_turn_ended(envelope, outcome)
        self._settle_turn_end()
        return outcome

    def _emit_turn_ended(self, envelope: Envelope[M], outcome: Outcome) -> None:
        self.recorder.emit_fields(
            TurnEnded,
            self.id,
            self.incarnation,
            self.seq,
            *outcome.fields(),
            self.turn,
            envelope.number,
        )

    def _settle_turn_end(self) -> None:
        end, self._turn_end = self._turn_end, None
        if end is not None:
            end.settle(self.last_turn)

    def _on_dead(self, envelope: Envelope[M], reason: DeadReason) -> None:
        self.shared.directory.buried(self, envelope, reason)
        if envelope.reply is not None:
            envelope.reply.fail(ActorEnded(self.id, self.state.value, path=self.path))

    # --- requests --------------------------------------------------------------------------------------------------

    @property
    def token(self) -> tuple[str, int, int]:
        """Names the current turn, or the last one: id, incarnation, number."""
        return (self.id, self.incarnation, self.turn)

    def request_abort(self, cause: Cause) -> None:
        """Cancel the current turn, unless it is being committed; the caller has checked that there is one."""
        assert self.turn_scope is not None
        if self.abort_cause is None and not self.is_committing:
            self.abort_cause = cause
            if self.level is not Level.LIFECYCLE:  # below that the journal has no turns
                self.recorder.emit_fields(AbortRequested, self.id, self.incarnation, self.here(), self.turn, cause)
            self.turn_scope.cancel(cause.why)
            end_links(self)

    def cancel_restart(self) -> None:
        """Hear that somebody wants the end of this actor, whatever plans its supervisor has for it."""
        self.is_unwanted = True
        if self.is_held:
            self.owner.discard(self)

    def note_drain(self) -> None:
        """Put the request to drain on record; one that found the actor between two incarnations, with the next."""
        if self.drain_cause is not None and not self.is_drain_noted and self.state not in TERMINAL:
            self.is_drain_noted = True
            self.recorder.emit_fields(DrainRequested, self.id, self.incarnation, self.here(), self.drain_cause)

    def request_stop(self, cause: Cause, grace_s: float) -> None:
        """Flag the actor to end after its current turn, and wake it."""
        if self.stop_cause is not None or self.kill_cause is not None or self.state in TERMINAL:
            return
        self.stop_cause = cause
        self.recorder.emit_fields(StopRequested, self.id, self.incarnation, self.here(), cause, grace_s)
        if self.state is State.PENDING:  # waiting for its start or restart: nothing to finish
            self.kill_cause = cause
        self._look_at_flags()

    def request_kill(self, cause: Cause) -> None:
        """End the actor now; the first cause stays."""
        if self.kill_cause is not None or self.state in TERMINAL:
            return
        self.kill_cause, self.killed_s = cause, self._now()
        self.recorder.emit_fields(KillRequested, self.id, self.incarnation, self.here(), cause, self.kill_grace_s)
        if self.is_busy:  # a turn that returns all the same does so too late (I-29)
            self.abort_cause = self.abort_cause or cause
        end_links(self)
        self._look_at_flags()

    def note_cancelled(self) -> None:
        """Note that code of the turn was told of its cancel: if the turn returns all the same, it swallowed it."""
        self.is_told = self.abort_cause is not None or self.kill_cause is not None

    def linked_s(self) -> float:
        """How long the actors that end with its turn may still take; an own grace begins after that (kernel 9.5)."""
        return max((link.ladder_s() for link in self.links or () if link.is_ending), default=0.0)

    def here(self) -> int:
        """Return the number of the event that explains what runs now."""
        current = current_of(self.shared)
        return current.seq if current is not None else 0

    def _look_at_flags(self) -> None:
        if self.runner is not None:
            self.runner.look_at_flags()
            return
        if self.is_ready and self.is_simple and not self.is_busy:
            self.end_as_asked()  # before its task hears of it, which finds that its incarnation is over
        elif self.kill_cause is not None:
            self.life_scope.cancel(self.kill_cause.why)
        self.mailbox.nudge()

    def end_as_asked(self) -> Verdict:
        """End an incarnation that runs no code of its own now, in the step in which somebody asked for it."""
        if self.kill_cause is None:
            return self.exit(COMPLETED)
        return self.exit(Outcome(state=State.KILLED, by="own", cause=self.kill_cause))

    # --- waiting ---------------------------------------------------------------------------------------------------

    async def wait_ready(self, *, or_held: bool = False) -> None:
        """Return when the actor is ready or gone, on request also when it has ended and waits for its supervisor."""
        if self.is_ready or self.is_gone:
            await checkpoint()
        while not (self.is_ready or self.is_gone or (or_held and self.is_held)):
            if self._ready is None or self._ready.is_set():
                self._ready = trio.Event()
            await self._ready.wait()

    async def wait_gone(self) -> Down:
        """Return its last Down once the actor is gone for good."""
        if self.is_gone:
            await checkpoint()
        else:
            if self._ended is None:
                self._ended = trio.Event()
            await self._ended.wait()
        assert self.down is not None
        return self.down

    def turn_end(self) -> TurnEnd:
        """Return what says how the current turn ends, or how the last one did."""
        if not self.is_busy:
            end = TurnEnd()
            end.settle(self.last_turn)
            return end
        if self._turn_end is None:
            self._turn_end = TurnEnd()
        return self._turn_end


_LEVEL_WORDS: Final = {level: level.name.lower() for level in Level}


def current_of(shared: ActorContext) -> Cell[Any] | None:
    """Return the actor whose code is running, if it is one of this runtime; runtimes may be nested."""
    current = CURRENT.get()
    return current if current is not None and current.shared is shared else None


def _begin_no_more() -> NoReturn:
    raise InternalError("an actor that is gone has no further incarnation")
