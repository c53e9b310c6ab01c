"""The dispatcher: one Trio task that serves every actor whose handler is a plain function.

Such a handler cannot wait, so it needs no task, no scope and no task switch. Rule 1: one message of one actor at a time,
then the next actor. Rule 2: what a handler raises concerns its own actor only. Rule 3: an end is immediate, save that
of the actor whose handler runs right now.
"""

from __future__ import annotations

from collections import deque
from contextvars import Context as ContextVars
from typing import Any, Final, final

from trio.lowlevel import Abort, Task, checkpoint, current_task, enable_ki_protection

from greenroom.actors._cell import CURRENT, Cell
from greenroom.actors._context import make_context
from greenroom.actors._inspection import end_drained
from greenroom.actors._lifecycle import COMPLETED, TERMINAL, Outcome, State, decide_outcome
from greenroom.actors._owner import Verdict
from greenroom.actors._signals import Signal
from greenroom.core import Level, UsageError
from greenroom.mailbox import BUDGET, DeadReason
from greenroom.waiting import Timer, prepare, sleep, wake

# Once per message each: a member costs 90 ns where it is read from its class, before Python 3.12.
_LIFECYCLE: Final = Level.LIFECYCLE
_PENDING: Final = State.PENDING
_RUNNING: Final = State.RUNNING


@final
class Dispatcher:
    """Serves plain actors in the order in which they got something to do."""

    def __init__(self) -> None:
        self._ready: deque[PlainRunner] = deque()
        self._sleeper: Task | None = None
        self._trap = prepare(self._forget)

    def __repr__(self) -> str:
        return f"<Dispatcher: {len(self._ready)} actors have mail>"

    def __len__(self) -> int:
        """How many actors wait for their turn."""
        return len(self._ready)

    def start(self, cell: Cell[Any]) -> None:
        """Begin an incarnation of a plain actor: in this step, or after its delay."""
        if cell.runner is None:
            cell.runner = PlainRunner(self, cell)
        cell.runner.begin_after(cell.delay_s)

    def schedule(self, runner: PlainRunner) -> None:
        """Let an actor have its turn; at most once until it had it."""
        self._ready.append(runner)
        sleeper, self._sleeper = self._sleeper, None
        if sleeper is not None:
            wake(sleeper)

    @enable_ki_protection
    async def run(self) -> None:
        """Serve, until cancelled."""
        ready = self._ready
        budget = BUDGET
        while True:
            while ready:
                ready.popleft().serve()
                budget -= 1
                if budget <= 0:
                    budget = BUDGET
                    await checkpoint()
            self._sleeper = current_task()
            await sleep(self._trap)
            budget = BUDGET

    def _forget(self, _: object) -> Abort:
        self._sleeper = None
        return Abort.SUCCEEDED


@final
class PlainRunner:
    """Runs one plain actor, step by step."""

    __slots__ = ("_back_off", "_cell", "_dispatcher", "_is_scheduled", "_is_serving", "_run")

    def __init__(self, dispatcher: Dispatcher, cell: Cell[Any]) -> None:
        self._dispatcher = dispatcher
        self._cell = cell
        self._is_scheduled = False
        self._is_serving = False
        cell.mailbox.notify(self._nudged)
        self._back_off: Timer | None = None

    def begin_after(self, delay_s: float) -> None:
        """Start an incarnation once its back-off has passed; without one in this step."""
        if delay_s:
            self._back_off = self._cell.shared.timers.after(delay_s, self.begin)
        else:
            self.begin()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._dispatcher.schedule(self)

    def begin(self) -> None:
        """Start an incarnation; what its factory raises fails it."""
        cell = self._cell
        if cell.state is not _PENDING:
            return
        # Context variables of its own, as a task has them; running in them is cheaper than setting one and setting it back.
        self._run = ContextVars().run
        self._run(CURRENT.set, cell)
        self._is_serving = True  # a factory may ask for the end of what it makes
        try:
            cell.begin()
            self._run(make_context, cell)
        except Exception as error:  # noqa: BLE001 - the boundary: it fails the incarnation
            self._end(decide_outcome(error, requested=None, was_caught=False))
        else:
            cell.set_ready()
            self._end_if_asked()
            if not cell.mailbox.is_empty or cell.drain_cause is not None:
                self._nudged()
        finally:
            self._is_serving = False

    def _nudged(self) -> None:
        if not self._is_scheduled and self._cell.state is _RUNNING:  # as in _schedule: this is the hot path
            self._is_scheduled = True
            self._dispatcher.schedule(self)

    def look_at_flags(self) -> None:
        """Hear that a stop or a kill was asked for: there is nothing to wait for unless the handler runs right now."""
        if not self._is_serving:
            self._end_if_asked()

    def serve(self) -> None:
        """Handle one message, or begin again at once."""
        cell = self._cell
        self._is_scheduled = False
        if cell.state is not _RUNNING:
            if self._back_off is None:
                self.begin()
            return
        envelope = None if cell.is_suspended else cell.mailbox.take()
        if envelope is None:
            end_drained(cell)
            return
        if envelope.reply is not None and not envelope.reply.is_open:
            cell.mailbox.bury(envelope, DeadReason.EXPIRED)
        else:
            self._is_serving = True
            outcome = self._run(self._run_turn, envelope)
            self._is_serving = False
            if outcome.error is not None:
                behavior = cell.behavior
                if behavior is None or behavior.on_failure == "crash" or outcome.must_crash:
                    self._end(outcome)
                    if outcome.reraise is not None:
                        raise outcome.reraise
                    return
        if cell.stop_cause is not None or cell.kill_cause is not None:
            self._end_if_asked()
        if not cell.mailbox.is_empty or cell.drain_cause is not None:
            self._nudged()

    def _run_turn(self, envelope: Any) -> Outcome:
        cell = self._cell
        behavior, context = cell.behavior, cell.context
        assert behavior is not None
        assert context is not None
        began_t = cell.recorder.now()
        cell.turn += 1
        cell.envelope = envelope
        cell.is_busy = True
        if cell.level is not _LIFECYCLE:
            cell.note_turn_began(envelope)
        try:
            is_signal = isinstance(envelope.message, Signal)
            waiting = (behavior.on_signal if is_signal else behavior.on_message)(envelope.message, context)
            if waiting is not None:
                _discard(waiting)
                raise UsageError(f"{cell.behavior_name}.on_message is a plain function and returned an awaitable")
        except BaseException as error:  # noqa: BLE001, ASYNC103 - the boundary of a turn: the outcome table decides
            return cell.end_turn(decide_outcome(error, requested=None, was_caught=False))  # noqa: ASYNC104 - nothing waits here, so no Cancelled can be in it
        cell.commit(envelope, began_t)
        return COMPLETED

    def _end_if_asked(self) -> None:
        cell = self._cell
        if cell.state not in TERMINAL and (cell.kill_cause is not None or cell.stop_cause is not None):
            self._settle(cell.end_as_asked())

    def _end(self, outcome: Outcome) -> None:
        self._settle(self._cell.exit(outcome))

    def _settle(self, verdict: Verdict) -> None:
        """Do what the supervisor says about an incarnation that has just ended."""
        cell = self._cell
        if self._back_off is not None:
            self._back_off.cancel()
            self._back_off = None
        if verdict.is_gone or verdict.delay_s is None:
            return
        cell.renew(verdict.delay_s)
        if verdict.delay_s:
            self.begin_after(verdict.delay_s)
        else:  # not from here: a factory that raises again and again would nest as often
            self._schedule()


def _discard(waiting: object) -> None:
    close = getattr(waiting, "close", None)
    if close is not None:
        close()
