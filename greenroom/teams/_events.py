"""What teams put on record of their boards: the life of each item."""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event


@attrs.frozen(kw_only=True)
class ItemEvent(Event):
    """A fact about one item; the actor of the event is the board."""

    item: str
    """Id of the item."""


@final
@attrs.frozen(kw_only=True)
class ItemCreated(ItemEvent):
    """An item is on the board, pending and without an owner."""

    kind: ClassVar[str] = "item.created"

    subject: str
    """What is to be done, in a line."""
    description: str
    """What is to be done, in full."""
    by: str
    """Name of the member that put it there."""


@final
@attrs.frozen(kw_only=True)
class ItemClaimed(ItemEvent):
    """An item has an owner, who works on it."""

    kind: ClassVar[str] = "item.claimed"

    owner: str
    """Name of the member whose it is now."""


@final
@attrs.frozen(kw_only=True)
class ItemCompleted(ItemEvent):
    """An item is done."""

    kind: ClassVar[str] = "item.completed"

    by: str
    """Name of the member that said so."""


@final
@attrs.frozen(kw_only=True)
class ItemReleased(ItemEvent):
    """An item is pending again and without an owner."""

    kind: ClassVar[str] = "item.released"

    owner: str
    """Name of the member whose it was."""
    why: str
    """Why it was given back."""
    is_failure: bool
    """Whether the owner tried and failed; an abort, or the end of the owner, is none."""


@final
@attrs.frozen(kw_only=True)
class ItemEdited(ItemEvent):
    """An item says something else now."""

    kind: ClassVar[str] = "item.edited"

    subject: str
    """What is to be done now, in a line."""
    description: str
    """What is to be done now, in full."""
    blocked_by: tuple[str, ...]
    """Ids of all the items that have to be completed before it."""
    by: str
    """Name of the member that changed it."""


@final
@attrs.frozen(kw_only=True)
class ItemDeleted(ItemEvent):
    """An item is gone; its id is never used again."""

    kind: ClassVar[str] = "item.deleted"

    by: str
    """Name of the member that took it away."""


EVENTS: Final = (ItemCreated, ItemClaimed, ItemCompleted, ItemReleased, ItemEdited, ItemDeleted)
