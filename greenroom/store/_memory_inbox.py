"""A store of boxes in memory: for programs that keep nothing, and the plain statement of what every store does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, final

import attrs
import trio

from greenroom.inbox import (
    KNOWN_S,
    MAX_ATTEMPTS,
    MAX_HELD,
    MAX_ITEMS,
    BoxStatistics,
    LetterPolicy,
    Place,
    StoredItem,
    Taken,
    check_item,
    check_room,
)


@attrs.define(eq=False)
class _Box:
    """The content of one box."""

    items: dict[str, StoredItem] = attrs.field(factory=dict)
    """Waiting and held ones by item_id, in order."""
    poisoned: dict[str, StoredItem] = attrs.field(factory=dict)
    refused: list[StoredItem] = attrs.field(factory=list)
    """Held ones that made room and were not told of yet."""
    left: dict[str, tuple[int, float]] = attrs.field(factory=dict)
    """Numbers of the items that have left, and when."""
    taken: set[str] = attrs.field(factory=set)
    policy: LetterPolicy = LetterPolicy.REFUSE
    has_news: trio.Event = attrs.field(factory=trio.Event)

    def statistics(self) -> BoxStatistics:
        waiting = [item for item in self.items.values() if not item.is_held]
        return BoxStatistics(
            waiting=len(waiting),
            waiting_bytes=sum(item.size_bytes for item in waiting),
            letters=sum(item.is_letter for item in waiting),
            held=len(self.items) - len(waiting),
            poisoned=len(self.poisoned),
            oldest_at=min((item.created_at for item in waiting), default=None),
        )

    def ring(self) -> None:
        """Wake who waits for news."""
        self.has_news.set()


@final
class MemoryInboxStore:
    """A store of boxes in memory; it forgets everything with its process.

    Args:
        wall: Returns the date and time.
    """

    def __init__(self, wall: Callable[[], datetime]) -> None:
        self._wall: Final = wall
        self._boxes: dict[str, _Box] = {}
        self._seq = 0

    def __repr__(self) -> str:
        return f"<MemoryInboxStore of {len(self._boxes)} boxes>"

    async def put(self, items: Sequence[StoredItem]) -> tuple[Place, ...]:
        """Put items and return their places; all of them are in, or none."""
        await trio.lowlevel.checkpoint()
        for item in items:
            check_item(item)
        before = {item.box: (dict(self._box(item.box).items), list(self._box(item.box).refused)) for item in items}
        seq = self._seq
        try:
            return tuple([self._put(item) for item in items])
        except BaseException:
            self._seq = seq
            for name, (kept, refused) in before.items():
                self._boxes[name].items, self._boxes[name].refused = kept, refused
            raise

    async def take(self, box: str, limit: int = MAX_ITEMS) -> Taken:
        """Return what was not taken since `reopen`, in order; it never waits for more."""
        await trio.lowlevel.checkpoint()
        there, now = self._box(box), self._wall().timestamp()
        there.has_news = trio.Event()
        fresh = [item for item in there.items.values() if item.id not in there.taken]
        expired = [item for item in fresh if now >= item.expires_at]
        ready = [item for item in fresh if not item.is_held and now < item.expires_at]
        poisoned = [item for item in ready if item.attempts >= MAX_ATTEMPTS]
        items = [item for item in ready if item.attempts < MAX_ATTEMPTS][:limit]
        for item in poisoned:
            there.poisoned[item.id] = there.items.pop(item.id)
        for item in expired:
            self._remove(there, item.id)
        there.taken.update(item.id for item in items)
        refused, there.refused = there.refused, []
        return Taken(items=tuple(items), poisoned=tuple(poisoned), expired=tuple(expired), refused=tuple(refused))

    async def reopen(self, box: str) -> None:
        """Give everything that was taken and not acknowledged again."""
        await trio.lowlevel.checkpoint()
        self._box(box).taken.clear()
        self._box(box).ring()

    async def begin(self, box: str, ids: Iterable[str]) -> None:
        """Count that a turn begins with these items."""
        await trio.lowlevel.checkpoint()
        items = self._box(box).items
        for item_id in ids:
            if item_id in items:
                items[item_id] = attrs.evolve(items[item_id], attempts=items[item_id].attempts + 1)

    async def ack(self, box: str, ids: Iterable[str]) -> None:
        """Remove items that were read."""
        await trio.lowlevel.checkpoint()
        for item_id in ids:
            self._remove(self._box(box), item_id)

    async def release(self, box: str, ids: Iterable[str]) -> None:
        """Release held items: they are taken after everything that came in before."""
        await trio.lowlevel.checkpoint()
        there = self._box(box)
        for item_id in ids:
            if item_id in there.items and there.items[item_id].is_held:
                self._seq += 1
                there.items[item_id] = attrs.evolve(there.items.pop(item_id), is_held=False, seq=self._seq)
        there.ring()

    async def withdraw(self, box: str, item_id: str) -> bool:
        """Remove an item that waits, or is held; False if there is none."""
        await trio.lowlevel.checkpoint()
        return self._remove(self._box(box), item_id)

    async def held(self, box: str) -> tuple[StoredItem, ...]:
        """Return the held items that have not expired, in order."""
        await trio.lowlevel.checkpoint()
        now = self._wall().timestamp()
        return tuple(item for item in self._box(box).items.values() if item.is_held and now < item.expires_at)

    async def policy(self, box: str) -> LetterPolicy:
        """Return the treatment of letters."""
        await trio.lowlevel.checkpoint()
        return self._box(box).policy

    async def set_policy(self, box: str, policy: LetterPolicy) -> None:
        """Set the treatment of letters."""
        await trio.lowlevel.checkpoint()
        self._box(box).policy = LetterPolicy(policy)

    async def wait_news(self, box: str) -> None:
        """Wait until something may be there to be taken."""
        await self._box(box).has_news.wait()

    async def statistics(self, box: str) -> BoxStatistics:
        """Return what is in a box."""
        await trio.lowlevel.checkpoint()
        return self._box(box).statistics()

    async def boxes(self) -> tuple[str, ...]:
        """Return the names of the boxes that hold items."""
        await trio.lowlevel.checkpoint()
        return tuple(
            sorted(name for name, there in self._boxes.items() if there.items or there.poisoned or there.refused)
        )

    async def aclose(self) -> None:
        """Nothing is to be closed."""
        await trio.lowlevel.checkpoint()

    def _box(self, name: str) -> _Box:
        return self._boxes.setdefault(name, _Box())

    def _put(self, item: StoredItem) -> Place:
        box, now = self._box(item.box), self._wall().timestamp()
        for item_id in [item_id for item_id, (_, at) in box.left.items() if now - at > KNOWN_S]:
            del box.left[item_id]
        known = box.items.get(item.id) or box.poisoned.get(item.id)
        if known is not None or item.id in box.left:
            return Place(known.seq if known is not None else box.left[item.id][0], is_new=False)
        check_room(item, box.statistics())
        self._seq += 1
        box.items[item.id] = attrs.evolve(item, seq=self._seq, attempts=0)
        held = [each for each in box.items.values() if each.is_held]
        for old in held[:-MAX_HELD]:
            self._remove(box, old.id)
            box.refused.append(old)
        box.ring()
        return Place(self._seq, is_new=True)

    def _remove(self, box: _Box, item_id: str) -> bool:
        item = box.items.pop(item_id, None)
        if item is not None:
            box.left[item_id] = (item.seq, self._wall().timestamp())
        return item is not None
