"""The board's state and what may happen to it: pure functions over frozen values.

Rule 1: an item is pending without an owner, in progress with one, or completed. Rule 2: it can be claimed when it is
pending and everything that blocks it is completed; the lowest id first. Rule 3: ids are 1, 2, 3, ... and never used
again. Rule 4: `apply` is the fold of the journal; live and replayed boards go through it.
Must not know: clock, disk, Trio, actors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.teams._events import (
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemEvent,
    ItemReleased,
)

MAX_FAILURES: Final = 3
"""After so many failures an item is not handed out by itself any more: somebody has to look at it."""


class ItemStatus(StrEnum):
    """Where an item is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@final
@attrs.frozen(kw_only=True)
class Item:
    """One entry of a board."""

    id: str
    subject: str
    description: str
    status: ItemStatus = ItemStatus.PENDING
    owner: str = ""
    blocked_by: tuple[str, ...] = ()
    """Ids of the items that have to be completed first."""
    failures: int = 0
    """How often a turn on it failed."""


@final
@attrs.frozen(kw_only=True)
class BoardState:
    """All items of a board, in the order of their ids."""

    items: Mapping[str, Item] = attrs.field(factory=dict)
    last_id: int = 0

    def open_blockers(self, item: Item) -> tuple[str, ...]:
        """Return what still blocks an item."""
        blockers = (self.items.get(one) for one in item.blocked_by)
        return tuple(one.id for one in blockers if one is not None and one.status is not ItemStatus.COMPLETED)

    def claimable(self) -> Item | None:
        """Return the item that comes next."""
        for item in self.items.values():
            if item.status is ItemStatus.PENDING and item.failures < MAX_FAILURES and not self.open_blockers(item):
                return item
        return None

    @property
    def is_done(self) -> bool:
        """Whether there are items, and all of them are completed."""
        return bool(self.items) and all(item.status is ItemStatus.COMPLETED for item in self.items.values())


def created(_: Item | None, event: ItemCreated) -> Item:
    """Return the new item."""
    return Item(id=event.item, subject=event.subject, description=event.description)


def changed(before: Item | None, event: ItemEvent) -> Item | None:
    """Return the item after an event; None for one that is not there, or not any more."""
    if before is None:
        return None
    match event:
        case ItemClaimed(owner=owner):
            return attrs.evolve(before, status=ItemStatus.IN_PROGRESS, owner=owner)
        case ItemCompleted():
            return attrs.evolve(before, status=ItemStatus.COMPLETED)
        case ItemReleased(is_failure=is_failure):
            failures = before.failures + is_failure
            return attrs.evolve(before, status=ItemStatus.PENDING, owner="", failures=failures)
        case ItemEdited(subject=subject, description=description, blocked_by=blocked_by):
            return attrs.evolve(before, subject=subject, description=description, blocked_by=blocked_by)
        case ItemDeleted():
            return None
        case _:
            return before


def apply(state: BoardState, event: ItemEvent) -> BoardState:
    """Return the board after an event; an event about an unknown item changes nothing."""
    items = dict(state.items)
    last_id = state.last_id
    after = created(None, event) if isinstance(event, ItemCreated) else changed(items.get(event.item), event)
    if isinstance(event, ItemCreated):
        last_id = max(last_id, int(event.item))
    if after is None:
        items.pop(event.item, None)
    else:
        items[event.item] = after
    return BoardState(items=items, last_id=last_id)


FOLDS: Final = (
    ("items", ItemCreated, ("actor", "item"), created),
    ("items", ItemClaimed, ("actor", "item"), changed),
    ("items", ItemCompleted, ("actor", "item"), changed),
    ("items", ItemReleased, ("actor", "item"), changed),
    ("items", ItemEdited, ("actor", "item"), changed),
    ("items", ItemDeleted, ("actor", "item"), changed),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""


@final
@attrs.frozen(kw_only=True)
class Edit:
    """What somebody wants to change about an item; None leaves it as it is."""

    item: str
    by: str
    status: str | None = None
    owner: str | None = None
    subject: str | None = None
    description: str | None = None
    add_blocked_by: tuple[str, ...] = ()


@final
@attrs.frozen
class Refused:
    """An edit that the board does not accept."""

    reason: str
    """`task_not_found`, `already_claimed`, `already_resolved`, `blocked`, `no_such_member` or `invalid`."""
    text: str


def plan_edit(state: BoardState, edit: Edit, members: Collection[str] = ()) -> list[ItemEvent] | Refused:
    """Return the events that carry out an edit, or why it is refused.

    Args:
        state: The board.
        edit: What is wanted; whoever wants it may own an item.
        members: Who else may.
    """
    if edit.owner is not None and edit.owner != edit.by and edit.owner not in members:
        known = ", ".join(repr(name) for name in members) or "nobody"
        return Refused("no_such_member", f"{edit.owner!r} is no member of this team; there is {known}")
    item = state.items.get(edit.item)
    if item is None:
        return Refused("task_not_found", f"there is no task #{edit.item}")
    if edit.status == "deleted":
        return [ItemDeleted(item=item.id, by=edit.by)]
    unknown = [one for one in edit.add_blocked_by if one not in state.items or one == item.id]
    if unknown:
        return Refused("invalid", f"task #{item.id} cannot be blocked by {', '.join('#' + one for one in unknown)}")
    events: list[ItemEvent] = []
    if edit.subject is not None or edit.description is not None or edit.add_blocked_by:
        new_blockers = tuple(one for one in edit.add_blocked_by if one not in item.blocked_by)
        events.append(
            ItemEdited(
                item=item.id,
                subject=item.subject if edit.subject is None else edit.subject,
                description=item.description if edit.description is None else edit.description,
                blocked_by=(*item.blocked_by, *new_blockers),
                by=edit.by,
            )
        )
    moves = _plan_move(state, item, edit)
    return moves if isinstance(moves, Refused) else [*events, *moves]


def _plan_move(state: BoardState, item: Item, edit: Edit) -> list[ItemEvent] | Refused:
    if edit.status is None and edit.owner is None:
        return []
    if edit.status is not None and edit.status not in set(ItemStatus):
        allowed = ", ".join([*ItemStatus, "deleted"])
        return Refused("invalid", f"the status {edit.status!r} is none of {allowed}")
    if item.status is ItemStatus.COMPLETED:
        if edit.status == ItemStatus.COMPLETED:
            return []
        return Refused("already_resolved", f"task #{item.id} is completed")
    if edit.status == ItemStatus.COMPLETED:
        return [ItemCompleted(item=item.id, by=edit.by)]
    if edit.status == ItemStatus.PENDING and edit.owner is None:
        why = f"given back by {edit.by}"
        return [ItemReleased(item=item.id, owner=item.owner, why=why, is_failure=False)] if item.owner else []
    owner = edit.by if edit.owner is None else edit.owner
    if item.owner == owner:
        return []
    if item.owner:
        return Refused("already_claimed", f"task #{item.id} is {item.owner}'s")
    blockers = state.open_blockers(item)
    if blockers:
        return Refused("blocked", f"task #{item.id} waits for {', '.join('#' + one for one in blockers)}")
    return [ItemClaimed(item=item.id, owner=owner)]
