"""Items of a board, and the effect of each event on them: pure functions over frozen values.

Rule 1: an item is pending, in progress, or completed. A pending item may have an owner that has not begun; an item in
progress has one. Rule 2: a text that is too long is cut, with a note. Rule 3: these functions are the folds of the
journal; live and replayed boards use the same ones. Rule 4: an item is not handed again to a member that returned it
until somebody else has changed it; after `MAX_FAILURES` failures and returns nobody is handed it until the lead acts.
This module must not depend on the clock, the disk, Trio or actors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, final

import attrs

from greenroom.core import IllegalTransition, altered, frozen
from greenroom.teams._item_events import (
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemEvent,
    ItemLinked,
    ItemReleased,
)
from greenroom.teams._member_names import LEAD

MAX_FAILURES: Final = 3
"""Number of failures and returns after which an item is held back until the lead acts."""
SUBJECT_CHARS: Final = 500
DESCRIPTION_CHARS: Final = 50_000
FINDINGS_CHARS: Final = 100_000
METADATA_CHARS: Final = 10_000
"""Length as JSON."""


class ItemStatus(StrEnum):
    """Status of an item."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


_S = ItemStatus
TRANSITIONS: Final[Mapping[ItemStatus, Mapping[type[ItemEvent], ItemStatus]]] = {
    _S.PENDING: {
        ItemAssigned: _S.PENDING,
        ItemReleased: _S.PENDING,
        ItemClaimed: _S.IN_PROGRESS,
        ItemCompleted: _S.COMPLETED,
    },
    # No second claim: taking an item from its owner releases it first, in the same step.
    _S.IN_PROGRESS: {ItemReleased: _S.PENDING, ItemCompleted: _S.COMPLETED},
    _S.COMPLETED: {},
}


def step(status: ItemStatus, event: ItemEvent) -> ItemStatus:
    """Return the status that follows.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    after = TRANSITIONS[status].get(type(event))
    if after is None:
        raise IllegalTransition(state=status, event=event.kind)
    return after


@final
@frozen(kw_only=True)
class Item:
    """An entry of a board."""

    id: str
    subject: str
    description: str
    status: ItemStatus = ItemStatus.PENDING
    owner: str = ""
    """Name of its owner; empty if it has none."""
    blocked_by: tuple[str, ...] = ()
    """Ids of the items that must be completed first."""
    failures: int = 0
    """Number of failed turns and returns since the lead described or assigned it."""
    returned_by: tuple[str, ...] = ()
    """Members that returned it since somebody else changed it, and are not handed it again."""
    why: str = ""
    """The reason for the last return."""
    active_form: str = ""
    """Text to show while it is worked on."""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    """Data that programs attach; plain JSON."""
    claims: int = 0
    """Number of times it was claimed."""
    findings: str = ""
    """The findings of the member that completed it; empty for none."""

    def mark(self, team: str) -> str:
        """Return its mark in the transcript line with which a member took it up, different for each claim."""
        return f"item.{team}.{self.id}.{self.claims}"

    @property
    def number(self) -> int:
        """The id as a number: 2 comes before 10."""
        return int(self.id)

    @property
    def is_held_back(self) -> bool:
        """True if nobody is handed it, because it failed or came back too often; its owner may still begin it."""
        return self.failures >= MAX_FAILURES

    @property
    def held_back(self) -> str:
        """Members that are not handed it, and the reason; empty if it is not pending or has no such reason."""
        if self.status is not ItemStatus.PENDING:
            return ""
        if self.is_held_back:
            return (
                f"it failed or came back {self.failures} times, the last time because: {self.why}; nobody is handed it before the "
                f"lead changes what it says or gives it to somebody by name"
            )
        if self.returned_by:
            return f"given back by {', '.join(self.returned_by)}: not handed to them before somebody else changes it"
        return ""


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters; a cut text ends with its original length."""
    if len(text) <= most:
        return text
    mark = f"... [cut, it had {len(text):,} characters]"
    return text[: most - len(mark)] + mark


def merged(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata after a change; keys whose new value is None are removed."""
    return {key: value for key, value in {**before, **changes}.items() if value is not None}


_TO_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def size_of(metadata: Mapping[str, Any]) -> int:
    """Return the length of metadata as JSON, in characters.

    Raises:
        ValueError: It cannot be represented as JSON.
    """
    return len(_TO_JSON(metadata))


# --- folds ------------------------------------------------------------------------------------------------------------


_NO_METADATA: Final[Mapping[str, Any]] = MappingProxyType({})
"""One for all items without any: a long run has very many."""


def created(_: Item | None, event: ItemCreated) -> Item:
    """Return the new item.

    Raises:
        IllegalTransition: Its id is not a number.
    """
    _number_of(event)
    return Item(
        id=event.item,
        subject=event.subject,
        description=event.description,
        active_form=event.active_form,
        metadata=merged({}, event.metadata) if event.metadata else _NO_METADATA,
    )


def changed(before: Item | None, event: ItemEvent) -> Item | None:
    """Return the item after an event; None if it does not exist, or is deleted.

    Raises:
        IllegalTransition: The event is not allowed in the item's status.
    """
    if before is None:
        return None
    match event:
        case ItemAssigned(owner=owner, by=by):
            return _looked_at(attrs.evolve(before, status=step(before.status, event), owner=owner), by, for_whom=owner)
        case ItemClaimed(owner=owner):
            # A name is kept once, however many items its owner has had.
            return _moved(before, event, sys.intern(owner), claims=before.claims + 1)
        case ItemCompleted(findings=findings):
            return _moved(before, event, before.owner, claims=before.claims, findings=findings)
        case ItemReleased():
            return _released(before, event)
        case ItemEdited():
            return _edited(before, event)
        case ItemLinked(added=added, removed=removed):
            kept = (blocker for blocker in before.blocked_by if blocker not in removed)
            after = attrs.evolve(before, blocked_by=tuple(dict.fromkeys((*kept, *added))))
            # It must wait first, so the members that returned it find it changed.
            return attrs.evolve(after, returned_by=()) if added else after
        case ItemDeleted():
            return None
        case _:
            return before


def _moved(before: Item, event: ItemEvent, owner: str, *, claims: int, findings: str = "") -> Item:
    return altered(before, status=step(before.status, event), owner=owner, claims=claims, findings=findings)


def _released(before: Item, event: ItemReleased) -> Item:
    returned_by = before.returned_by
    if event.is_return:
        returned_by = tuple(dict.fromkeys((*returned_by, event.owner)))
    return attrs.evolve(
        before,
        status=step(before.status, event),
        owner="",
        failures=before.failures + (event.is_failure or event.is_return),
        returned_by=returned_by,
        why=cut(event.why, SUBJECT_CHARS),
    )


def _looked_at(item: Item, by: str, *, for_whom: str | None = None) -> Item:
    """Return an item after a change: the lead's change resets it; a member's own change does not count for itself.

    Args:
        item: The item.
        by: The member that changed it.
        for_whom: The member that may be handed it again; None for all but the one that changed it.
    """
    if by == LEAD:
        return attrs.evolve(item, failures=0, returned_by=())
    kept = (member for member in item.returned_by if member == by or (for_whom is not None and member != for_whom))
    return attrs.evolve(item, returned_by=tuple(kept))


def _edited(before: Item, event: ItemEdited) -> Item:
    says_more = event.subject != before.subject or event.description is not None
    return attrs.evolve(
        _looked_at(before, event.by) if says_more else before,
        subject=event.subject,
        description=before.description if event.description is None else event.description,
        active_form=before.active_form if event.active_form is None else event.active_form,
        metadata=before.metadata if event.metadata is None else merged(before.metadata, event.metadata),
    )


def marked(before: int | None, event: ItemCreated) -> int:
    """Return the highest id that a board has given.

    Raises:
        IllegalTransition: The id is not a number.
    """
    return max(before or 0, _number_of(event))


def _number_of(event: ItemCreated) -> int:
    if not event.item.isdecimal():
        raise IllegalTransition(state=f"a board, with the id {event.item!r}", event=event.kind)
    return int(event.item)


FOLDS: Final = (
    ("boards", ItemCreated, "team", marked),
    ("items", ItemCreated, ("team", "item"), created),
    ("items", ItemAssigned, ("team", "item"), changed),
    ("items", ItemClaimed, ("team", "item"), changed),
    ("items", ItemCompleted, ("team", "item"), changed),
    ("items", ItemReleased, ("team", "item"), changed),
    ("items", ItemEdited, ("team", "item"), changed),
    ("items", ItemLinked, ("team", "item"), changed),
    ("items", ItemDeleted, ("team", "item"), changed),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them: `items` holds each `Item`, `boards`
the highest id of each team's board; `BoardState(items, last_id)` continues from there.
"""
