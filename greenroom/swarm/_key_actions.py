"""The actions of keys: the same calls that a program makes, each with a line about its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from greenroom.core import GreenroomError
from greenroom.mailbox import Delivery
from greenroom.permissions import Allow, Deny, Receipt
from greenroom.swarm._controls import Action, Interrupt, KeyQuestion, Kill, KillAll, Settle, Target, Tell
from greenroom.terminal import LEAD

if TYPE_CHECKING:
    from greenroom.session import Session
    from greenroom.teams import Team

WHY: Final = "asked for at the terminal"


def targets_of(session: Session, team: Team | None) -> list[Target]:
    """Return the agents that keys can select: the lead, then the living teammates."""
    mates = team.teammates.values() if team is not None else ()
    return [
        Target(session.main.id, LEAD, is_mate=False),
        *(Target(mate.ref.id, mate.name, is_mate=True) for mate in mates if not mate.ref.is_gone),
    ]


def question_of(session: Session) -> KeyQuestion | None:
    """Return the question that waits longest for a person."""
    waiting = session.permissions.approvals.waiting()
    if not waiting:
        return None
    first, more = waiting[0], len(waiting) - 1
    behind = f" ({more} more wait)" if more else ""
    return KeyQuestion(first.id, f"{first.label or first.agent} wants to use {first.tool}: {first.summary}{behind}")


def carry_out(action: Action, session: Session, team: Team | None) -> str:
    """Do what a key says, and return in a line what came of it."""
    mates = team.teammates if team is not None else {}
    match action:
        case Settle(question=question, is_allowed=is_allowed):
            answer = Allow() if is_allowed else Deny(message="The person at the terminal refused it.")
            was_taken = session.permissions.approvals.answer(question.id, answer) is Receipt.TAKEN
            return ("allowed" if is_allowed else "refused") if was_taken else "that question has ended"
        case KillAll():
            killed = session.tasks.kill_all(WHY)  # teammates are tasks too
            return f"killed {len(killed)} mates and background tasks"
        case Interrupt(target=target) if not target.is_mate:
            return f"{target.name}: {session.interrupt(WHY).status}"
        case Tell(target=target, text=text) if not target.is_mate:
            try:
                session.send(text)
            except GreenroomError as error:
                return f"{target.name} was not told: {error}"
            return f"{target.name} is told"
        case Interrupt(target=target) | Kill(target=target) | Tell(target=target):
            mate = mates.get(target.name)
            if mate is None or mate.ref.is_gone:
                return f"{target.name} has ended"
            if isinstance(action, Interrupt):
                return f"{target.name}: {mate.abort_turn(WHY).status}"
            if isinstance(action, Kill):
                mate.kill(WHY)
                return f"{target.name} is killed"
            delivery = mate.tell(action.text)
            return f"{target.name} is told" if delivery is Delivery.ACCEPTED else f"{target.name}: {delivery}"
