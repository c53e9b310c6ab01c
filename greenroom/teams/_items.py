"""What an item of the board is, and what each event makes of it: pure functions over frozen values.

Rule 1: an item is pending, in progress, or completed for good. Pending, it may have an owner who has not begun; in progress
it has one. Rule 2: a text that is too long is cut, and says so. Rule 3: the functions here are the folds of the journal; live
and replayed boards go through them. Rule 4: who gave an item back is not handed it again before somebody else has changed it; and
after so many failures and returns nobody is, before the lead has: no item is handed out for ever.
Must not know: clock, disk, Trio, actors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, final

import attrs

from greenroom.core import IllegalTransition
from greenroom.teams._events import (
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
from greenroom.teams._names import LEAD

MAX_FAILURES: Final = 3
"""After so many failures and returns an item is not handed out by itself any more: the lead has to look at it."""
SUBJECT_CHARS: Final = 500
DESCRIPTION_CHARS: Final = 50_000
METADATA_CHARS: Final = 10_000
"""As JSON."""


class ItemStatus(StrEnum):
    """Where an item is."""

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
    # No second claim: whoever takes an item from somebody has it released first, in the same step.
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
@attrs.frozen(kw_only=True)
class Item:
    """One entry of a board."""

    id: str
    subject: str
    description: str
    status: ItemStatus = ItemStatus.PENDING
    owner: str = ""
    """Name of the member whose it is; empty for nobody's."""
    blocked_by: tuple[str, ...] = ()
    """Ids of the items that have to be completed first."""
    failures: int = 0
    """How often a turn on it failed, or it was given back, since the lead said what it is or gave it to somebody by name."""
    returned_by: tuple[str, ...] = ()
    """Who gave it back since somebody else changed it, and is not handed it again."""
    why: str = ""
    """Why it came back last."""
    active_form: str = ""
    """How to show it while it is worked on."""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    """What programs keep with it; plain JSON."""

    @property
    def number(self) -> int:
        """Its id as a number: 2 comes before 10."""
        return int(self.id)

    @property
    def is_held_back(self) -> bool:
        """Whether nobody is handed it, because it failed or came back too often; its owner may begin with it all the same."""
        return self.failures >= MAX_FAILURES

    @property
    def held_back(self) -> str:
        """Who is not handed it, and why; empty where it is pending for no such reason."""
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
    """Return a text of at most so many characters; one that was cut says at its end how long it was."""
    if len(text) <= most:
        return text
    mark = f"... [cut, it had {len(text):,} characters]"
    return text[: most - len(mark)] + mark


def merged(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata after a change; a key whose new value is None is not there any more."""
    return {key: value for key, value in {**before, **changes}.items() if value is not None}


_TO_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def size_of(metadata: Mapping[str, Any]) -> int:
    """Return how many characters metadata takes as JSON.

    Raises:
        ValueError: JSON cannot hold it.
    """
    return len(_TO_JSON(metadata))


# --- folds ------------------------------------------------------------------------------------------------------------


def created(_: Item | None, event: ItemCreated) -> Item:
    """Return the new item.

    Raises:
        IllegalTransition: Its id is no number.
    """
    _number_of(event)
    return Item(
        id=event.item,
        subject=event.subject,
        description=event.description,
        active_form=event.active_form,
        metadata=merged({}, event.metadata or {}),
    )


def changed(before: Item | None, event: ItemEvent) -> Item | None:
    """Return the item after an event; None for one that is not there, or not any more.

    Raises:
        IllegalTransition: An item of that status cannot become what the event says.
    """
    if before is None:
        return None
    match event:
        case ItemAssigned(owner=owner, by=by):
            return _looked_at(attrs.evolve(before, status=step(before.status, event), owner=owner), by, for_whom=owner)
        case ItemClaimed(owner=owner):
            return _moved(before, event, owner)
        case ItemCompleted():
            return _moved(before, event, before.owner)
        case ItemReleased():
            return _released(before, event)
        case ItemEdited():
            return _edited(before, event)
        case ItemLinked(added=added, removed=removed):
            kept = (one for one in before.blocked_by if one not in removed)
            after = attrs.evolve(before, blocked_by=tuple(dict.fromkeys((*kept, *added))))
            # It waits first, so whoever gave it back finds it changed.
            return attrs.evolve(after, returned_by=()) if added else after
        case ItemDeleted():
            return None
        case _:
            return before


def _moved(before: Item, event: ItemEvent, owner: str) -> Item:
    # Not `attrs.evolve`, which takes twice as long: every item is claimed and completed.
    values = dict(zip(_NAMES, _read(before), strict=True))
    values["status"], values["owner"] = step(before.status, event), owner
    return Item(**values)


_NAMES: Final = tuple(field.name for field in attrs.fields(Item))
_read: Final = attrgetter(*_NAMES)


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
    """Return an item that somebody has changed: for the lead's word it begins anew; to a mate's own word that mate does not listen.

    Args:
        item: The item.
        by: Who changed it.
        for_whom: The member that may be handed it again; None for all but the one who changed it.
    """
    if by == LEAD:
        return attrs.evolve(item, failures=0, returned_by=())
    kept = (one for one in item.returned_by if one == by or (for_whom is not None and one != for_whom))
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
        IllegalTransition: The id is no number.
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
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them: `items` holds each `Item`, `boards` the
highest id of each team's board; `BoardState(items, last_id)` is what goes on from there."""
