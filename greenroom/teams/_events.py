"""What teams put on record of their boards: the life of each item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.core import Event, field_names, field_values


@attrs.frozen(kw_only=True)
class ItemEvent(Event):
    """A fact about one item; the actor of the event is the board."""

    item: str
    """Id of the item."""
    team: str = ""
    """Of the team whose board it is on; it outlives the actor."""


_WHERE: Final = field_names(ItemEvent)
"""What every event about an item begins with."""


def values_at(event: ItemEvent, *, actor: str, inc: int, parent: int, team: str) -> tuple[Any, ...]:
    """Return what a record holds of an event that did not know yet where it happens."""
    return (actor, inc, parent, event.item, team, *field_values(event)[len(_WHERE) :])


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
    active_form: str = ""
    """How to show it while it is worked on."""
    metadata: Mapping[str, Any] | None = None
    """What programs keep with it; None for nothing."""


@final
@attrs.frozen(kw_only=True)
class ItemAssigned(ItemEvent):
    """An item has an owner, who has not begun with it."""

    kind: ClassVar[str] = "item.assigned"

    owner: str
    """Name of the member whose it is now."""
    by: str
    """Name of the member that said so."""


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
    is_return: bool = False
    """Whether the owner itself gave it back, and nothing blocked it: it could have gone on."""


@final
@attrs.frozen(kw_only=True)
class ItemEdited(ItemEvent):
    """An item says something else now; what is None, it still says as before."""

    kind: ClassVar[str] = "item.edited"

    subject: str
    """What is to be done now, in a line."""
    by: str
    """Name of the member that changed it."""
    description: str | None = None
    """What is to be done now, in full."""
    active_form: str | None = None
    """How to show it while it is worked on."""
    metadata: Mapping[str, Any] | None = None
    """What changed of what programs keep with it, by key; null takes a key away."""


@final
@attrs.frozen(kw_only=True)
class ItemLinked(ItemEvent):
    """An item waits for other items now, or does not wait for them any more."""

    kind: ClassVar[str] = "item.linked"

    added: tuple[str, ...] = ()
    """Ids of items that have to be completed before it."""
    removed: tuple[str, ...] = ()
    """Ids of items that it waits for no more."""
    by: str
    """Name of the member that changed it."""


@final
@attrs.frozen(kw_only=True)
class ItemDeleted(ItemEvent):
    """An item is gone; its id is never used again."""

    kind: ClassVar[str] = "item.deleted"

    by: str
    """Name of the member that took it away."""


EVENTS: Final = (
    ItemCreated,
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemReleased,
    ItemEdited,
    ItemLinked,
    ItemDeleted,
)
