"""What the runtime tells a lead of its mates: that one has nothing to do, that one is there no more.

Rule 1: never what a mate's work came to: that the mate says itself. Rule 2: of one mate the lead reads the latest word only; what it
has not read by then, it does not read any more. Rule 3: it waits in the lane of peers, so that one turn reads all that waits.
"""

from __future__ import annotations

from typing import Final

from greenroom.actors import Down
from greenroom.agents import Note
from greenroom.mailbox import Lane
from greenroom.teams._items import ItemStatus
from greenroom.teams._lifecycle import Idling, MateStep, MemberStatus, is_news
from greenroom.teams._mate_events import MateIdled, MateLeft, MateParked
from greenroom.teams._protocol import IdleNotification, IdleReason, Message, TeammateTerminated
from greenroom.teams._roster import Member, Roster
from greenroom.teams._wire import write_text

COMPLETED: Final = "completed"


def settle(roster: Roster, name: str) -> None:
    """Let a mate be idle for which the board has nothing; called in the board's step."""
    member = roster.members.get(name)
    if member is None or member.idling is None or member.ref.is_gone:
        return
    idling, member.idling = member.idling, None
    member.take(MateStep.NOTHING_LEFT)
    if member.status is MemberStatus.AWAITING_PLAN:  # the lead has its plan, which says more
        return
    if not member.is_at_rest:
        member.is_at_rest = True
        roster.emit(
            MateIdled(
                actor=member.ref.id,
                team=roster.team,
                name=name,
                reason=idling.reason.value,
                item=idling.item,
                failure=idling.failure,
            )
        )
    tell_idling(roster, member, idling)


def tell_idling(roster: Roster, member: Member, idling: Idling) -> None:
    """Tell the lead that a mate is idle, if that is news."""
    item = roster.home.state.items.get(idling.item)
    is_completed = item is not None and item.status is ItemStatus.COMPLETED
    if not is_news(member.told, idling, was_active=member.was_active, was_asked=member.was_asked):
        return
    member.told, member.was_active, member.was_asked = idling, False, False
    said, member.said = member.said, []
    message = IdleNotification(
        sender=member.name,
        timestamp=roster.wall().isoformat(timespec="milliseconds"),
        idle_reason=IdleReason(idling.reason),
        summary="; ".join(said),
        completed_task_id=idling.item if is_completed else "",
        completed_status=COMPLETED if is_completed else "",
        failure_reason=idling.failure,
    )
    _tell(roster, member, message, idling)


def park(roster: Roster, member: Member) -> None:
    """Put on record that a mate's actor has ended with its team."""
    roster.emit(MateParked(actor=member.ref.id, team=roster.team, name=member.name))


def tell_end(roster: Roster, member: Member, down: Down, *, is_told: bool) -> None:
    """Put on record that a mate is there no more, and tell the lead if it ever heard of that mate."""
    why = f"{down.cause.who}: {down.cause.why}" if down.cause is not None else str(down.error or "")
    roster.emit(MateLeft(actor=member.ref.id, team=roster.team, name=member.name, state=down.state.value, why=why))
    if not is_told:
        return
    because = f" ({down.state.value}; {why})" if why else f" ({down.state.value})"
    message = TeammateTerminated(
        message=f"{member.name} has shut down{because}. Its name is not given to anybody else."
    )
    member.told = None
    _tell(roster, member, message, None)


def _tell(roster: Roster, member: Member, message: Message, word: Idling | None) -> None:
    text = write_text(message)
    note = Note(text, member.name, is_answered=lambda: member.told is not word)
    roster.lead.ref.tell(note, Lane.LATER, size_bytes=len(text))
