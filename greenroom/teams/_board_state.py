"""The items of a board, with indexes that make the board's questions cheap: owners, blockers, the next item.

Rule 1: it changes only by `fold`, one event after the other, called by its owner alone. Rule 2: everything but the
items and the last id is derived from them. Rule 3: an item can be begun when it is pending and everything that blocks
it is completed or deleted, by any member that has not returned it unchanged; the lowest id first. Rule 4: ids are 1, 2,
3, ... and never reused. This module must not depend on the clock, the disk, Trio or actors.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeVar, final

from greenroom.teams._board_items import Item, ItemStatus, changed, created
from greenroom.teams._item_events import ItemCreated, ItemEvent

K = TypeVar("K")
V = TypeVar("V")

NOBODY = ""
LEAST_ITEMS: Final = 8
"""Items of a board below which its quarters are not counted."""
Place = tuple[str, tuple[str, ...]]
"""The queue of a startable item: its owner, and the members that have returned it. Few items are returned, so there are
few queues.
"""


@final
class BoardState:
    """The items of a board.

    Args:
        items: Initial items, such as those folded from a journal.
        last_id: The highest id ever given.

    Attributes:
        items: Items by id, a view that changes with the board.
        last_id: The highest id ever given.
    """

    __slots__ = ("_blocks", "_items", "_open", "_owned", "_queued", "_ready", "_unfinished", "items", "last_id")

    def __init__(self, items: Iterable[Item] = (), last_id: int = 0) -> None:
        self._items: dict[str, Item] = {item.id: item for item in sorted(items, key=attrgetter("number"))}
        self.items: Mapping[str, Item] = MappingProxyType(self._items)
        self.last_id = max([last_id, *(item.number for item in self._items.values())])
        self._blocks: dict[str, dict[str, None]] = {}
        self._open: dict[str, int] = {}
        """Number of uncompleted blockers of an item; only for items that have any."""
        self._owned: dict[str, dict[str, None]] = {}
        """Uncompleted items, by owner."""
        self._ready: dict[str, dict[tuple[str, ...], list[int]]] = {}
        """Heaps of startable items, by owner and returning members. Items that became unstartable are dropped when they
        reach the top.
        """
        self._queued: set[tuple[str, tuple[str, ...], int]] = set()
        """The entries of the heaps, so that none is in a heap twice."""
        self._unfinished = 0
        for item in self._items.values():
            self._index(item)
        for item in self._items.values():
            self._enqueue(item)

    def __repr__(self) -> str:
        return f"<BoardState of {len(self._items)} items>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoardState) and (self.last_id, self._items) == (other.last_id, other._items)

    __hash__ = None  # type: ignore[assignment]  # it changes

    # --- questions ----------------------------------------------------------------------------------------------------

    def in_order(self) -> list[Item]:
        """Return all items by number."""
        return sorted(self._items.values(), key=attrgetter("number"))

    def open_blockers(self, item: Item) -> tuple[str, ...]:
        """Return the ids of the items that still block an item."""
        return tuple(blocker for blocker in item.blocked_by if self._is_open(blocker))

    def blocks(self, item_id: str) -> tuple[str, ...]:
        """Return the items that wait for an item, or did, by number."""
        return tuple(sorted(self._blocks.get(item_id, ()), key=int))

    def claimable(self, member: str = NOBODY) -> Item | None:
        """Return the next unowned item for an idle member; without a name, for a new member."""
        return self._first(NOBODY, member)

    def startable(self, owner: str) -> Item | None:
        """Return the next item that was given to `owner`."""
        return self._first(owner, owner) if owner else None

    def owned(self, owner: str) -> tuple[Item, ...]:
        """Return the uncompleted items of a member, by number."""
        return tuple(sorted((self._items[item_id] for item_id in self._owned.get(owner, ())), key=attrgetter("number")))

    def in_progress(self, owner: str) -> tuple[Item, ...]:
        """Return the items that a member works on, by number."""
        return tuple(item for item in self.owned(owner) if item.status is ItemStatus.IN_PROGRESS)

    @property
    def is_done(self) -> bool:
        """True if there are items, and all of them are completed."""
        return bool(self._items) and not self._unfinished

    @property
    def completed(self) -> int:
        """Number of completed items."""
        return len(self._items) - self._unfinished

    @property
    def quarters(self) -> int:
        """How many quarters of the items are completed, 0 to 4; 0 for a board of few items."""
        return self.completed * 4 // len(self._items) if len(self._items) >= LEAST_ITEMS else 0

    # --- changes ------------------------------------------------------------------------------------------------------

    def fold(self, event: ItemEvent) -> tuple[str, ...]:
        """Apply an event; one about an unknown item changes nothing.

        Returns:
            The ids of items that have become startable.

        Raises:
            IllegalTransition: The event is not allowed in the item's status; nothing has changed.
        """
        before = self._items.get(event.item)
        after = created(before, event) if isinstance(event, ItemCreated) else changed(before, event)
        if isinstance(event, ItemCreated):
            self.last_id = max(self.last_id, int(event.item))
        if after is None and before is None:
            return ()
        was_ready = before is not None and self._is_ready(before)
        was_open = self._is_open(event.item)
        if before is not None:
            self._unindex(before)
        if after is None:
            del self._items[event.item]
        else:
            self._items[event.item] = after
            self._index(after)
        touched = self._settle(event.item, was_open=was_open)
        if after is not None and not (was_ready and before is not None and _place(before) == _place(after)):
            touched = [event.item, *touched]
        return tuple(item_id for item_id in touched if self._enqueue(self._items[item_id]))

    def copy(self) -> BoardState:
        """Return an independent copy of the board."""
        return BoardState(self._items.values(), self.last_id)

    # --- what is derived ----------------------------------------------------------------------------------------------

    def _is_open(self, item_id: str) -> bool:
        item = self._items.get(item_id)
        return item is not None and item.status is not ItemStatus.COMPLETED

    def _is_ready(self, item: Item) -> bool:
        is_kept = item.is_held_back or item.owner in item.returned_by
        return item.status is ItemStatus.PENDING and not is_kept and not self._open.get(item.id)

    def _index(self, item: Item) -> None:
        for blocker in item.blocked_by:
            self._blocks.setdefault(blocker, {})[item.id] = None
        count = sum(map(self._is_open, item.blocked_by))
        if count:
            self._open[item.id] = count
        if item.status is not ItemStatus.COMPLETED:
            self._unfinished += 1
            if item.owner:
                self._owned.setdefault(item.owner, {})[item.id] = None

    def _unindex(self, item: Item) -> None:
        for blocker in item.blocked_by:
            _discard(self._blocks, blocker, item.id)
        self._open.pop(item.id, None)
        if item.status is not ItemStatus.COMPLETED:
            self._unfinished -= 1
            _discard(self._owned, item.owner, item.id)

    def _settle(self, item_id: str, *, was_open: bool) -> list[str]:
        """Unblock the items that wait for a finished one; return those that nothing blocks now."""
        if not was_open or self._is_open(item_id):
            return []
        freed = []
        for waiting in self._blocks.get(item_id, ()):
            left = self._open.pop(waiting, 0) - 1
            if left > 0:
                self._open[waiting] = left
            else:
                freed.append(waiting)
        return freed

    def _enqueue(self, item: Item) -> bool:
        """Queue an item for its owner if it is startable; return True if it is."""
        if not self._is_ready(item):
            return False
        owner, returned_by = _place(item)
        if (owner, returned_by, item.number) not in self._queued:
            self._queued.add((owner, returned_by, item.number))
            heapq.heappush(self._ready.setdefault(owner, {}).setdefault(returned_by, []), item.number)
        return True

    def _first(self, owner: str, member: str) -> Item | None:
        heaps = self._ready.get(owner, {})
        found = [self._top((owner, returned_by)) for returned_by in [*heaps] if member not in returned_by]
        return min((item for item in found if item is not None), key=attrgetter("number"), default=None)

    def _top(self, place: Place) -> Item | None:
        owner, returned_by = place
        heap = self._ready[owner][returned_by]
        while heap:
            item = self._items.get(str(heap[0]))
            if item is not None and _place(item) == place and self._is_ready(item):
                return item
            self._queued.discard((*place, heapq.heappop(heap)))
        _discard(self._ready, owner, returned_by)
        return None


def _place(item: Item) -> Place:
    return item.owner, tuple(sorted(item.returned_by)) if item.returned_by else ()


def _discard(index: dict[str, dict[K, V]], key: str, member: K) -> None:
    members = index.get(key)
    if members is not None:
        members.pop(member, None)
        if not members:
            del index[key]


def apply(state: BoardState, event: ItemEvent) -> BoardState:
    """Return a copy of the board after an event; takes time linear in the number of items.

    Raises:
        IllegalTransition: The event is not allowed in the item's status.
    """
    after = state.copy()
    after.fold(event)
    return after
