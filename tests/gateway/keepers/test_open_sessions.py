"""Room for open sessions, and what is remembered of closed ones."""

from __future__ import annotations

import pytest
import trio

from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.routing._session_key import SessionKey
from tests.gateway.keepers.driven import KEYS, run
from tests.gateway.keepers.keeping import Gateway, uuid
from tests.gateway.keepers.standins import Conversations


def test_the_session_that_was_idle_longest_makes_room() -> None:
    async def test(gateway: Gateway, disk: Conversations) -> None:
        for number, key in enumerate([KEYS[0], KEYS[1], KEYS[2]]):
            await gateway.say("Hello.", uuid(number + 1), key)
            await gateway.watcher.wait_ends(number + 1)
            await trio.sleep(1)
        assert sorted(disk.open_now) == sorted(map(str, KEYS[1:]))
        assert gateway.record.registry.sessions[str(KEYS[0])].state is SessionState.CLOSED

    run(test, Conversations(), open_sessions=2)


@pytest.mark.promise("A29-b")
def test_memory_does_not_grow_with_messages_and_keys() -> None:
    async def test(gateway: Gateway, disk: Conversations) -> None:
        for number in range(300):
            key = SessionKey.parse(f"agent:main:irc:dm:p{number % 100}")
            await gateway.say("Hello.", uuid(number + 1), key)
        await trio.sleep(4_000)
        assert (gateway.keepers._actors.keepers, gateway.keepers._actors.running, gateway.keepers._actors.open) == (
            {},
            {},
            {},
        )
        assert gateway.record.registry.inbound == {}

    disk = Conversations(turn_s=0.01, open_s=0.0)
    run(test, disk, open_sessions=10)
