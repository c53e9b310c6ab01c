"""The items of one session key that wait, or that a turn has not ended yet: which of them the session may read now.

Rule 1: items of different chats never share a turn: those of another one wait until the turn has ended. Rule 2: what is kept back is
planned by `plan_queue`. Rule 3: the order of a chat is that in which its items came.
Must not know: clock, disk, Trio, sessions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final, final

import attrs

from greenroom.gateway.announce._queue_plan import HeldItem, Overflow, QueueMode, QueuePlan, QueueSettings, plan_queue

AT_ONCE: Final = frozenset({QueueMode.STEER, QueueMode.STEER_BACKLOG, QueueMode.INTERRUPT})
"""Modes whose items are handed in during a turn."""
_OF_MESSAGES: Final = frozenset({"answers", "run", "mode", "waits"})
"""Keys of a stored route that say something of one message, not of its chat."""


@final
@attrs.frozen(kw_only=True)
class WaitingItem:
    """An item that is kept back."""

    id: str
    route: Mapping[str, Any]
    text: str
    at_s: float
    mode: QueueMode
    begins_turn: bool = True


@final
@attrs.frozen(kw_only=True)
class HandIn:
    """The step to take now."""

    release: tuple[str, ...] = ()
    """Ids to hand in, in order."""
    summary: str = ""
    """The line to hand in before them; empty for none."""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    """The chat of that line."""
    dropped: tuple[str, ...] = ()
    interrupts: bool = False
    """True if the running turn is ended first."""
    look_s: float | None = None
    """When to look again; None for when something changes."""


@final
@attrs.define(eq=False)
class WaitingItems:
    """The items of one session key."""

    handed: dict[str, str] = attrs.field(factory=dict)
    """Those that the session may read or has read, and that are not settled: the name of the chat by id."""
    held: dict[str, WaitingItem] = attrs.field(factory=dict)
    """Those that are kept back, in order."""
    taken: dict[str, None] = attrs.field(factory=dict)
    """Ids of those of `handed` that a turn has taken up."""
    cut: dict[str, None] = attrs.field(factory=dict)
    """Ids of those of `taken` whose turn was cut, and that nothing has resumed yet."""
    is_shut: bool = False
    """True while nothing is handed in, because a turn runs that is not theirs."""
    pauses: int = 0
    """Number of those who want nothing to be handed in."""

    @property
    def unread(self) -> list[str]:
        """Ids of the items that are handed in and that no turn has taken up."""
        return [item for item in self.handed if item not in self.taken]

    def add(self, item: WaitingItem) -> bool:
        """Add an item, and return True if it is kept back; then `plan` says for how long."""
        chats = set(self.handed.values())
        if self.is_shut or self.pauses:
            is_held = True
        elif not item.begins_turn:
            is_held = not chats
        elif self.held or item.mode is QueueMode.COLLECT:
            is_held = True
        elif item.mode is QueueMode.FOLLOWUP:
            is_held = bool(chats)
        else:
            is_held = bool(chats - {chat_of(item.route)})
        if is_held:
            self.held[item.id] = item
        else:
            self.handed[item.id] = chat_of(item.route)
        return is_held

    def add_handed(self, item: WaitingItem) -> None:
        """Add an item that the session may read."""
        self.handed[item.id] = chat_of(item.route)

    def add_cut(self, item: str, route: Mapping[str, Any]) -> None:
        """Note that the turn that took up an item was cut: with its process, or with its keeper."""
        self.handed[item] = chat_of(route)
        self.taken[item] = None
        self.cut[item] = None

    def mark_taken(self, item: str) -> None:
        """Note that a turn has taken up an item."""
        if item in self.handed:
            self.taken[item] = None

    def remove(self, item: str) -> bool:
        """Forget an item; False if it is unknown."""
        self.taken.pop(item, None)
        self.cut.pop(item, None)
        return self.handed.pop(item, None) is not None or self.held.pop(item, None) is not None

    def release(self, items: tuple[str, ...]) -> None:
        """Note that items are handed in."""
        for item in items:
            held = self.held.pop(item)
            self.handed[item] = chat_of(held.route)

    def plan(self, settings: QueueSettings, *, is_busy: bool, now_s: float) -> HandIn:
        """Return what is done with the items that are kept back.

        Args:
            settings: The settings of the session's queue; the mode is that of each item.
            is_busy: True if a turn runs.
            now_s: A clock.
        """
        if self.is_shut or self.pauses:
            return HandIn()
        waking = [item for item in self.held.values() if item.begins_turn]
        passive = tuple(item.id for item in self.held.values() if not item.begins_turn)
        if is_busy or self.handed:
            is_busy = True
        if not waking:
            return HandIn(release=passive if is_busy else ())
        mode = waking[0].mode
        front = list(takewhile(lambda item: item.mode is mode, waking))
        if mode in AT_ONCE:
            return self._at_once(front, passive, is_busy=is_busy)
        planned = plan_queue(
            [HeldItem(id=item.id, route=_chat(item.route), text=item.text, at_s=item.at_s) for item in front],
            attrs.evolve(settings, mode=mode),
            is_busy=is_busy,
            now_s=now_s,
        )
        return _handed_in(planned, passive, settings.overflow)

    def _at_once(self, front: list[WaitingItem], passive: tuple[str, ...], *, is_busy: bool) -> HandIn:
        chats = set(self.handed.values())
        first = chat_of(front[0].route)
        if is_busy and front[0].mode is QueueMode.INTERRUPT:
            return HandIn(release=(*passive, front[0].id), interrupts=True)
        if is_busy and (not chats or chats != {first}):
            return HandIn()
        alike = takewhile(lambda item: chat_of(item.route) == first, front)
        return HandIn(release=(*passive, *(item.id for item in alike)))


def _handed_in(planned: QueuePlan, passive: tuple[str, ...], overflow: Overflow) -> HandIn:
    """Return the first batch as a step, with the drops that its summary names; the rest is planned when its turn has ended."""
    dropped = planned.dropped
    if not planned.batches:
        return HandIn(dropped=tuple(item.id for item in dropped), look_s=planned.look_s)
    batch = planned.batches[0]
    if overflow is Overflow.SUMMARIZE:
        dropped = tuple(item for item in dropped if chat_of(item.route) == chat_of(batch.route))
    return HandIn(
        release=(*passive, *(item.id for item in batch.items)),
        summary=batch.summary,
        route=batch.route,
        dropped=tuple(item.id for item in dropped),
        look_s=planned.look_s,
    )


def _chat(route: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in route.items() if name not in _OF_MESSAGES}


def chat_of(route: Mapping[str, Any]) -> str:
    """Return the name of the chat that a route leads to; empty for none."""
    chat = _chat(route)
    return json.dumps(chat, sort_keys=True, default=str) if chat else ""
