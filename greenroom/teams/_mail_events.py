"""Events of mail, and its state folded from them.

Rule 1: a message is recorded before it is handed to anybody. Rule 2: it has one end: read, once it is in a
conversation, or returned; unread messages keep waiting, also for a later process. Rule 3: unreadable content is set
aside once and does not affect the rest. This module must not depend on the clock, the disk, Trio or actors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import Event, IllegalTransition, frozen


@frozen(kw_only=True)
class MailEvent(Event):
    """A fact about one message."""

    team: str = ""
    """Name of the team."""
    mail: int = 0
    """Its number in that team, from 1; 0 in journals of earlier versions."""


@final
@frozen(kw_only=True)
class MailSent(MailEvent):
    """A member of a team sent a message to another one: it is on its way."""

    kind: ClassVar[str] = "mail.sent"

    sender: str
    """Name of the sending member."""
    to: str
    """Name of the receiving member."""
    summary: str
    """Summary; by default its first 80 characters."""
    text: str = ""
    """The whole text; for a protocol message, its wire form."""
    text_of: int = 0
    """Number of the message with the same text, if it was sent to many; 0 for this one."""


@final
@frozen(kw_only=True)
class MailRead(MailEvent):
    """A message is in its recipient's conversation."""

    kind: ClassVar[str] = "mail.read"

    to: str
    """Name of the recipient."""


@final
@frozen(kw_only=True)
class MailReturned(MailEvent):
    """A message that nobody will read: a dead letter of the team; its sender was notified."""

    kind: ClassVar[str] = "mail.returned"

    sender: str
    """Name of the sending member."""
    to: str
    """Name of the intended recipient."""
    why: str
    """The reason why it was not handed over or not read."""


@final
@frozen(kw_only=True)
class MailQuarantined(MailEvent):
    """Something in a mailbox that is not a valid message; it is reported once, and set aside."""

    kind: ClassVar[str] = "mail.quarantined"

    to: str
    """Owner of the mailbox."""
    problem: str
    """The problem."""


EVENTS: Final = (MailSent, MailRead, MailReturned, MailQuarantined)


class MailState(StrEnum):
    """State of a message."""

    SENT = "sent"
    READ = "read"
    RETURNED = "returned"


@final
@frozen(kw_only=True)
class Mail:
    """One message between members of a team."""

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
        """Its mark in the transcript line that holds it."""
        return f"mail.{self.team}.{self.mail}"


def sent(_: Mail | None, event: MailSent) -> Mail:
    """Add a message."""
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
    """Mark a message as read; only once, and never a returned one."""
    return _ended(before, event, MailState.READ)


def returned(before: Mail | None, event: MailReturned) -> Mail | None:
    """Mark a message as returned; only once, and never a read one."""
    return _ended(before, event, MailState.RETURNED)


def _ended(before: Mail | None, event: MailEvent, state: MailState) -> Mail | None:
    if before is None:  # sent to an ended member: it was never on its way
        return None
    if before.state is not MailState.SENT:
        raise IllegalTransition(state=before.state, event=event.kind)
    return attrs.evolve(before, state=state)


Mails: TypeAlias = Mapping[tuple[str, int], Mail]
"""Messages by team and number, in sending order."""

FOLDS: Final = (
    ("mail", MailSent, ("team", "mail"), sent),
    ("mail", MailRead, ("team", "mail"), read),
    ("mail", MailReturned, ("team", "mail"), returned),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""


def unread(mails: Mails, team: str, told: Collection[str] = ()) -> list[Mail]:
    """Return the unread messages of a team, in sending order.

    Args:
        mails: The folded section.
        team: The team.
        told: Marks in transcripts: a message in a transcript was read, even if the journal does not say so yet.
    """
    waiting = [mail for mail in mails.values() if mail.team == team and mail.state is MailState.SENT and mail.mail]
    return [_in_full(mail, mails) for mail in waiting if mail.mark not in told]


def _in_full(mail: Mail, mails: Mails) -> Mail:
    """Return a message with its text."""
    first = mails.get((mail.team, mail.text_of))
    return mail if first is None else attrs.evolve(mail, text=first.text, text_of=0)
