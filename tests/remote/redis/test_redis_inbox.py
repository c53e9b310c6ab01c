"""The boxes of a redis server keep the rules of the kit, and belong to one process at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime
from uuid import uuid4

import attrs
import pytest
import trio

from greenroom.core.ports import Ports
from greenroom.inbox import InboxStore
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
