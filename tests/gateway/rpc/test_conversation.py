"""Requests, answers and events over one connection."""

from __future__ import annotations

import pytest
import trio

from tests.gateway.rpc.peers import KEY, open_house

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_hello_names_what_the_connection_may_do() -> None:
    async with open_house() as house, house.connected(scopes=["read"]) as peer:
        hello = peer.hello

    assert (hello["type"], hello["protocol"], hello["scopes"]) == ("hello-ok", 1, ["read"])
    assert {"health", "events.subscribe"} <= set(hello["methods"])
    assert "agent" not in hello["methods"]
    assert "token" not in hello


async def test_a_call_is_answered_and_an_event_is_pushed() -> None:
    async with open_house() as house, house.connected() as peer:
        assert (await peer.call("health"))["payload"]["method"] == "health"
        await peer.call("events.subscribe", {"events": ["chat"]})
        house.hub.publish("chat", KEY, {"text": "hi"})
        house.hub.publish("session", KEY, {})
        house.hub.publish("chat", KEY, {"text": "there"})
        first, second = await peer.next_events(2)

    assert (first["event"], first["payload"], first["seq"]) == ("chat", {"text": "hi"}, 1)
    assert (second["payload"], second["seq"]) == ({"text": "there"}, 2)


async def test_a_silent_connection_gets_a_tick_every_15_seconds() -> None:
    async with open_house() as house, house.connected() as peer:
        began = trio.current_time()
        await peer.next_events(2)

    assert 29 <= trio.current_time() - began <= 31
