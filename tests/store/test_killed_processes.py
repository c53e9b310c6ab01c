"""Real processes that put into a store and take from it, killed with -9; `make chaos-store` kills a hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.inbox import StoredItem, peer
from greenroom.store import INBOX, open_inbox_store, stored_ids
from greenroom.testing import virtual_ports
from tools.chaos.store import kill_processes


@pytest.mark.promise("R6-b")
@pytest.mark.slow
def test_killed_writers_and_taker_lose_and_repeat_no_acknowledged_item(tmp_path: Path) -> None:
    """Mechanism: a put returns after its transaction, and an item leaves the store after its taker has recorded it."""
    totals = kill_processes(tmp_path, 3, seed=1)

    assert totals.acknowledged > 100
    assert totals.is_right


@pytest.mark.promise("R6-b")
async def test_put_that_returned_is_there_for_others_until_it_was_acknowledged(tmp_path: Path) -> None:
    ports, path = virtual_ports(1), tmp_path / INBOX
    assert stored_ids(path) is None
    writer = await open_inbox_store(path, blocking=ports.blocking, wall=ports.clock.wall)
    await writer.put([StoredItem(id="1", box="main", text="x", origin=peer("a"))])
    assert stored_ids(path) == frozenset(("1",))
    taker = await open_inbox_store(path, blocking=ports.blocking, wall=ports.clock.wall)
    assert [item.id for item in (await taker.take("main")).items] == ["1"]
    assert stored_ids(path) == frozenset(("1",))
    await taker.ack("main", ["1"])
    assert stored_ids(path) == frozenset()
    await writer.aclose()
    await taker.aclose()
