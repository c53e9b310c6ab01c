"""The record of one actor: its id, mailbox, machine and flags, and every step of its life that needs no waiting.

Rule 1: a step is synchronous, so nobody sees half of it. Rule 2: whoever ends something stores the cause first, then
cancels; the first cause wins. Rule 3: at the end, in this order: terminal event, leases, the supervisor's verdict;
gone for good: mailbox, asks, name, Downs.
Must not know: how turns are run (`_loop`, `_dispatcher`), which strategies there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, final

import trio
from trio.lowlevel import Task, checkpoint

from greenroom.actors._behavior import Behavior, is_plain, is_simple
from greenroom.actors._commit import commit_turn, give_up_turn
from greenroom.actors._events import (
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorExited,
    ActorGone,
    DrainRequested,
    KillRequested,
    StopRequested,
    TurnBegan,
    TurnEnded,
    TurnNoted,
)
from greenroom.actors._lifecycle import COMPLETED, EDGE_TO, TERMINAL, Edge, Outcome, State, TurnEnd, step
from greenroom.actors._links import Link, end_links
from greenroom.actors._owner import GONE, Owner, Runner, Surroundings, Verdict
from greenroom.actors._signals import Down
from greenroom.actors._waits import Wait
from greenroom.actors._watch import Watch, note_down, tell_watchers
from greenroom.core import ActorEnded, Cause, InternalError, Level
from greenroom.mailbox import DeadReason, Envelope, Mailbox
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._context import Context
    from greenroom.actors._later import SendTimer
    from greenroom.actors._outbox import Outbox

M = TypeVar("M")

_LIFECYCLE: Final = Level.LIFECYCLE
"""Once per message: a member costs 90 ns where it is read from its class, before Python 3.12."""

CURRENT: Final[ContextVar[Cell[Any] | None]] = ContextVar("greenroom_current_actor", default=None)
"""The actor whose code is running: the cause of what it sends and spawns."""


@final
class Cell(Generic[M]):
    """One actor, across its incarnations. Made by supervisors; everybody else holds a `Ref`."""

    __slots__ = (
        "_ended",
        "_note",
        "_now",
        "_number",
        "_ready",
        "_turn_end",
        "abort_cause",
        "answer",
        "behavior",
        "behavior_name",
        "context",
        "delay_s",
        "descent",
        "down",
        "drain_cause",
        "entered",
        "envelope",
        "exit_seq",
        "factory",
        "failure",
        "id",
        "incarnation",
        "is_acked",
        "is_busy",
        "is_committing",
        "is_drain_noted",
        "is_gone",
        "is_held",
        "is_named",
        "is_plain",
        "is_ready",
        "is_simple",
        "is_suspended",
        "is_telling",
        "is_told",
        "is_unwanted",
        "kill_cause",
        "kill_grace_s",
        "last_turn",
        "level",
        "life_scope",
        "links",
        "mailbox",
        "outbox",
        "owner",
        "past",
        "path",
        "recorder",
        "restart",
        "runner",
        "seq",
        "shared",
        "start_timeout_s",
        "state",
        "stop_cause",
        "task",
        "timers",
        "turn",
        "turn_scope",
        "waits",
        "was_ready",
        "watches",
    )

    down: Down | None
    drain_cause: Cause | None
    waits: dict[Wait, Cell[Any]] | None
    """Whom its turn waits for now."""
    links: dict[Link, None] | None
    """Who ends with its turn."""
    task: Task | None
    """What runs its turns; None for plain ones."""

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the word that DESIGN uses
        path: str,
        is_named: bool,
        factory: Callable[[], Behavior[M]],
        behavior_class: type[Behavior[M]],
        owner: Owner,
        shared: Surroundings,
        kill_grace_s: float,
        start_timeout_s: float,
        restart: str = "",
    ) -> None:
        self.id = id
        self.path = path
        self.is_named = is_named
        self.factory = factory
        self.behavior_name = behavior_class.__name__
        self.level = behavior_class.journal
        self.is_plain, self.is_simple = is_plain(behavior_class), is_simple(behavior_class)
        self.owner = owner
        self.shared = shared
        self.recorder = shared.recorder
        self._note, self._number, self._now = shared.recorder.note, shared.recorder.number, shared.recorder.now
        self.kill_grace_s = kill_grace_s
        self.start_timeout_s = start_timeout_s
        self.restart = restart
        spawner = current_of(shared)
        self.descent = spawner.id if spawner is not None else ""
        self.mailbox: Mailbox[M] = Mailbox(
            id,
            policy=behavior_class.mailbox,
            recorder=shared.recorder,
            is_traced=self.level >= Level.FULL,
            on_dead=self._on_dead,
        )
        self.incarnation = 0
        self.state = State.PENDING
        self.is_gone = self.is_unwanted = self.is_telling = self.is_drain_noted = False
        self.down = self.drain_cause = None
        self.past: deque[Down] | None = None
        """How the incarnations before the last one ended."""
        self.behavior: Behavior[M] | None = None
        self.context: Context | None = None
        self.exit_seq = 0
        self.seq: int = spawner.seq if spawner is not None else 0
        """Number of the latest event that explains what this actor does now."""
        self.failure: BaseException | None = None
        self.was_ready = False
        self.watches: dict[Watch, None] | None = None
        """Who hears of its end."""
        self.waits = self.links = self.task = None
        self._ready: trio.Event | None = None
        self._ended: trio.Event | None = None
        self._turn_end: TurnEnd | None = None
        self.last_turn = COMPLETED
        self.runner: Runner | None = None
        """What runs an actor that has no task."""
        self.renew(0.0)

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
        self.turn_scope: trio.CancelScope | None = None
        self.stop_cause: Cause | None = None
        self.kill_cause: Cause | None = None
        self.abort_cause: Cause | None = None
        self.turn = 0
        self.is_busy = self.is_held = self.is_ready = self.is_suspended = self.is_told = False
        self.is_committing = False
        self.envelope: Envelope[M] | None = None
        self.outbox: Outbox | None = None
        self.entered: Hashable = None
        self.timers: dict[SendTimer, None] | None = None
        self.is_acked = False
        self.answer: Any = NOTHING
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
        self.failure = outcome.error
        self.exit_seq = self.recorder.emit_fields(
            ActorExited, self.id, self.incarnation, self.seq, *outcome.fields(self.stop_cause)
        )
        if self.context is not None:
            self.context.close()
        self.behavior = self.context = self.task = None  # a task holds its cell, in its context variables
        note_down(self, outcome)
        verdict = self.owner.child_exited(self, outcome)
        for envelope in reversed(self.mailbox.leased):  # leased outside turns, and never acknowledged
            self.mailbox.nack(envelope, parent=self.exit_seq)
        if verdict.is_gone:
            self.leave()
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

    def leave(self) -> None:
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

    def end_turn(self, outcome: Outcome) -> None:
        """End a turn that did not simply return: what it asked for is not committed, unless it finished all the same."""
        envelope = self.envelope
        assert envelope is not None
        if outcome.state is State.COMPLETED:
            self.is_committing = True
            commit_turn(self, envelope)
        else:
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
            envelope.reply.fail(ActorEnded(self.id, self.state.value))

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

    def forswear(self) -> None:
        """Hear that somebody wants the end of this actor, whatever plans its supervisor has for it."""
        self.is_unwanted = True
        if self.is_held:
            self.owner.let_go(self)

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
        self.kill_cause = cause
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


def current_of(shared: Surroundings) -> Cell[Any] | None:
    """Return the actor whose code is running, if it is one of this runtime; runtimes may be nested."""
    current = CURRENT.get()
    return current if current is not None and current.shared is shared else None


def _begin_no_more() -> NoReturn:
    raise InternalError("an actor that is gone has no further incarnation")
