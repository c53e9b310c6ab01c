"""The items of a board as its events tell of them: columns, owners, and whether one was lost.

This module must not depend on the clock.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, final

import attrs

from greenroom.terminal.screen._picture import FLASH_S, BoardCard, BoardColumn

_IN_PROGRESS: Final = BoardColumn.IN_PROGRESS


@final
@attrs.frozen(kw_only=True)
class _Card:
    """An item of the board."""

    card: BoardCard
    changed_s: float = float("-inf")
    back_from: str = ""
    """Its last owner, from its release until it is taken."""


@final
class BoardCards:
    """All items of a run. Times are seconds since the first event.

    Args:
        cards: The items at the beginning, by id.
    """

    def __init__(self, cards: dict[str, _Card] | None = None) -> None:
        self._cards = {} if cards is None else cards

    def __len__(self) -> int:
        return len(self._cards)

    def copy(self) -> BoardCards:
        """Return the same items, which change on their own."""
        return BoardCards(dict(self._cards))

    def at(self, t_s: float) -> tuple[BoardCard, ...]:
        """Return the items at a time, in the order in which they were created."""
        return tuple(attrs.evolve(each.card, flashes=t_s - each.changed_s < FLASH_S) for each in self._cards.values())

    def held(self) -> dict[str, str]:
        """Return the ids of the items in progress by the names of their owners."""
        return {card.card.owner: card.card.id for card in self._cards.values() if card.card.column is _IN_PROGRESS}

    def lost(self, gone: Collection[str]) -> tuple[str, ...]:
        """Return the ids of items that nobody works on and nobody can take: in progress, and their owner has ended.

        Args:
            gone: Names of the agents that have ended for good.
        """
        cards = (each.card for each in self._cards.values())
        return tuple(card.id for card in cards if card.column is _IN_PROGRESS and card.owner in gone)

    def subject(self, item: str) -> str:
        """Return the subject of an item; empty for one that is not known."""
        found = self._cards.get(item)
        return "" if found is None else found.card.subject

    def create(self, event: Any, t_s: float) -> None:
        """Add an item."""
        self._cards[event.item] = _Card(card=BoardCard(id=event.item, subject=event.subject, moved_s=t_s))

    def change(self, event: Any, **changes: Any) -> None:
        """Change fields of the card of an item."""
        found = self._cards.get(event.item)
        if found is not None:
            self._cards[event.item] = attrs.evolve(found, card=attrs.evolve(found.card, **changes))

    def claim(self, event: Any, t_s: float) -> str:
        """Give an item to its new owner; return the owner that it came back from, empty if it did not come back."""
        found = self._cards.get(event.item)
        if found is None:
            return ""
        card = attrs.evolve(found.card, owner=event.owner, column=_IN_PROGRESS, moved_s=t_s)
        changed_s = t_s if found.back_from else found.changed_s
        self._cards[event.item] = _Card(card=card, changed_s=changed_s)
        return found.back_from

    def complete(self, event: Any, t_s: float) -> bool:
        """Move an item to those that are done; return False if it is not known."""
        self.change(event, owner=event.by, column=BoardColumn.DONE, moved_s=t_s)
        return event.item in self._cards

    def release(self, event: Any, t_s: float) -> bool:
        """Put an item back; return False if it is not known."""
        found = self._cards.get(event.item)
        if found is None:
            return False
        card = attrs.evolve(found.card, owner="", column=BoardColumn.OPEN, returns=found.card.returns + 1, moved_s=t_s)
        self._cards[event.item] = _Card(card=card, changed_s=t_s, back_from=event.owner)
        return True

    def delete(self, event: Any) -> None:
        """Remove an item."""
        self._cards.pop(event.item, None)
