"""Items that an earlier process left: in the store, in the registry, and in the files of their sessions.

Rule 1: an item of the store that no event names is told before anything else happens. Rule 2: an item that a turn has read is never read
again: its turn is reported as ended, or left to be resumed. Rule 3: nothing is opened for this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._box_items import is_input, route_of, run_of, waiting_item
from greenroom.gateway.keepers._keeper import SessionKeeper
from greenroom.gateway.keepers._keeper_parts import KeeperParts
from greenroom.gateway.keepers._turn_lookup import ItemFate, LookUp
from greenroom.gateway.keepers._turn_reporter import ANSWERED, end_of, lost_end, unread_end
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import GatewayEvent, InboundAccepted
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import StoredItem
from greenroom.store import new_uuid

LOST: Final = "nothing of it is left"


@final
@attrs.frozen
class LeftItems:
    """The items that the store holds for one session key."""

    ready: tuple[StoredItem, ...] = ()
    held: tuple[StoredItem, ...] = ()


async def read_left(parts: KeeperParts) -> dict[str, LeftItems]:
    """Return what the store holds by session key, and record what no event names.

    Raises:
        JournalError: The store cannot be read, or nothing can be recorded.
    """
    store, found = parts.store, {}
    events: list[GatewayEvent] = []
    for box in await store.boxes():
        try:
            SessionKey.parse(box)
        except UsageError:
            continue
        await store.reopen(box)
        taken, held = await store.take(box), await store.held(box)
        for item in taken.items:
            if not is_input(item):
                await store.withdraw(box, item.id)
        left = LeftItems(tuple(filter(is_input, taken.items)), tuple(filter(is_input, held)))
        if left.ready or left.held:
            found[box] = left
            events += _untold(parts, box, (*left.ready, *left.held))
    if events:
        await parts.record.write(*events)
    return found


def _untold(parts: KeeperParts, key: str, items: Sequence[StoredItem]) -> list[GatewayEvent]:
    registry, now_s = parts.record.registry, parts.now()
    events: list[GatewayEvent] = []
    untold = [item for item in items if item.id not in registry.inbound]
    if untold and key not in registry.sessions:
        events.append(SessionMade(at_s=now_s, session=key, session_id=new_uuid(parts.ports.ids)))
    events += [
        InboundAccepted(at_s=now_s, item=item.id, session=key, route=route_of(item), run=run_of(item.route))
        for item in untold
    ]
    return events


def adopt(keeper: SessionKeeper, left: LeftItems) -> None:
    """Give a keeper what the store holds for it."""
    for item in left.ready:
        keeper.items.add_handed(waiting_item(item))
    for item in left.held:
        keeper.items.held[item.id] = waiting_item(item)


def unsettled_items(registry: Registry, left: Mapping[str, LeftItems]) -> dict[str, dict[str, bool]]:
    """Return the unsettled items by session key, each True if the store holds it."""
    found: dict[str, dict[str, bool]] = {}
    for row in registry.inbound.values():
        items = left.get(row.session, LeftItems())
        stored = {item.id for item in (*items.ready, *items.held)}
        found.setdefault(row.session, {})[row.item] = row.item in stored
    return found


async def settle_left(keeper: SessionKeeper, rows: Mapping[str, bool]) -> None:
    """Report the turns of items that ended before that was on record, and find those that were cut.

    Args:
        keeper: The keeper of the session; nothing of it is open.
        rows: The unsettled items of the session, each True if the store holds it.
    """
    parts, row = keeper.parts, keeper.row
    folder = sessions_folder(parts.state_folder, keeper.key) / row.session_id
    handed = set(keeper.items.handed)
    fates = await parts.ports.blocking.run(partial(_look_up_all, parts.look_up, folder, tuple(rows)))
    for item, fate in fates.items():
        if item in handed and item not in keeper.items.handed:
            continue  # it was stopped meanwhile
        if fate.is_read:
            await parts.store.ack(keeper.name, [item])
        if fate.over is not None:
            await parts.watcher.turn_ended(end_of(keeper.name, row.session_id, fate.over, (item,)))
            keeper.settle(item, ANSWERED)
        elif fate.is_read:
            route = parts.record.registry.inbound[item].route if item in parts.record.registry.inbound else {}
            keeper.items.add_cut(item, route)
        elif fate.gone:
            await parts.watcher.turn_ended(unread_end(keeper.name, row.session_id, (item,), fate.gone))
            keeper.settle(item, fate.gone)
        elif not rows[item]:
            await parts.watcher.turn_ended(lost_end(keeper.name, row.session_id, (item,), LOST))
            keeper.settle(item, LOST)


async def settle_taken(keeper: SessionKeeper) -> None:
    """Finish what an incarnation of a keeper left half done.

    Turns that ended and were not reported are reported; the items of those that were cut stay taken. Items that a turn has read without the
    keeper hearing of it are taken. Items that were planned to be handed in, and that the store holds still, are released.
    """
    if keeper.items.handed:
        await settle_left(keeper, {item: item not in keeper.items.taken for item in keeper.items.handed})
    store = keeper.parts.store
    if late := [item.id for item in await store.held(keeper.name) if item.id not in keeper.items.held]:
        await store.release(keeper.name, late)


def _look_up_all(look_up: LookUp, folder: Path, items: Sequence[str]) -> dict[str, ItemFate]:
    return {item: look_up(folder, item) for item in items}
