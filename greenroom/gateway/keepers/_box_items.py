"""Inputs as items of the gateway's inbox store, and back: the box is the session key, and the route is kept with what the gateway needs.

Must not know: clock, disk, Trio, sessions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from greenroom.gateway.announce._queue_plan import QueueMode
from greenroom.gateway.keepers._seams import NewInput
from greenroom.gateway.keepers._session_models import TurnWish
from greenroom.gateway.keepers._waiting_items import WaitingItem
from greenroom.inbox import EntryKind, OriginKind, StoredItem, make_item

RUN: Final = "run"
MODE: Final = "mode"
WAITS: Final = "waits"
MODEL: Final = "model"
THINKING: Final = "thinking"
_OF_GATEWAY: Final = frozenset((RUN, MODE, WAITS, MODEL, THINKING))


def stored_item(key: str, new: NewInput, mode: QueueMode, *, is_held: bool, now_s: float) -> StoredItem:
    """Return an input as an item of the store.

    Args:
        key: The session key.
        new: The input.
        mode: The mode of its queue.
        is_held: True if it is kept back.
        now_s: The wall clock.

    Raises:
        UsageError: Its text is blank.
    """
    made = make_item(new.text, uuid=new.id, origin=new.origin, is_command=lambda text: text.lstrip().startswith("/"))
    is_plain = not new.is_command
    route: dict[str, Any] = {} if new.route is None else new.route.to_json()
    route |= {RUN: new.run} if new.run else {}
    route |= {MODE: mode.value} | ({} if new.begins_turn else {WAITS: True})
    wish = new.wish or TurnWish()
    route |= {name: said for name, said in ((MODEL, wish.model), (THINKING, wish.thinking)) if said}
    return StoredItem(
        id=new.id,
        box=key,
        text=new.text if is_plain else made.text,
        origin=new.origin,
        lane=made.lane,
        kind=EntryKind.PROMPT if is_plain and made.kind is EntryKind.BASH else made.kind,
        is_meta=made.is_meta,
        is_command=made.is_command and not is_plain,
        is_held=is_held,
        route=route,
        created_at=now_s,
    )


def waiting_item(item: StoredItem) -> WaitingItem:
    """Return an item of the store as one that waits."""
    return WaitingItem(
        id=item.id,
        route=item.route,
        text=_named(item),
        at_s=item.created_at,
        mode=mode_of(item.route.get(MODE, QueueMode.STEER)),
        begins_turn=not item.route.get(WAITS, False),
    )


def wish_of(chats: Iterable[str]) -> TurnWish:
    """Return the model and thinking that the items of a turn ask for: those of the first that names any; `chats` as of `chat_of`."""
    for chat in chats:
        route = json.loads(chat or "{}")
        if route.get(MODEL) or route.get(THINKING):
            return TurnWish(model=route.get(MODEL, ""), thinking=route.get(THINKING, ""))
    return TurnWish()


def _named(item: StoredItem) -> str:
    """Return the text by which a summary names an item: that of a notice without what stands in front of each of them."""
    told = item.text.partition("\n\n")[2] if item.origin.kind is OriginKind.TASK_NOTIFICATION else ""
    return told or item.text


def route_of(item: StoredItem) -> dict[str, Any]:
    """Return where the answer to an item goes, as events name it."""
    return {name: value for name, value in item.route.items() if name not in _OF_GATEWAY}


def mode_of(said: object, default: QueueMode = QueueMode.STEER) -> QueueMode:
    """Return a queue mode; the default for a word that is none."""
    return QueueMode(str(said)) if said in set(QueueMode) else default


def run_of(route: Mapping[str, Any]) -> str:
    """Return the run that an item begins; empty for none."""
    return str(route.get(RUN, ""))


def is_input(item: StoredItem) -> bool:
    """True if an item is an input, or a line that names some; others are messages that sessions send to themselves."""
    return MODE in item.route
