"""An input on its way into the store and onto the record."""

from __future__ import annotations

from typing import Final

from greenroom.gateway.announce._queue_plan import Overflow
from greenroom.gateway.keepers._box_items import route_of, run_of
from greenroom.gateway.keepers._keeper import SessionKeeper
from greenroom.gateway.keepers._seams import NewInput
from greenroom.gateway.record._run_events import InboundAccepted
from greenroom.inbox import BoxFull, OriginKind, StoredItem

MAX_HELD: Final = 90
"""Items of one session that are kept back; more are refused. The store itself would drop the oldest ones from 100 on."""
PEOPLE: Final = frozenset((OriginKind.HUMAN, OriginKind.CHANNEL))
"""Kinds of origins of what people say."""


def check_room(keeper: SessionKeeper, new: NewInput) -> None:
    """Refuse an input for which there is no room.

    Raises:
        BoxFull: Too many wait, and the newest one is refused.
    """
    config, held = keeper.parts.config(), len(keeper.items.held)
    queue, limit = config.messages.queue, config.limits.waiting_inputs
    if held + len(keeper.items.handed) >= limit and held + len(keeper.items.unread) >= limit:
        raise BoxFull(keeper.name, f"{limit} inputs wait, which is limits.waitingInputs")
    if held >= MAX_HELD or (held >= queue.cap and new.begins_turn and Overflow(queue.drop) is Overflow.NEW):
        raise BoxFull(keeper.name, f"{held} messages wait for the end of the turn")


async def store_input(keeper: SessionKeeper, item: StoredItem, why: str) -> bool:
    """Put an item into the store, then on record; False if the store knew it.

    Raises:
        JournalError, BoxFull: It is refused.
    """
    (place,) = await keeper.parts.store.put([item])
    if place.is_new:
        keeper.unrecorded[item.id] = item
        await record_input(keeper, item, why)
    return place.is_new


async def record_input(keeper: SessionKeeper, item: StoredItem, why: str) -> None:
    """Put an item that is in the store on record, and return when that is durable.

    Raises:
        JournalError: It could not be recorded; it is tried again with the next put of that id, or by the next process.
    """
    record = keeper.parts.record
    if item.id in record.registry.inbound:  # it is there, and it was not known whether it is durable
        await record.journal.commit()
    else:
        await record.write(
            InboundAccepted(
                at_s=keeper.parts.now(),
                item=item.id,
                session=keeper.name,
                route=route_of(item),
                run=run_of(item.route),
                why=why,
                is_person=item.origin.kind in PEOPLE,
            )
        )
    keeper.unrecorded.pop(item.id, None)  # another put of it may have recorded it meanwhile
