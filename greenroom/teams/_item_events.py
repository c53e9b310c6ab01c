"""Events of boards: the life of each item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

from greenroom.core import Event, field_names, field_values, frozen


@frozen(kw_only=True)
class ItemEvent(Event):
    """A fact about one item; the actor of the event is the board."""

    item: str
    """Id of the item."""
    team: str = ""
    """Name of the board's team; it outlives the actor."""


_WHERE: Final = field_names(ItemEvent)
"""The leading fields of every item event."""


def values_at(event: ItemEvent, *, actor: str, inc: int, parent: int, team: str) -> tuple[Any, ...]:
    """Return the record values of an event that was made without its place."""
    return (actor, inc, parent, event.item, team, *field_values(event)[len(_WHERE) :])


@final
@frozen(kw_only=True)
class ItemCreated(ItemEvent):
    """An item was created, pending and without an owner."""

    kind: ClassVar[str] = "item.created"

    subject: str
    """The work in one line."""
    description: str
    """The work in full."""
    by: str
    """Name of the member that created it."""
    active_form: str = ""
    """Text to show while it is worked on."""
    metadata: Mapping[str, Any] | None = None
    """Data that programs attach; None for none."""


@final
@frozen(kw_only=True)
class ItemAssigned(ItemEvent):
    """An item has an owner that has not begun it."""

    kind: ClassVar[str] = "item.assigned"

    owner: str
    """Name of its new owner."""
    by: str
    """Name of the member that assigned it."""


@final
@frozen(kw_only=True)
class ItemClaimed(ItemEvent):
    """An item has an owner that works on it."""

    kind: ClassVar[str] = "item.claimed"

    owner: str
    """Name of its new owner."""


@final
@frozen(kw_only=True)
class ItemCompleted(ItemEvent):
    """An item is done."""

    kind: ClassVar[str] = "item.completed"

    by: str
    """Name of the member that completed it."""
    findings: str = ""
    """The findings that it left on the board; empty for none."""


@final
@frozen(kw_only=True)
class ItemReleased(ItemEvent):
    """An item is pending again, without an owner."""

    kind: ClassVar[str] = "item.released"

    owner: str
    """Name of its former owner."""
    why: str
    """The reason for the release."""
    is_failure: bool
    """True if the owner tried and failed; an abort, or the end of the owner, is not a failure."""
    is_return: bool = False
    """True if the owner itself gave it back although nothing blocked it."""


@final
@frozen(kw_only=True)
class ItemEdited(ItemEvent):
    """An item was changed; fields that are None are unchanged."""

    kind: ClassVar[str] = "item.edited"

    subject: str
    """The new work in one line."""
    by: str
    """Name of the member that changed it."""
    description: str | None = None
    """The new work in full."""
    active_form: str | None = None
    """Text to show while it is worked on."""
    metadata: Mapping[str, Any] | None = None
    """Changes of the data that programs attach, by key; null removes a key."""


@final
@frozen(kw_only=True)
class ItemLinked(ItemEvent):
    """An item waits for further items, or no longer waits for some."""

    kind: ClassVar[str] = "item.linked"

    added: tuple[str, ...] = ()
    """Ids of items that must be completed before it."""
    removed: tuple[str, ...] = ()
    """Ids of items that it no longer waits for."""
    by: str
    """Name of the member that changed it."""


@final
@frozen(kw_only=True)
class ItemDeleted(ItemEvent):
    """An item was deleted; its id is never reused."""

    kind: ClassVar[str] = "item.deleted"

    by: str
    """Name of the member that deleted it."""


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
