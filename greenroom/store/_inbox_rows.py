"""Items of boxes as rows of a table, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from greenroom.inbox import EntryKind, Origin, OriginKind, StoredItem
from greenroom.mailbox import Lane

WAITING, HELD, POISONED, REFUSED, GONE = range(5)
"""States of a row."""
SELECT: Final = (
    "SELECT id, box, text, origin, sender, subkind, lane, kind, flags, route, created_at, expires_at, seq, attempts, state"
    " FROM items WHERE box = ?"
)
INSERT: Final = (
    "INSERT INTO items (id, box, text, origin, sender, subkind, lane, kind, flags, route, created_at, expires_at, state, bytes)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


def row_of(item: StoredItem) -> tuple[Any, ...]:
    origin = item.origin
    return (
        item.id,
        item.box,
        item.text,
        origin.kind.value,
        origin.name,
        origin.subkind,
        item.lane.value,
        item.kind.value,
        item.is_meta + 2 * item.is_command,
        json.dumps(dict(item.route)),
        item.created_at,
        None if math.isinf(item.expires_at) else item.expires_at,
        HELD if item.is_held else WAITING,
        item.size_bytes,
    )


def item_of(row: Sequence[Any]) -> StoredItem:
    key, box, text, origin, sender, subkind, lane, kind, flags, route, created_at, expires_at, seq, attempts, state = (
        row
    )
    return StoredItem(
        id=key,
        box=box,
        text=text,
        origin=Origin(OriginKind(origin), sender, subkind),
        lane=Lane(lane),
        kind=EntryKind(kind),
        is_meta=bool(flags & 1),
        is_command=bool(flags & 2),
        is_held=state == HELD,
        route=json.loads(route),
        created_at=created_at,
        expires_at=math.inf if expires_at is None else expires_at,
        seq=seq,
        attempts=attempts,
    )
