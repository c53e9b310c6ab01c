"""Events of the items in a session's box: each is accepted once, and ends once."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

from greenroom.core import Event, Level, OneOf, frozen
from greenroom.inbox._inbox_items import EntryKind
from greenroom.inbox._origin import OriginKind
from greenroom.mailbox import Lane


@frozen(kw_only=True)
class _InboxEvent(Event):
    level: ClassVar[Level] = Level.TURNS

    item: str
    """Id of the item."""


@final
@frozen(kw_only=True)
class InboxAccepted(_InboxEvent):
    """An item was accepted for the session's main agent."""

    kind: ClassVar[str] = "inbox.accepted"

    origin: Annotated[str, OneOf(*OriginKind)]
    """The kind of its sender."""
    sender: str = ""
    """Name of its sender; empty for the user and the runtime."""
    lane: Annotated[str, OneOf(*Lane)]
    """Its urgency."""
    entry: Annotated[str, OneOf(*EntryKind)]
    """Its treatment."""
    chars: int
    """Length of its text."""
    is_held: bool = False
    """True if it waits for somebody to release it."""
    was_stored: bool = False
    """True if it was in the store before; else it is stored next."""


@final
@frozen(kw_only=True)
class InboxTaken(_InboxEvent):
    """The main agent has taken up an item: its line is in the transcript, or its command was run."""

    kind: ClassVar[str] = "inbox.taken"


@final
@frozen(kw_only=True)
class InboxWithdrawn(_InboxEvent):
    """An item was withdrawn or refused before it was read."""

    kind: ClassVar[str] = "inbox.withdrawn"

    why: str
    """The reason."""


@final
@frozen(kw_only=True)
class InboxExpired(_InboxEvent):
    """An item was too late to be read."""

    kind: ClassVar[str] = "inbox.expired"


@final
@frozen(kw_only=True)
class InboxPoisoned(_InboxEvent):
    """Too many turns began with an item and left no line of it; it is kept in the store and given to no turn any more."""

    kind: ClassVar[str] = "inbox.poisoned"

    attempts: int
    """Number of these turns."""


EVENTS: Final = (InboxAccepted, InboxTaken, InboxWithdrawn, InboxExpired, InboxPoisoned)
