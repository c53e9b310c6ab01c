"""What teams put on record: the life of each item on a board, and mail between members."""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event


@attrs.frozen(kw_only=True)
class ItemEvent(Event):
    """A fact about one item; the actor of the event is the board."""

    item: str


@final
@attrs.frozen(kw_only=True)
class ItemCreated(ItemEvent):
    """An item is on the board, pending and without an owner."""

    kind: ClassVar[str] = "item.created"

    subject: str
    description: str
    by: str


@final
@attrs.frozen(kw_only=True)
class ItemClaimed(ItemEvent):
    """An item has an owner, who works on it."""

    kind: ClassVar[str] = "item.claimed"

    owner: str


@final
@attrs.frozen(kw_only=True)
class ItemCompleted(ItemEvent):
    """An item is done."""

    kind: ClassVar[str] = "item.completed"

    by: str


@final
@attrs.frozen(kw_only=True)
class ItemReleased(ItemEvent):
    """An item is pending again and without an owner."""

    kind: ClassVar[str] = "item.released"

    owner: str
    why: str
    is_failure: bool
    """Whether the owner tried and failed; an abort, or the end of the owner, is none."""


@final
@attrs.frozen(kw_only=True)
class ItemEdited(ItemEvent):
    """An item says something else now."""

    kind: ClassVar[str] = "item.edited"

    subject: str
    description: str
    blocked_by: tuple[str, ...]
    by: str


@final
@attrs.frozen(kw_only=True)
class ItemDeleted(ItemEvent):
    """An item is gone; its id is never used again."""

    kind: ClassVar[str] = "item.deleted"

    by: str


@final
@attrs.frozen(kw_only=True)
class MailSent(Event):
    """A member of a team sent a message to another."""

    kind: ClassVar[str] = "mail.sent"

    sender: str
    to: str
    summary: str


EVENTS: Final = (ItemCreated, ItemClaimed, ItemCompleted, ItemReleased, ItemEdited, ItemDeleted, MailSent)
