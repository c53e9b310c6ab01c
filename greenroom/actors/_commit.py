"""What the end of a turn does with the message in hand, and with what the turn asked for.

Rule 1: each of the two is one step. Rule 2: a message that was acknowledged or postponed in the turn is nobody's twice.
Must not know: how turns are run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from greenroom.actors._behavior import Unfinished
from greenroom.actors._lifecycle import Outcome, State
from greenroom.core import StashFull, TurnFailed
from greenroom.mailbox import DeadReason, Envelope
from greenroom.waiting import NOTHING

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell


def commit_turn(cell: Cell[Any], envelope: Envelope[Any]) -> None:
    """Make true what the turn asked for: its answer, its acknowledgement, its outbox."""
    outbox, cell.outbox = cell.outbox, None
    if outbox is not None and outbox.is_postponed:
        cell.mailbox.postpone(envelope)
    else:
        if envelope.reply is not None:
            _answer(cell, envelope)
        if not cell.is_acked:
            cell.mailbox.ack(envelope)
    if outbox is not None:
        outbox.commit(cell)


def _answer(cell: Cell[Any], envelope: Envelope[Any]) -> None:
    reply, answer, cell.answer = envelope.reply, cell.answer, NOTHING
    assert reply is not None
    if answer is NOTHING:
        reply.fail(
            TurnFailed(cell.id, f"it handled {type(envelope.message).__name__} without ctx.reply()", path=cell.path)
        )
    elif not reply.answer(answer):
        cell.shared.directory.refused(cell, answer, envelope.lane, DeadReason.LATE_REPLY)


def notify_unfinished(cell: Cell[Any], envelope: Envelope[Any], outcome: Outcome) -> Outcome:
    """Let the behavior react to a turn that failed or was killed; returns the outcome, failed if that raised."""
    behavior, context = cell.behavior, cell.context
    assert behavior is not None
    assert context is not None
    try:
        behavior.on_unfinished(envelope.message, outcome, context)
    except Exception as error:  # noqa: BLE001 - the boundary of a turn: an error in here is an error of the turn
        was_killed = outcome.state is State.KILLED
        failure: BaseException = error
        if outcome.error is not None:
            failure = BaseExceptionGroup("the turn failed, and so did on_unfinished", [outcome.error, error])
        outcome = attrs.evolve(
            outcome, state=State.FAILED, error=failure, during_kill=was_killed or outcome.during_kill
        )
    return outcome


def give_up_turn(cell: Cell[Any], envelope: Envelope[Any], outcome: Outcome) -> None:
    """Drop what the turn asked for; its message goes the way of the behavior's policy, an ask gets the error."""
    outbox, cell.outbox = cell.outbox, None
    if outbox is not None:
        outbox.drop()
        for polled in reversed(outbox.polled):
            _give_up(cell, polled, outcome)
    if envelope.reply is not None:
        envelope.reply.fail(outcome.error_for(cell.id, cell.path))
    if not cell.is_acked:
        _give_up(cell, envelope, outcome)


def _give_up(cell: Cell[Any], envelope: Envelope[Any], outcome: Outcome) -> None:
    policy = cell.behavior.unfinished if cell.behavior is not None else Unfinished.DROP
    if isinstance(outcome.error, StashFull):
        cell.mailbox.bury(envelope, DeadReason.STASH_OVERFLOW)
    elif policy is Unfinished.DROP or envelope.reply is not None:
        is_failed = outcome.state is State.FAILED
        cell.mailbox.bury(envelope, DeadReason.FAILED if is_failed else DeadReason.ABORTED)
    elif policy is Unfinished.KEEP:
        # An abort says nothing against a message; one that fails whoever takes it would be taken for ever.
        cell.mailbox.postpone(envelope, counts=outcome.state is State.FAILED)
    else:
        cell.mailbox.nack(envelope)
