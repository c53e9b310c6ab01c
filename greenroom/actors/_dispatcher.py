"""The dispatcher: one Trio task that serves all actors whose handler is a plain function.

Such a handler cannot wait, so it needs no task, no scope and no task switch. Rule 1: one message of one actor at a time,
then the next actor. Rule 2: an error of a handler affects only its own actor. Rule 3: an end is immediate, except that of
the actor whose handler runs at the moment.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from contextvars import Context as ContextVars
from typing import Any, final

import attrs
from trio.lowlevel import checkpoint, current_task, enable_ki_protection

from greenroom.actors._behavior import Behavior
from greenroom.actors._cell import CURRENT, Cell
from greenroom.actors._context import Context
from greenroom.actors._incarnation import Incarnation
from greenroom.actors._lifecycle import COMPLETED, Outcome, Verdict, decide_outcome
from greenroom.actors._loop import NOW, RUNNING, create, finish
from greenroom.actors._states import State
from greenroom.actors._subscription import Signal
from greenroom.core import UsageError
from greenroom.mailbox import BUDGET, Envelope
from greenroom.waiting import ParkingSpot, Timer


@final
@attrs.define(eq=False, repr=False)
class Dispatcher:
    """Serves plain actors in the order in which they became ready."""

    ready: deque[PlainRunner] = attrs.Factory(deque)
    """The actors that wait for their turn."""
    spot: ParkingSpot = attrs.Factory(ParkingSpot)
    clock_s: float = 0.0
    """The clock's reading at the end of the turn that was just committed; 0 if the next turn has to read the clock."""

    def __repr__(self) -> str:
        return f"<Dispatcher: {len(self.ready)} actors ready>"

    def __len__(self) -> int:
        """Return the number of actors that wait for their turn."""
        return len(self.ready)

    def start(self, cell: Cell[Any]) -> None:
        """Start an incarnation of a plain actor: in this step, or after its delay."""
        poke = cell.poke or PlainRunner(self, cell).poke
        poke()

    @enable_ki_protection
    async def run(self) -> None:
        """Serve, until cancelled."""
        ready = self.ready
        budget = BUDGET
        while True:
            while ready:
                ready.popleft().serve()
                budget -= 1
                if budget <= 0:
                    await checkpoint()
                    budget, self.clock_s = BUDGET, 0.0
            await self.spot.parked(current_task())
            budget, self.clock_s = BUDGET, 0.0


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class PlainRunner:
    """Runs one plain actor, step by step."""

    _dispatcher: Dispatcher
    _cell: Cell[Any]
    _context: Context | None = None
    is_scheduled: bool = False
    _back_off: Timer | None = None
    _run: Callable[..., Any] = attrs.field(init=False)
    """Runs a function in the context variables of the incarnation."""

    def __attrs_post_init__(self) -> None:
        self._cell.poke = self.poke
        self._cell.mailbox.notify(self.schedule)

    def schedule(self) -> None:
        """Queue the actor for one turn, unless it is queued; called after each put."""
        if not self.is_scheduled:
            self.is_scheduled = True
            self._dispatcher.ready.append(self)
            if self._dispatcher.spot.task is not None:
                self._dispatcher.spot.unpark()

    def poke(self) -> None:
        """Start a pending incarnation, or end one whose end was requested; called when either is new."""
        life = self._cell.life
        if life.is_asked_to_end:
            self._end_if_idle(life)
        elif life.delay_s:
            self._back_off = self._cell.shared.timers.after(life.delay_s, self._begin)
        else:
            self._begin()

    def _begin(self) -> None:
        """Start an incarnation; an error of its factory fails it."""
        cell, life = self._cell, self._cell.life
        if life.state is not State.PENDING:
            return
        # Context variables of its own, as a task has them; running in them is cheaper than setting one and setting it back.
        self._run = ContextVars().run
        self._run(CURRENT.set, cell)
        try:
            _, self._context = self._run(create, cell)
        except Exception as error:  # noqa: BLE001 - the boundary: it fails the incarnation
            self._follow(cell.exit(decide_outcome(error, requested=None, was_caught=False)))
            return
        cell.set_ready()
        self._go_on(life)

    def serve(self) -> None:
        """Handle one message, or restart the actor; no effect if it has ended."""
        cell, life = self._cell, self._cell.life
        self.is_scheduled = False
        if life.state is not RUNNING:
            self._dispatcher.clock_s = 0.0
            if self._back_off is None:
                self._begin()
            return
        mailbox = cell.mailbox
        # Past `Mailbox.take`, unless there is something to record: 4 % of a message.
        envelope = None if life.is_suspended else mailbox.lanes.take() if mailbox.trace is None else mailbox.take()
        if envelope is None:
            life.stop_if_drained()
            return
        if life.turn.begin(envelope):
            outcome = self._run(self._take_turn, envelope)
            if outcome.error is not None and (life.behavior.on_failure == "crash" or outcome.must_crash):
                self._follow(cell.exit(outcome))
                if outcome.reraise is not None:
                    raise outcome.reraise
                return
        self._go_on(life)

    def _go_on(self, life: Incarnation) -> None:
        lanes = self._cell.mailbox.lanes
        if life.stop_cause is not None or life.kill_cause is not None:
            self._end_if_idle(life)
        elif lanes.next or lanes.now or lanes.later or self._cell.drain_cause is not None:
            self.schedule()

    def _take_turn(self, envelope: Envelope[Any]) -> Outcome:
        cell, context, dispatcher = self._cell, self._context, self._dispatcher
        behavior: Behavior[Any] = cell.life.behavior
        assert context is not None
        began_t = dispatcher.clock_s or cell.shared.now()
        dispatcher.clock_s = 0.0
        try:
            # handle(), inlined: 3 % of a message
            is_signal = envelope.lane is NOW and isinstance(envelope.message, Signal)
            waiting = (behavior.on_signal if is_signal else behavior.on_message)(envelope.message, context)
            if waiting is not None:
                if inspect.iscoroutine(waiting):
                    waiting.close()
                raise UsageError(
                    f"{cell.behavior_name}.on_message is a plain function, and must not return an awaitable"
                )
        except BaseException as error:  # noqa: BLE001, ASYNC103 - the boundary of a turn: the outcome table decides
            return finish(behavior, context, decide_outcome(error, requested=None, was_caught=False))  # noqa: ASYNC104 - nothing waits here, so no Cancelled can be in it
        dispatcher.clock_s = context.turn.commit(envelope, began_t)
        return COMPLETED

    def _end_if_idle(self, life: Incarnation) -> None:
        verdict = life.end_if_idle()
        if verdict is not None:
            self._follow(verdict)

    def _follow(self, verdict: Verdict) -> None:
        """Carry out the verdict on an incarnation that has just ended."""
        self._context, self._dispatcher.clock_s = None, 0.0  # watchers may have taken their time
        if self._back_off is not None:
            self._back_off.cancel()
            self._back_off = None
        if verdict.is_gone or verdict.delay_s is None:
            return
        self._cell.renew(verdict.delay_s)
        if verdict.delay_s:
            self.poke()
        else:  # not from here: a factory that raises repeatedly would recurse
            self.schedule()
