"""The boxes of a redis server keep the rules of the kit, and belong to one process at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime
from uuid import uuid4

import attrs
import pytest
import trio

from greenroom.core import JournalError
from greenroom.core.ports import Ports
from greenroom.inbox import InboxStore, StoredItem, peer
from greenroom.remote.redis import open_redis_inbox
from greenroom.testing import INBOX_RULES, InboxKit
from tests.remote.redis.real_redis import MEMORY_STREAMS
from tools.chaos.redis_process import RealRedis

pytestmark = pytest.mark.filterwarnings(MEMORY_STREAMS)


@attrs.frozen
class KitClock:
    """The clock of the run, with the date of the kit."""

    wall: Callable[[], datetime]

    def bind(self) -> Callable[[], float]:
        return trio.current_time


@pytest.mark.parametrize("rule", INBOX_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.promise("I-57")
async def test_boxes_on_a_server_keep_the_rules_of_the_kit(
    rule: Callable[[InboxKit], object], redis: RealRedis
) -> None:
    name = uuid4().hex

    async def opened(wall: Callable[[], datetime]) -> InboxStore:
        ports = attrs.evolve(Ports(), clock=KitClock(wall))
        return await stack.enter_async_context(open_redis_inbox(redis.url, name=name, ports=ports))

    async with AsyncExitStack() as stack:
        await rule(InboxKit(opened))  # type: ignore[misc]


@pytest.mark.promise("R9-b")
async def test_what_an_earlier_holder_says_is_refused_and_changes_nothing(redis: RealRedis) -> None:
    """Mechanism: every take, begin and acknowledgement says the number of the lease, and the server compares it."""
    name = uuid4().hex
    async with (
        open_redis_inbox(redis.url, name=name, node="desk") as first,
        open_redis_inbox(redis.url, name=name, node="desk") as second,
    ):
        await first.put([StoredItem(id="1", box="main", text="x", origin=peer("a"))])
        await first.reopen("main")
        assert [item.id for item in (await first.take("main")).items] == ["1"]
        await second.reopen("main")
        for late in (first.ack, first.begin):
            with pytest.raises(JournalError, match=f"box 'main' belongs to '{second.holder}' now"):
                await late("main", ["1"])
        with pytest.raises(JournalError, match="belongs to"):
            await first.take("main")
        assert [(item.id, item.attempts) for item in (await second.take("main")).items] == [("1", 0)]
