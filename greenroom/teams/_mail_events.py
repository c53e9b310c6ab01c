"""What teams put on record of mail, and how it stands, folded from that.

Rule 1: a message is on record before anybody is handed it. Rule 2: it comes to one end: read, when it stands in a conversation, or
returned; what has come to none waits, also for a later process. Rule 3: what cannot be read is put aside once, and keeps nothing from
the rest. Must not know: clock, disk, Trio, actors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import Event, IllegalTransition


@attrs.frozen(kw_only=True)
class MailEvent(Event):
    """A fact about one message."""

    team: str = ""
    """Name of the team."""
    mail: int = 0
    """Its number in that team, from 1; 0 in journals of earlier versions."""


@final
@attrs.frozen(kw_only=True)
class MailSent(MailEvent):
    """A member of a team sent a message to another: it is on its way."""

    kind: ClassVar[str] = "mail.sent"

    sender: str
    """Name of the member that wrote it."""
    to: str
    """Name of the member that gets it."""
    summary: str
    """What it is about; without one, its first 80 characters."""
    text: str = ""
    """All of it; of a message of the protocol, its wire form."""
    text_of: int = 0
    """Number of the message that says the same and has the text, where one goes to many; 0 for this one."""


@final
@attrs.frozen(kw_only=True)
class MailRead(MailEvent):
    """A message stands in the conversation of the member that it was for."""

    kind: ClassVar[str] = "mail.read"

    to: str
    """Name of that member."""


@final
@attrs.frozen(kw_only=True)
class MailReturned(MailEvent):
    """A message that nobody reads: a dead letter of the team; its sender was told."""

    kind: ClassVar[str] = "mail.returned"

    sender: str
    """Name of the member that wrote it."""
    to: str
    """Name of the member that was to get it."""
    why: str
    """Why it could not be handed over, or was not read."""


@final
@attrs.frozen(kw_only=True)
class MailQuarantined(MailEvent):
    """Something in a mailbox that is no message; it is reported once, and put aside."""

    kind: ClassVar[str] = "mail.quarantined"

    to: str
    """Whose mailbox it is."""
    problem: str
    """What is wrong with it."""


EVENTS: Final = (MailSent, MailRead, MailReturned, MailQuarantined)


class MailState(StrEnum):
    """Where a message is."""

    SENT = "sent"
    READ = "read"
    RETURNED = "returned"


@final
@attrs.frozen(kw_only=True)
class Mail:
    """One message from a member of a team to another."""

    team: str
    mail: int
    sender: str
    to: str
    summary: str
    text: str
    text_of: int = 0
    state: MailState = MailState.SENT

    @property
    def mark(self) -> str:
        """What names it in the line of a transcript that holds it."""
        return f"mail.{self.team}.{self.mail}"


def sent(_: Mail | None, event: MailSent) -> Mail:
    """Put a message down."""
    return Mail(
        team=event.team,
        mail=event.mail,
        sender=event.sender,
        to=event.to,
        summary=event.summary,
        text=event.text,
        text_of=event.text_of,
    )


def read(before: Mail | None, event: MailRead) -> Mail | None:
    """Note that it was read; once, and never one that went back."""
    return _ended(before, event, MailState.READ)


def returned(before: Mail | None, event: MailReturned) -> Mail | None:
    """Note that nobody reads it; never one that was read, and not twice."""
    return _ended(before, event, MailState.RETURNED)


def _ended(before: Mail | None, event: MailEvent, state: MailState) -> Mail | None:
    if before is None:  # to one who had ended: it was never on its way
        return None
    if before.state is not MailState.SENT:
        raise IllegalTransition(state=before.state, event=event.kind)
    return attrs.evolve(before, state=state)


Mails: TypeAlias = Mapping[tuple[str, int], Mail]
"""Messages by team and number, in the order in which they were sent."""

FOLDS: Final = (
    ("mail", MailSent, ("team", "mail"), sent),
    ("mail", MailRead, ("team", "mail"), read),
    ("mail", MailReturned, ("team", "mail"), returned),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""


def unread(mails: Mails, team: str, told: Collection[str] = ()) -> list[Mail]:
    """Return what members of a team have not read, in the order in which it was sent.

    Args:
        mails: The folded section.
        team: The team.
        told: The marks that stand in transcripts: what a transcript holds was read, whatever the journal got to say (DESIGN 12.16).
    """
    waiting = [one for one in mails.values() if one.team == team and one.state is MailState.SENT and one.mail]
    return [_in_full(one, mails) for one in waiting if one.mark not in told]


def _in_full(mail: Mail, mails: Mails) -> Mail:
    """Return a message with its text."""
    first = mails.get((mail.team, mail.text_of))
    return mail if first is None else attrs.evolve(mail, text=first.text, text_of=0)
