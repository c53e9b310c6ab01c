"""The loop of actors with a task, and the steps that it shares with the dispatcher: create, handle, finish.

Rule 1: one turn scope serves many turns and is replaced only after it was cancelled: opening one per message costs eight
times as much. Rule 2: an outcome is decided after its scope was left; only then is it known. Rule 3: from the return of the
handler to the end of the commit there is no await. Rule 4: only a `Cancelled` of outer scopes, KeyboardInterrupt and
SystemExit leave the task.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Awaitable, Coroutine
from typing import Any, Final

import attrs
import trio
from trio.lowlevel import checkpoint, checkpoint_if_cancelled, current_task, enable_ki_protection

from greenroom.actors._behavior import Behavior, Parent, is_plain, is_simple, overrides
from greenroom.actors._cell import CURRENT, Cell
from greenroom.actors._context import Context
from greenroom.actors._incarnation import Incarnation
from greenroom.actors._lifecycle import Outcome, decide_outcome, masked_error
from greenroom.actors._states import TERMINAL, State
from greenroom.actors._subscription import Signal
from greenroom.core import StartFailed, UsageError
from greenroom.mailbox import BUDGET, Envelope, Lane

BUDGET_S: Final = 0.001
"""A loop that never waits yields after this time, or after 64 messages."""

_TAKEN: Final = "_is_taken"
"""Marks a behavior that already belongs to an incarnation."""
# Once per message each: reading a member from its class costs 90 ns before Python 3.12.
NOW: Final = Lane.NOW
RUNNING: Final = State.RUNNING


# --- steps of both engines --------------------------------------------------------------------------------------------


def create(cell: Cell[Any]) -> tuple[Behavior[Any], Context]:
    """Begin an incarnation: create its behavior and its context.

    Raises:
        UsageError: The factory returned an object of another class than it declares, one that waits or cleans up while the
            declared class does not, or the behavior of another incarnation.
    """
    cell.life.begin()
    behavior = cell.factory()
    made, declared = type(behavior), cell.traits.behavior_class
    if not isinstance(behavior, declared):
        if isinstance(behavior, Coroutine):
            behavior.close()
        raise UsageError(
            f"a factory declared to return {declared.__name__} must return a new {declared.__name__}, got {behavior!r}"
        )
    factory: Any = cell.factory
    while isinstance(factory, functools.partial):
        factory = factory.func
    if not isinstance(factory, type):  # a class creates a new one each time
        if _TAKEN in vars(behavior):
            raise UsageError(
                f"a factory must return a new {made.__name__} for each actor and restart, got the same one twice"
            )
        vars(behavior)[_TAKEN] = True
    traits = cell.traits
    if made is not declared and (
        (traits.is_plain and not is_plain(made)) or (traits.is_simple and not is_simple(made))
    ):
        raise UsageError(
            f"a factory declared to return {declared.__name__} returned {made.__name__}, which needs a task or clean-up "
            f"that {declared.__name__} does not; annotate it with `-> {made.__name__}`"
        )
    cell.life.behavior = behavior
    return behavior, Context(cell)


def handle(behavior: Behavior[Any], envelope: Envelope[Any], context: Context) -> Awaitable[None] | None:
    """Call the handler of a message or signal."""
    if envelope.lane is NOW and isinstance(envelope.message, Signal):
        return behavior.on_signal(envelope.message, context)
    return behavior.on_message(envelope.message, context)


def finish(behavior: Behavior[Any], context: Context, outcome: Outcome) -> Outcome:
    """End a turn that did not simply return; return its outcome, after `on_unfinished`."""
    turn = context.turn
    if outcome.state is not State.COMPLETED:
        assert turn.envelope is not None
        try:
            behavior.on_unfinished(turn.envelope.message, outcome, context)
        except Exception as error:  # noqa: BLE001 - the boundary of a turn: an error in here is an error of the turn
            failure: BaseException = error
            if outcome.error is not None:
                failure = BaseExceptionGroup("the turn failed, and so did on_unfinished", [outcome.error, error])
            during_kill = outcome.during_kill or outcome.state is State.KILLED
            outcome = attrs.evolve(outcome, state=State.FAILED, error=failure, during_kill=during_kill)
    turn.end(outcome, behavior.unfinished)
    return outcome


# --- the task ---------------------------------------------------------------------------------------------------------


@enable_ki_protection
async def run_cell(cell: Cell[Any]) -> None:
    """Run an actor as the current task, across restarts in place."""
    CURRENT.set(cell)
    while True:
        life = cell.life
        life.task = current_task()
        error: BaseException | None = None
        behavior: Behavior[Any] | None = None
        context: Context | None = None
        scope = life.scope = trio.CancelScope(shield=True)
        try:
            with scope:
                if life.delay_s and life.kill_cause is None:
                    await trio.sleep(life.delay_s)
                if life.kill_cause is None:
                    behavior, context = create(cell)
                    # One frame less for those without a nursery: every wait goes through all of them.
                    await (_serve_with_nursery if behavior.actor_tasks else _serve)(cell, behavior, context)
        except BaseException as caught:  # noqa: BLE001, ASYNC103, ASYNC104 - the boundary: the outcome table decides
            error = caught
        if life.state in TERMINAL:
            return  # it was ended while it was idle
        outcome = await _settle(life, behavior, context, error, was_caught=scope.cancelled_caught)
        behavior = context = None
        verdict = cell.exit(outcome)
        if outcome.reraise is not None:
            raise outcome.reraise
        if verdict.is_gone or verdict.delay_s is None:
            return
        cell.renew(verdict.delay_s)


async def _settle(
    life: Incarnation,
    behavior: Behavior[Any] | None,
    context: Context | None,
    error: BaseException | None,
    *,
    was_caught: bool,
) -> Outcome:
    """Clean up after an incarnation and return its outcome."""
    if life.state is State.PENDING:
        return Outcome(state=State.KILLED, by="own", cause=life.kill_cause)
    was_cut, clean_up_error = False, None
    if behavior is not None and context is not None and overrides(type(behavior), "on_stop"):
        was_cut, clean_up_error = await _clean_up(behavior, context, life.cell.spec.kill_grace_s)
    if error is not None and clean_up_error is not None:
        error = BaseExceptionGroup("the actor failed, and so did its clean-up", [error, clean_up_error])
    outcome = decide_outcome(error or clean_up_error, requested=life.kill_cause, was_caught=was_caught)
    return attrs.evolve(outcome, cleanup_cut=True) if was_cut else outcome


async def _clean_up(behavior: Behavior[Any], context: Context, grace_s: float) -> tuple[bool, BaseException | None]:
    """Run the behavior's `on_stop`; return True if it was cut short, and its error."""
    grace = trio.CancelScope(deadline=trio.current_time() + grace_s, shield=True)
    try:
        with grace:
            await behavior.on_stop(context)
    except BaseException as caught:  # noqa: BLE001, ASYNC103, ASYNC104 - part of the run: it fails the incarnation
        return False, caught  # noqa: ASYNC104 - the outcome table raises it again where it has to
    return grace.cancelled_caught, None


async def _serve_with_nursery(cell: Cell[Any], behavior: Behavior[Any], context: Context) -> None:
    async with trio.open_nursery() as nursery:
        cell.life.nursery = nursery
        try:
            await _serve(cell, behavior, context)
            if isinstance(behavior, Parent):
                await behavior.stop_children()
        finally:
            # The last guard: children are shielded, so outside this block they would never be reached.
            if isinstance(behavior, Parent):
                behavior.end_children()
        nursery.cancel_scope.cancel("the actor has ended")


async def _start(cell: Cell[Any], behavior: Behavior[Any], context: Context, scope: trio.CancelScope) -> None:
    if overrides(type(behavior), "on_start"):
        deadline = cell.shared.timers.after(cell.spec.start_timeout_s, scope.cancel)
        try:
            await behavior.on_start(context)
        finally:
            deadline.cancel()
        if scope.cancel_called:
            raise _late(cell)
    cell.set_ready()


def _late(cell: Cell[Any]) -> StartFailed:
    return StartFailed(cell.id, f"on_start timed out after {cell.spec.start_timeout_s:g} s", path=cell.path)


async def _serve(cell: Cell[Any], behavior: Behavior[Any], context: Context) -> None:
    """Take turns until the actor is stopped; raise what ends the incarnation."""
    life = cell.life
    turn = life.turn
    while True:
        scope = turn.scope = trio.CancelScope()
        turn.abort_cause, turn.is_told, hidden = None, False, ""
        error: BaseException | None = None
        try:
            with scope:
                if not life.is_ready:
                    await _start(cell, behavior, context, scope)
                try:
                    await _take_turns(life, behavior, context)
                except BaseException as leaving:
                    hidden = masked_error(leaving)  # in here: the scope keeps its own `Cancelled` to itself
                    raise
        except BaseException as caught:  # noqa: BLE001, ASYNC103, ASYNC104 - the boundary of a turn: the outcome table decides
            error = caught
        if life.state is not RUNNING or turn.envelope is None:
            if error is not None:
                raise error
            if scope.cancelled_caught and not life.is_ready:
                raise _late(cell)
            return
        requested = life.turn.abort_cause or life.kill_cause
        outcome = decide_outcome(error, requested=requested, was_caught=scope.cancelled_caught)
        outcome = turn.observed(outcome, hidden=hidden)
        outcome = finish(behavior, context, outcome)
        if outcome.reraise is not None:
            raise outcome.reraise
        if outcome.error is not None and (behavior.on_failure == "crash" or outcome.must_crash):
            raise outcome.error


async def _take_turns(life: Incarnation, behavior: Behavior[Any], context: Context) -> None:
    """Handle messages one after another; return with no turn open when stopped, with one open when aborted late."""
    cell, task, turn = life.cell, current_task(), life.turn
    mailbox, now = cell.mailbox, cell.shared.now
    # Past `Mailbox.take`, unless there is something to record: 4 % of a message.
    taken_from = mailbox.lanes if mailbox.trace is None else mailbox
    has_events, has_turn_tasks = turn.has_events, behavior.turn_tasks
    budget = BUDGET
    began_t, yield_t = now(), math.inf
    while life.state is RUNNING:  # otherwise it was ended while it was idle
        if budget <= 0 or began_t > yield_t:
            await checkpoint()
            budget = BUDGET
            began_t = now()
            yield_t = began_t + BUDGET_S
            continue
        if life.kill_cause is not None:  # a handler that never waits has not noticed
            await checkpoint_if_cancelled()
        if life.stop_cause is not None:
            return
        envelope = None if life.is_suspended else taken_from.take()
        if envelope is None:
            if cell.drain_cause is None or not life.stop_if_drained():
                await mailbox.parked(task)
            budget = BUDGET
            began_t = now()
            yield_t = began_t + BUDGET_S
            continue
        if not has_events and (envelope.reply is None or envelope.reply.is_open):
            # Turn.begin(), inlined: 3 % of a message
            turn.number += 1
            turn.envelope = envelope
        elif not turn.begin(envelope):
            budget -= 1
            continue
        if has_turn_tasks:
            await _with_nursery(behavior, envelope, context)
        else:  # handle(), inlined: 6 % of a message
            is_signal = envelope.lane is NOW and isinstance(envelope.message, Signal)
            waiting = (behavior.on_signal if is_signal else behavior.on_message)(envelope.message, context)
            if waiting is not None:
                await waiting
        if turn.abort_cause is not None:
            return
        began_t = turn.commit(envelope, began_t)
        budget -= 1


async def _with_nursery(behavior: Behavior[Any], envelope: Envelope[Any], context: Context) -> None:
    turn = context.turn
    try:
        async with trio.open_nursery() as nursery:
            turn.nursery = nursery
            try:
                waiting = handle(behavior, envelope, context)
                if waiting is not None:
                    await waiting
            finally:
                turn.end_links()
            if nursery.child_tasks:
                nursery.cancel_scope.cancel("the turn has ended")
            else:  # Trio yields where it leaves a nursery, and can cancel nothing there: Rule 3 holds
                turn.is_committing = True
    finally:
        turn.nursery = None
        turn.is_committing = False
