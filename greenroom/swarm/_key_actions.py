"""The actions of keys: the same calls that a program makes, each with a line about its result."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from greenroom.core import GreenroomError
from greenroom.mailbox import Delivery
from greenroom.permissions import Allow, Deny, Receipt
from greenroom.terminal.screen import Interrupt, Kill, KillAll, OpenQuestion, Quit, ScreenAction, Settle, Tell

if TYPE_CHECKING:
    from greenroom.session import Session
    from greenroom.teams import Team

WHY: Final = "asked for at the terminal"
_MAX_ARGUMENT_CHARS: Final = 1_000


def questions_of(session: Session) -> tuple[OpenQuestion, ...]:
    """Return the calls that wait for a person, the one that waits longest first."""
    return tuple(
        OpenQuestion(
            id=asked.id, who=asked.label or asked.agent, text=f"wants to use {call_words(asked.tool, asked.input)}"
        )
        for asked in session.permissions.approvals.waiting()
    )


def call_words(tool: str, values: Mapping[str, Any]) -> str:
    """Return a call with all its arguments on one line, each cut where it is long: the first by its value, the others by name."""
    texts = [(name, " ".join(_cut(str(value)).split())) for name, value in values.items()]
    if not texts:
        return tool
    (_, first), *others = texts
    more = f" ({', '.join(f'{name}: {text}' for name, text in others)})" if others else ""
    return f"{tool}: {first}{more}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_ARGUMENT_CHARS else f"{text[:_MAX_ARGUMENT_CHARS]} ..."


def carry_out(action: ScreenAction, session: Session, team: Team | None) -> str:
    """Do what a key says, and return in a line what came of it; empty where that is seen anyway."""
    match action:
        case Quit():
            signal.raise_signal(signal.SIGINT)  # as Ctrl+C does
        case Settle(question=question, is_allowed=is_allowed):
            answer = Allow() if is_allowed else Deny(message="The person at the terminal refused it.")
            was_taken = session.permissions.approvals.answer(question.id, answer) is Receipt.TAKEN
            return "" if was_taken else "that question has ended"
        case KillAll():
            killed = session.tasks.kill_all(WHY)  # teammates are tasks too
            return f"killed {len(killed)} teammates and background tasks"
        case Interrupt(target=target) | Tell(target=target) if target.id == session.main.id:
            return _to_lead(action, session)
        case Interrupt(target=target) | Kill(target=target) | Tell(target=target):
            if not target.is_teammate:
                return f"{target.name} belongs to the agent that started it; interrupt that one"
            return _to_teammate(action, team) if team is not None else f"{target.name} has ended"
    return ""


def _to_lead(action: Interrupt | Tell, session: Session) -> str:
    if isinstance(action, Interrupt):
        return f"{action.target.name}: {session.interrupt(WHY).status}"
    try:
        session.send(action.text)
    except GreenroomError as error:
        return f"the message to {action.target.name} was not sent: {error}"
    return f"message sent to {action.target.name}"


def _to_teammate(action: Interrupt | Kill | Tell, team: Team) -> str:
    name = action.target.name
    mate = team.teammates.get(name)
    if mate is None or mate.ref.is_gone:
        return f"{name} has ended"
    if isinstance(action, Interrupt):
        return f"{name}: {mate.abort_turn(WHY).status}"
    if isinstance(action, Kill):
        mate.kill(WHY)
        return ""  # the events tell it
    delivery = mate.tell(action.text)
    return f"message sent to {name}" if delivery is Delivery.ACCEPTED else f"{name}: {delivery}"
