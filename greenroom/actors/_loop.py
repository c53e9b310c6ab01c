"""The loop of an actor that is a Trio task: lease, turn, commit; and the task's way from its first step to its last.

Rule 1: one turn scope serves many turns and is replaced only after it was cancelled: opening one per message costs
eight times more. Rule 2: an outcome is read after its scope was left; only then is it known. Rule 3: from the handler's
return to the end of the commit there is no await. Rule 4: nothing but `Cancelled` of others, KeyboardInterrupt and
SystemExit leaves the task.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable
from typing import Any, Final

import attrs
import trio
from trio.lowlevel import checkpoint, checkpoint_if_cancelled, current_task, enable_ki_protection

from greenroom.actors._behavior import Behavior, Parent, overrides
from greenroom.actors._cell import CURRENT, Cell
from greenroom.actors._context import Context, make_context
from greenroom.actors._incidents import note_incident
from greenroom.actors._inspection import end_drained
from greenroom.actors._lifecycle import TERMINAL, Outcome, State, decide_outcome, masked_error
from greenroom.actors._links import end_links
from greenroom.actors._signals import Signal
from greenroom.core import Cause, Level, StartFailed
from greenroom.mailbox import BUDGET, DeadReason, Envelope, Lane

BUDGET_S: Final = 0.001
"""A loop that never waits yields after this time, or after 64 messages."""

_NOW: Final = Lane.NOW


@enable_ki_protection
async def run_cell(cell: Cell[Any]) -> None:
    """Be the actor's task, across the restarts that happen in place."""
    CURRENT.set(cell)
    while True:
        cell.task = current_task()
        error: BaseException | None = None
        scope, incarnation = cell.life_scope, cell.incarnation
        try:
            with scope:
                if cell.delay_s:
                    await trio.sleep(cell.delay_s)
                if cell.kill_cause is None:
                    cell.begin()
                    behavior = make_context(cell)
                    assert cell.context is not None
                    # One frame less for those without a nursery: every wait goes through all of them.
                    await (_serve_with_nursery if behavior.actor_tasks else _serve)(cell, behavior, cell.context)
        except BaseException as caught:  # noqa: BLE001, ASYNC103, ASYNC104 - the boundary: the outcome table says what becomes of it
            error = caught
        if cell.incarnation != incarnation or cell.state in TERMINAL:
            return  # somebody ended it while it was idle, so that there is nothing left to decide
        outcome = await _settle(cell, error, was_caught=scope.cancelled_caught)
        verdict = cell.exit(outcome)
        if outcome.reraise is not None:
            raise outcome.reraise
        if verdict.is_gone or verdict.delay_s is None:
            return
        cell.renew(verdict.delay_s)


async def _settle(cell: Cell[Any], error: BaseException | None, *, was_caught: bool) -> Outcome:
    """Clean up after an incarnation and say how it ended."""
    if cell.state is State.PENDING:
        return Outcome(state=State.KILLED, by="own", cause=cell.kill_cause)
    was_cut, clean_up_error = await _clean_up(cell)
    if error is not None and clean_up_error is not None:
        error = BaseExceptionGroup("the actor failed, and so did its clean-up", [error, clean_up_error])
    else:
        error = error or clean_up_error
    outcome = decide_outcome(error, requested=cell.kill_cause, was_caught=was_caught)
    return attrs.evolve(outcome, cleanup_cut=True) if was_cut else outcome


async def _clean_up(cell: Cell[Any]) -> tuple[bool, BaseException | None]:
    """Run the behavior's `on_stop`; returns whether it was cut short, and its error."""
    behavior, context = cell.behavior, cell.context
    if behavior is None or context is None or not overrides(behavior, "on_stop"):
        return False, None
    grace = trio.CancelScope(deadline=trio.current_time() + cell.kill_grace_s, shield=True)
    try:
        with grace:
            await behavior.on_stop(context)
    except BaseException as caught:  # noqa: BLE001, ASYNC103, ASYNC104 - part of the run: it fails the incarnation
        return False, caught  # noqa: ASYNC104 - the outcome table raises it again where it has to
    return grace.cancelled_caught, None


async def _serve_with_nursery(cell: Cell[Any], behavior: Behavior[Any], context: Context) -> None:
    async with trio.open_nursery() as nursery:
        context.nursery = nursery
        try:
            await _serve(cell, behavior, context)
            if isinstance(behavior, Parent):
                await behavior.stop_children()
        finally:
            # The last guard (kernel 9.6): children are shielded, so outside this block it would never be reached.
            if isinstance(behavior, Parent):
                behavior.end_children()
        nursery.cancel_scope.cancel("the actor has ended")


async def _start(cell: Cell[Any], behavior: Behavior[Any], context: Context, scope: trio.CancelScope) -> None:
    if overrides(behavior, "on_start"):
        deadline = cell.shared.timers.after(cell.start_timeout_s, scope.cancel)
        try:
            await behavior.on_start(context)
        finally:
            deadline.cancel()
        if scope.cancel_called:
            raise _late(cell)
    cell.set_ready()


def _late(cell: Cell[Any]) -> StartFailed:
    return StartFailed(cell.id, f"on_start took more than {cell.start_timeout_s:g} s", path=cell.path)


async def _serve(cell: Cell[Any], behavior: Behavior[Any], context: Context) -> None:
    """Take turns until the actor is stopped; raises what ends the incarnation."""
    while True:
        scope = cell.turn_scope = trio.CancelScope()
        cell.abort_cause, cell.is_told, hidden = None, False, ""
        error: BaseException | None = None
        try:
            with scope:
                if not cell.is_ready:
                    await _start(cell, behavior, context, scope)
                try:
                    await _take_turns(cell, behavior, context)
                except BaseException as leaving:
                    hidden = masked_error(leaving)  # in here: the scope keeps its own `Cancelled` to itself
                    raise
        except BaseException as caught:  # noqa: BLE001, ASYNC103, ASYNC104 - the boundary of a turn: the outcome table decides
            error = caught
        if cell.context is not context or not cell.is_busy:
            if error is not None:
                raise error
            if scope.cancelled_caught and not cell.is_ready:
                raise _late(cell)
            return
        requested = _requested(cell)
        outcome = decide_outcome(error, requested=requested, was_caught=scope.cancelled_caught)
        outcome = note_incident(cell, outcome, hidden=hidden)
        outcome = cell.end_turn(outcome)
        if outcome.reraise is not None:
            raise outcome.reraise
        if outcome.error is not None and (behavior.on_failure == "crash" or outcome.must_crash):
            raise outcome.error


async def _take_turns(cell: Cell[Any], behavior: Behavior[Any], context: Context) -> None:
    """Handle messages one after another; returns with no turn open when stopped, with one open when aborted late."""
    mailbox, task = cell.mailbox, current_task()
    now = cell.recorder.now
    has_turn_events = cell.level >= Level.TURNS
    has_turn_tasks = behavior.turn_tasks
    budget = BUDGET
    began_t, yield_t = now(), math.inf
    while cell.context is context:  # else it was ended while it was idle
        if budget <= 0 or began_t > yield_t:
            await checkpoint()
            budget = BUDGET
            began_t = now()
            yield_t = began_t + BUDGET_S
            continue
        if cell.kill_cause is not None:  # a handler that never waits has not noticed
            await checkpoint_if_cancelled()
        if cell.stop_cause is not None:
            return
        envelope = None if cell.is_suspended else mailbox.take()
        if envelope is None:
            if cell.drain_cause is None or not end_drained(cell):
                await mailbox.parked(task)
            budget = BUDGET
            began_t = now()
            yield_t = began_t + BUDGET_S
            continue
        if envelope.reply is not None and not envelope.reply.is_open:
            mailbox.bury(envelope, DeadReason.EXPIRED)
            budget -= 1
            continue
        cell.turn += 1
        cell.envelope = envelope
        cell.is_busy = True
        if has_turn_events:
            cell.note_turn_began(envelope)
        waiting: Awaitable[None] | None
        if has_turn_tasks:
            waiting = _with_nursery(cell, behavior, envelope, context)
        else:
            is_signal = envelope.lane is _NOW and isinstance(envelope.message, Signal)
            waiting = (behavior.on_signal if is_signal else behavior.on_message)(envelope.message, context)
        if waiting is not None:
            await waiting
        if cell.abort_cause is not None:
            return
        began_t = cell.commit(envelope, began_t)
        budget -= 1


async def _with_nursery(cell: Cell[Any], behavior: Behavior[Any], envelope: Envelope[Any], context: Context) -> None:
    try:
        async with trio.open_nursery() as nursery:
            context.turn.nursery = nursery
            try:
                is_signal = isinstance(envelope.message, Signal)
                waiting = (behavior.on_signal if is_signal else behavior.on_message)(envelope.message, context)
                if waiting is not None:
                    await waiting
            finally:
                end_links(cell)
            if nursery.child_tasks:
                nursery.cancel_scope.cancel("the turn has ended")
            else:  # Trio yields where it leaves a nursery, and can cancel nothing there: Rule 3 all the same
                cell.is_committing = True
    finally:
        context.turn.nursery = None
        cell.is_committing = False


def _requested(cell: Cell[Any]) -> Cause | None:  # a function, because types are narrowed by what `_serve` last set
    return cell.abort_cause or cell.kill_cause
