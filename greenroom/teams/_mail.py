"""Mail between the members of a team: the tool `SendMessage`. Must not know: the board."""

from __future__ import annotations

import json

from greenroom.agents import Note
from greenroom.core import JournalError
from greenroom.mailbox import Delivery, Lane
from greenroom.teams._events import MailSent
from greenroom.teams._names import EVERYBODY, LEAD
from greenroom.teams._roster import Roster
from greenroom.tools import Tool, ToolContext, ToolError, tool


def mail_tool(roster: Roster, me: str) -> Tool:
    """Return the mail tool of the member called `me`."""

    @tool(name="SendMessage")
    async def send(to: str, message: str, ctx: ToolContext, summary: str = "") -> str:
        """Send a message to a member of the team. What you write otherwise is not seen by the others.

        Args:
            to: The member's name, `lead` for the lead, `*` for everybody else.
            message: The text.
            summary: What it is about, in five to ten words.
        """
        found = roster.find(to)
        names = (
            [name for name in roster.members if name != me]
            if to == EVERYBODY
            else [to if found is None else found.name]
        )
        _check_open(roster)
        for name in names:
            member = roster.members.get(name)
            if member is None or name == me:
                others = ", ".join(repr(one) for one in roster.members if one != me) or "nobody"
                raise ToolError(f"there is no other member {name!r} in this team; there is {others}")
            lane = Lane.NEXT if me == LEAD else Lane.LATER
            delivery = member.ref.tell(Note(message, me), lane, size_bytes=len(message))
            if delivery is not Delivery.ACCEPTED:
                raise ToolError(f"the message to {name!r} was not delivered: its mailbox is {delivery}")
            roster.emit(MailSent(actor=ctx.actor, sender=me, to=name, summary=summary or message[:80]))
        await _wait_durable(roster)
        return _json({"success": True, "message": f"Message sent to {', '.join(names) or 'nobody'}"})

    return send


def _check_open(roster: Roster) -> None:
    try:
        roster.check_open()
    except JournalError as error:
        raise ToolError(f"the message was not sent: {error}") from error


async def _wait_durable(roster: Roster) -> None:
    try:
        await roster.wait_durable()
    except JournalError as error:
        raise ToolError(f"the message was sent, but may be lost: {error}") from error


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
