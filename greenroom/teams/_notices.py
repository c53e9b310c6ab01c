"""Notices of the runtime: to a lead, that a teammate is idle or has ended; to a member, that it was given an item.

A notice never holds the result of a teammate's work: the teammate reports that itself. The lead reads only the latest notice
about a teammate; an older unread one is dropped. Notices wait in the lane of peers, so that one turn reads all of them.
An assignment notice promises nothing: the board hands the item out when its owner is free.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from greenroom.actors import Down
from greenroom.agents import Note
from greenroom.mailbox import Lane
from greenroom.teams._board_items import ItemStatus
from greenroom.teams._board_messages import ItemAssignment
from greenroom.teams._idle_reasons import IdleReason
from greenroom.teams._member_names import LEAD
from greenroom.teams._protocol_json import write_text
from greenroom.teams._roster import Member, Roster
from greenroom.teams._team_protocol import IdleNotification, ProtocolMessage, TaskAssignment, TeammateTerminated
from greenroom.teams._teammate_events import TeammateIdled, TeammateLeft, TeammateParked
from greenroom.teams._teammate_status import Idling, MemberStatus, TeammateStep, is_news

COMPLETED: Final = "completed"


def settle(roster: Roster, name: str) -> None:
    """Mark a teammate idle when no task is available; called in the board's step."""
    member = roster.members.get(name)
    if member is None or member.idling is None or member.ref.is_gone:
        return
    idling, member.idling = member.idling, None
    member.take(TeammateStep.NOTHING_LEFT)
    if member.status is MemberStatus.AWAITING_PLAN:  # the lead has its plan, which says more
        return
    if not member.is_at_rest:
        member.is_at_rest = True
        roster.emit(
            TeammateIdled(
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
    """Notify the lead that a teammate is idle, if that is news."""
    item = roster.home.state.items.get(idling.item)
    is_completed = item is not None and item.status is ItemStatus.COMPLETED
    if item is not None and item.findings and not member.was_asked and idling.reason is IdleReason.AVAILABLE:
        return  # the board tells of it
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
    """Record that a teammate's actor has ended with its team."""
    roster.emit(TeammateParked(actor=member.ref.id, team=roster.team, name=member.name))


def tell_end(roster: Roster, member: Member, down: Down, *, is_told: bool) -> None:
    """Record that a teammate has ended, and notify the lead if it ever knew of it."""
    why = f"{down.cause.who}: {down.cause.why}" if down.cause is not None else str(down.error or "")
    roster.emit(TeammateLeft(actor=member.ref.id, team=roster.team, name=member.name, state=down.state.value, why=why))
    if not is_told:
        return
    because = f" ({down.state.value}; {why})" if why else f" ({down.state.value})"
    message = TeammateTerminated(
        message=f"{member.name} has shut down{because}. Its name is not given to anybody else."
    )
    member.told = None
    _tell(roster, member, message, None)


def _tell(roster: Roster, member: Member, message: ProtocolMessage, word: Idling | None) -> None:
    text = write_text(message)
    note = Note(text, member.name, is_answered=lambda: member.told is not word)
    roster.lead.ref.tell(note, Lane.LATER, size_bytes=len(text))


def tell_assignment(roster: Roster, wall: Callable[[], datetime], assignment: ItemAssignment) -> None:
    """Notify the new owner of an item, in the board's step; owners that have ended are not notified."""
    member = roster.members.get(assignment.owner)
    if member is None:
        return
    item, by = assignment.item, assignment.by
    message = TaskAssignment(
        task_id=item.id,
        subject=item.subject,
        description=item.description,
        assigned_by=by,
        timestamp=wall().isoformat(),
    )
    text = write_text(message)
    member.ref.tell(Note(text, by), Lane.NEXT if by == LEAD else Lane.LATER, size_bytes=len(text))
