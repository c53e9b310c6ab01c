"""Planning of edits: the events that carry out a change of an item, or the reason for a refusal.

Rule 1: an edit is carried out as a whole or not at all. Rule 2: only its owner or the lead may hand over, complete or
delete an owned item. Rule 3: an item that waits for an open one cannot be begun, and no item may wait for itself. Rule
4: reading and deciding are one step of the board, so two claims cannot both succeed. This module must not depend on the
clock, the disk, Trio or actors.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, Final, final

import attrs

from greenroom.teams._board_items import (
    DESCRIPTION_CHARS,
    FINDINGS_CHARS,
    METADATA_CHARS,
    SUBJECT_CHARS,
    Item,
    ItemStatus,
    cut,
    merged,
    size_of,
)
from greenroom.teams._board_state import BoardState
from greenroom.teams._item_events import (
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemDeleted,
    ItemEdited,
    ItemEvent,
    ItemLinked,
    ItemReleased,
)
from greenroom.teams._member_names import LEAD

DELETED: Final = "deleted"
_NAMES_SHOWN: Final = 8
_STATUSES: Final = frozenset(ItemStatus)


@final
@attrs.frozen(kw_only=True)
class Edit:
    """A requested change of an item; None leaves a field unchanged."""

    item: str
    by: str
    """Name of the requesting member."""
    status: str | None = None
    """`pending`, `in_progress`, `completed` or `deleted`."""
    owner: str | None = None
    """Empty removes the owner."""
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    metadata: Mapping[str, Any] | None = None
    """Merged by key; None as a value removes a key."""
    findings: str = ""
    """Kept with the item if the edit completes it."""
    add_blocks: tuple[str, ...] = ()
    """Items that are to wait for this one."""
    add_blocked_by: tuple[str, ...] = ()
    """Items that this one is to wait for."""


@final
@attrs.frozen
class EditRefused:
    """A refused edit."""

    reason: str
    """`task_not_found`, `already_claimed`, `already_resolved`, `blocked`, `agent_busy`, `no_such_member`, `cycle` or
    `invalid`."""
    text: str
    items: tuple[str, ...] = ()
    """The items in the way: those that block it, those that its owner works on, or the cycle."""


class _No(Exception):
    """Aborts the planning of an edit."""

    def __init__(self, reason: str, text: str, items: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.refused = EditRefused(reason, text, items)


def plan_edit(
    state: BoardState, edit: Edit, members: Collection[str] = (), *, one_each: bool = False
) -> list[ItemEvent] | EditRefused:
    """Return the events that carry out an edit, or the refusal.

    Args:
        state: The board.
        edit: The requested change; the requester may own an item, and the lead may.
        members: Further possible owners.
        one_each: True if a member that works on an item is refused another one.
    """
    try:
        item = _find(state, edit.item)
        if edit.status == DELETED:
            return _plan_deletion(state, item, edit)
        _check_owner(edit, members)
        return [
            *_plan_content(item, edit),
            *_plan_links(state, item, edit),
            *_plan_move(state, item, edit, one_each=one_each),
        ]
    except _No as no:
        return no.refused


def _find(state: BoardState, item_id: str) -> Item:
    item = state.items.get(item_id)
    if item is None:
        raise _No("task_not_found", f"there is no task #{item_id}")
    return item


def _check_owner(edit: Edit, members: Collection[str]) -> None:
    owner = edit.owner
    if not owner or owner in {edit.by, LEAD} or owner in members:
        return
    near = difflib.get_close_matches(owner, members, n=3) or [*members][:_NAMES_SHOWN]
    known = ", ".join(repr(name) for name in near) or "nobody"
    raise _No("no_such_member", f"{owner!r} is not a member of this team; members: {known}")


def _check_hands(item: Item, by: str) -> None:
    if item.owner and by not in {item.owner, LEAD}:
        raise _No("already_claimed", f"task #{item.id} is {item.owner}'s; only {item.owner} or the lead may do that")


def _check_blockers(state: BoardState, item: Item) -> None:
    blockers = state.open_blockers(item)
    if blockers:
        raise _No("blocked", f"task #{item.id} waits for {_listed(blockers)}", blockers)


def _listed(items: Collection[str]) -> str:
    return ", ".join(f"#{item_id}" for item_id in items)


# --- what it says -----------------------------------------------------------------------------------------------------


def _plan_content(item: Item, edit: Edit) -> list[ItemEvent]:
    subject = item.subject if edit.subject is None else cut(edit.subject, SUBJECT_CHARS)
    description = _news(item.description, edit.description, DESCRIPTION_CHARS)
    active_form = _news(item.active_form, edit.active_form, SUBJECT_CHARS)
    metadata = _checked_metadata(item, edit)
    if subject == item.subject and description is None and active_form is None and metadata is None:
        return []
    event = ItemEdited(
        item=item.id,
        subject=subject,
        by=edit.by,
        description=description,
        active_form=active_form,
        metadata=metadata,
    )
    return [event]


def _news(before: str, wanted: str | None, most: int) -> str | None:
    after = before if wanted is None else cut(wanted, most)
    return None if after == before else after


def _checked_metadata(item: Item, edit: Edit) -> Mapping[str, Any] | None:
    if edit.metadata is None:
        return None
    after = merged(item.metadata, edit.metadata)
    check_metadata(after)
    return None if after == item.metadata else dict(edit.metadata)


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Refuse metadata that is not JSON or is too long: half of it would be worse than none."""
    try:
        size = size_of(metadata)
    except (TypeError, ValueError, RecursionError):
        raise _No("invalid", "cannot keep the metadata: it must be plain JSON") from None
    if size > METADATA_CHARS:
        raise _No("invalid", f"metadata must have at most {METADATA_CHARS:,} characters as JSON, got {size:,}")


def refuse_metadata(metadata: Mapping[str, Any]) -> EditRefused | None:
    """Return the refusal of invalid metadata; None if it is valid."""
    try:
        check_metadata(merged({}, metadata))
    except _No as no:
        return no.refused
    return None


# --- what waits for what ----------------------------------------------------------------------------------------------


def _plan_links(state: BoardState, item: Item, edit: Edit) -> list[ItemEvent]:
    if not (edit.add_blocks or edit.add_blocked_by):
        return []
    for other in (*edit.add_blocks, *edit.add_blocked_by):
        _find(state, other)
    before = dict.fromkeys(other for other in edit.add_blocked_by if other not in item.blocked_by)
    after = dict.fromkeys(other for other in edit.add_blocks if item.id not in state.items[other].blocked_by)
    cycle = _find_cycle(state, item, before, after)
    if cycle:
        steps = ", ".join(f"#{waiting} waits for #{blocker}" for waiting, blocker in pairwise(cycle))
        raise _No("cycle", f"then task #{item.id} would wait for itself: {steps}", cycle)
    events: list[ItemEvent] = [ItemLinked(item=item.id, added=tuple(before), by=edit.by)] if before else []
    return [*events, *(ItemLinked(item=other, added=(item.id,), by=edit.by) for other in after)]


def _find_cycle(state: BoardState, item: Item, before: Collection[str], after: Collection[str]) -> tuple[str, ...]:
    """Return the cycle that an item would join: each waits for the next, the first is the last; empty if there is none."""
    if not before and not after:
        return ()
    if item.id in after:
        return (item.id, item.id)
    waits_for = (*item.blocked_by, *before)
    waiting = {item.id, *after}
    if waiting.isdisjoint(waits_for) and not (waits_for and (after or state.blocks(item.id))):
        return ()  # nothing waits for it, or it waits for nothing: no search is needed
    came_from: dict[str, str] = dict.fromkeys(waits_for, item.id)
    to_visit = list(came_from)
    while to_visit:
        one = to_visit.pop()
        if one in waiting:
            return _path(came_from, one, item.id)
        for other in state.items[one].blocked_by if one in state.items else ():
            if other not in came_from:
                came_from[other] = one
                to_visit.append(other)
    return ()


def _path(came_from: Mapping[str, str], last: str, first: str) -> tuple[str, ...]:
    """Return the path from `first` to `last`, and back to `first`."""
    path = [first]
    one = came_from[first] if last == first else last
    while one != first:
        path.append(one)
        one = came_from[one]
    return (first, *reversed(path))


# --- whose it is ------------------------------------------------------------------------------------------------------


def _plan_deletion(state: BoardState, item: Item, edit: Edit) -> list[ItemEvent]:
    if item.status is not ItemStatus.COMPLETED:
        _check_hands(item, edit.by)
    # The deletion first: a reference to a deleted item blocks nothing, should a crash come in between.
    links = [ItemLinked(item=other, removed=(item.id,), by=edit.by) for other in state.blocks(item.id)]
    return [ItemDeleted(item=item.id, by=edit.by), *links]


def _plan_move(state: BoardState, item: Item, edit: Edit, *, one_each: bool) -> list[ItemEvent]:
    status, owner = edit.status, edit.owner
    if status is not None and status not in _STATUSES:
        raise _No("invalid", f"status must be one of {', '.join([*ItemStatus, DELETED])}, got {status!r}")
    changes_nothing = status in {None, item.status} and owner in {None, item.owner}
    wants_it = status == ItemStatus.IN_PROGRESS and owner is None and edit.by not in {item.owner, LEAD}
    if owner and owner == item.owner and edit.by == LEAD and item.held_back and changes_nothing:
        return [ItemAssigned(item=item.id, owner=owner, by=edit.by)]  # it is handed out again
    if changes_nothing and not wants_it:
        return []
    if item.status is ItemStatus.COMPLETED:
        raise _No("already_resolved", f"task #{item.id} is completed")
    _check_hands(item, edit.by)
    if status == ItemStatus.COMPLETED:
        done = ItemCompleted(item=item.id, by=edit.by, findings=cut(edit.findings, FINDINGS_CHARS))
        return [*_plan_doing(state, item, owner or item.owner, edit.by), done]
    if status == ItemStatus.IN_PROGRESS:
        return _plan_claim(state, item, owner or item.owner or edit.by, edit.by, one_each=one_each)
    could_go_on = not state.open_blockers(attrs.evolve(item, blocked_by=(*item.blocked_by, *edit.add_blocked_by)))
    if status == ItemStatus.PENDING and owner is None:
        return [_release(item, edit.by, could_go_on=could_go_on)] if item.owner else []
    return _hand_over(item, owner or "", edit.by, could_go_on=could_go_on, is_paused=status == ItemStatus.PENDING)


def _plan_claim(state: BoardState, item: Item, owner: str, by: str, *, one_each: bool) -> list[ItemEvent]:
    if item.status is ItemStatus.IN_PROGRESS and item.owner == owner:
        return []
    _check_blockers(state, item)
    busy_with = tuple(other.id for other in state.in_progress(owner) if other.id != item.id) if one_each else ()
    if busy_with:
        raise _No("agent_busy", f"{owner} works on {_listed(busy_with)}", busy_with)
    events: list[ItemEvent] = [] if item.owner in {"", owner} else [_release(item, by)]
    return [*events, ItemClaimed(item=item.id, owner=owner)]


def _plan_doing(state: BoardState, item: Item, owner: str, by: str) -> list[ItemEvent]:
    """Return the events that give an item to the member that completes it; the lead may complete others' items."""
    if by == LEAD or item.status is ItemStatus.IN_PROGRESS:
        return _hand_over(item, owner, by)
    _check_blockers(state, item)
    return [] if item.owner else [ItemClaimed(item=item.id, owner=owner or by)]


def _hand_over(
    item: Item, owner: str, by: str, *, could_go_on: bool = False, is_paused: bool = False
) -> list[ItemEvent]:
    """Return the events that make a pending item `owner`'s; none if it already is, unless it is to be paused."""
    if owner == item.owner and not (is_paused and item.status is ItemStatus.IN_PROGRESS):
        return []
    events: list[ItemEvent] = [_release(item, by, could_go_on=could_go_on)] if item.owner else []
    return [*events, ItemAssigned(item=item.id, owner=owner, by=by)] if owner else events


def _release(item: Item, by: str, *, could_go_on: bool = False) -> ItemReleased:
    why = "given back" if by == item.owner else f"taken back by {by}"
    is_return = could_go_on and by == item.owner and by != LEAD
    return ItemReleased(item=item.id, owner=item.owner, why=why, is_failure=False, is_return=is_return)
