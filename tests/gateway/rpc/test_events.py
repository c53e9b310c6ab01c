"""Events: who gets which, what a slow client is told, and what it makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing
from trio_websocket import wrap_client_stream

from greenroom.core import open_bare_nursery
from greenroom.gateway.rpc._methods import Answer, RpcCall
from greenroom.gateway.rpc._outbox import MAX_EVENT_BYTES
from greenroom.gateway.rpc._rpc_connection import DEAF_S
from greenroom.gateway.rpc._rpc_frames import PATH
from greenroom.gateway.rpc._rpc_tokens import NamedToken
from greenroom.gateway.rpc._scopes import RpcScope
from tests.gateway.rpc.peers import HOST, KEY, NAMES, OPERATOR, House, Peer, connect_params, open_house

pytestmark = pytest.mark.usefixtures("virtual_time")
OTHER = "agent:main:dm:x"
FEW = NamedToken(name="few", token="f" * 32, scopes=frozenset({RpcScope.READ}), sessions=frozenset({KEY}))


async def publish_all(house: House) -> None:
    """Publish one event of each kind, and a last one that everybody gets."""
    for event in ("agent", "chat", "session", "delivery", "approval"):
        house.hub.publish(event, KEY, {"of": KEY})
        house.hub.publish(event, OTHER, {"of": OTHER})
    for event in ("pairing", "channel", "cron", "health"):
        house.hub.publish(event, "", {"of": ""})
    house.hub.publish("shutdown", "", {"of": ""})
    await trio.lowlevel.checkpoint()


async def heard(peer: Peer) -> set[tuple[str, str]]:
    """Return the events up to the last one."""
    found = set[tuple[str, str]]()
    while True:
        (event,) = await peer.next_events(1)
        if event["event"] == "shutdown":
            return found
        found.add((event["event"], event["payload"]["of"]))


OF_ALL = [("pairing", ""), ("channel", ""), ("cron", ""), ("health", "")]
EVERY = ["agent", "chat", "session", "delivery", "approval", "pairing", "channel", "cron", "health"]


@pytest.mark.parametrize(
    ("token", "scopes", "asked", "expected"),
    [
        (OPERATOR, None, [], set()),
        (OPERATOR, None, [{"events": ["chat"]}], {("chat", KEY), ("chat", OTHER)}),
        (OPERATOR, None, [{"events": ["chat"], "sessionKeys": [KEY]}], {("chat", KEY)}),
        (
            OPERATOR,
            None,
            [{"events": ["chat"], "sessionKeys": [KEY]}, {"events": ["chat", "cron"], "sessionKeys": [OTHER]}],
            {("chat", KEY), ("chat", OTHER)},
        ),
        (
            OPERATOR,
            ["read"],
            [{"events": EVERY}],
            {(event, key) for event in EVERY[:4] for key in (KEY, OTHER)} | set(OF_ALL[1:]),
        ),
        (
            OPERATOR,
            None,
            [{"events": ["approval", "pairing"]}],
            {("approval", KEY), ("approval", OTHER), ("pairing", "")},
        ),
        (FEW.token, None, [{"events": EVERY}], {(event, KEY) for event in EVERY[:4]}),
    ],
)
async def test_event_reaches_those_who_asked_and_may_have_it(
    token: str, scopes: list[str] | None, asked: list[dict[str, Any]], expected: set[tuple[str, str]]
) -> None:
    async with open_house(named=[FEW]) as house, house.connected(token, scopes=scopes) as peer:
        for params in asked:
            assert (await peer.call("events.subscribe", params))["ok"]
        await publish_all(house)
        assert await heard(peer) == expected


async def test_subscription_ends_for_a_session_or_whole() -> None:
    async with open_house() as house, house.connected() as peer:
        await peer.call("events.subscribe", {"events": ["chat", "agent"], "sessionKeys": [KEY, OTHER]})
        answer = await peer.call("events.unsubscribe", {"events": ["chat"], "sessionKeys": [KEY]})
        await peer.call("events.unsubscribe", {"events": ["agent"]})
        await publish_all(house)
        assert await heard(peer) == {("chat", OTHER)}

    assert answer["payload"]["events"] == {"agent": sorted([KEY, OTHER]), "chat": [OTHER]}


async def test_subscription_names_at_most_a_thousand_sessions() -> None:
    async with open_house() as house, house.connected() as peer:
        few = {"events": ["chat"], "sessionKeys": [f"s{number}" for number in range(1_000)]}
        assert (await peer.call("events.subscribe", few))["ok"]
        assert (await peer.call("events.subscribe", few))["ok"]
        more = await peer.call("events.subscribe", {"events": ["agent", "chat"], "sessionKeys": ["one more"]})
        left = await peer.call("events.unsubscribe", {"events": ["chat"]})

    assert (more["error"]["code"], more["error"]["details"]["path"]) == ("bad_request", "sessionKeys")
    assert left["payload"]["events"] == {}, "a refusal adds nothing"


async def test_lifecycle_level_leaves_out_pieces_of_texts() -> None:
    async with open_house() as house, house.connected() as peer:
        await peer.call("events.subscribe", {"events": ["chat"], "level": "lifecycle"})
        house.hub.publish("chat", KEY, {"at": 0, "message": "piece"}, delta_of="m")
        house.hub.publish("chat", KEY, {"state": "final", "message": "whole"})
        (event,) = await peer.next_events(1)

    assert event["payload"]["message"] == "whole"


async def open_deaf(house: House, nursery: trio.Nursery) -> Peer:
    """Connect over a stream that holds nothing, so that a peer which does not read makes a writer wait."""
    ours, theirs = trio.testing.lockstep_stream_pair()
    house.server.take(theirs, "memory", NAMES)
    socket = await wrap_client_stream(nursery, ours, HOST, PATH)  # type: ignore[arg-type]  # any stream will do
    peer = Peer(socket)
    assert (await peer.call("connect", connect_params()))["ok"]
    return peer


@pytest.mark.promise("A25-d")
async def test_deaf_client_makes_nobody_wait_and_is_closed() -> None:
    async with open_house() as house, open_bare_nursery() as nursery:
        deaf = await open_deaf(house, nursery)
        await deaf.call("events.subscribe", {"events": ["chat", "session"]})
        async with house.connected() as quick:
            await quick.call("events.subscribe", {"events": ["chat", "session"]})
            began = trio.current_time()
            for number in range(1_000):
                house.hub.publish("session", KEY, {"number": number, "text": "x" * 10_000})
                (event,) = await quick.next_events(1)
                assert event["payload"]["number"] == number
            waited_s = trio.current_time() - began
            figures = house.hub.statistics()
            await trio.sleep(DEAF_S + 5)
            left = house.server.statistics().proven
        nursery.cancel_scope.cancel()

    assert left == 1, "only the quick one"
    assert waited_s < 1
    assert figures["waitingBytes"] <= MAX_EVENT_BYTES * 2
    assert figures["lostEvents"] > 800


@pytest.mark.promise("A25-d")
async def test_slow_client_is_told_of_its_gap() -> None:
    async with open_house() as house, open_bare_nursery() as nursery:
        slow = await open_deaf(house, nursery)
        await slow.call("events.subscribe", {"events": ["session"]})
        for number in range(1_000):
            house.hub.publish("session", KEY, {"number": number})
            await trio.lowlevel.checkpoint()
        events: list[dict[str, Any]] = []
        while not events or events[-1]["payload"].get("number") != 999:
            events += await slow.next_events(1)
        nursery.cancel_scope.cancel()

    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["payload"] for event in events if event["event"] == "gap"] == [
        {"events": ["session"], "sessionKeys": [KEY]}
    ]


@pytest.mark.promise("A25-e")
@pytest.mark.parametrize("cut", range(0, 12, 2))
async def test_text_put_together_over_a_break_is_the_whole(cut: int) -> None:
    """A client loses its connection within a reply, connects again, and reads what it missed."""
    pieces = [f"piece {number} " for number in range(10)]
    whole = "".join(pieces)
    transcript: list[str] = []

    async def history(_: RpcCall, __: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        return {"messages": list(transcript)}

    async def speak(house: House) -> None:
        at = 0
        for piece in pieces:
            house.hub.publish("chat", KEY, {"state": "delta", "at": at, "message": piece}, delta_of="m")
            at += len(piece)
            await trio.sleep(1)
        transcript.append(whole)
        house.hub.publish("chat", KEY, {"state": "final", "message": whole})

    async with open_house(replaced={"chat.history": history}) as house, trio.open_nursery() as nursery:
        nursery.start_soon(speak, house)
        async with house.connected() as peer:
            await peer.call("events.subscribe", {"events": ["chat"]})
            await trio.sleep(cut + 0.5)
        async with house.connected() as peer:
            await peer.call("events.subscribe", {"events": ["chat"]})
            have = "".join((await peer.call("chat.history", {"sessionKey": KEY}))["payload"]["messages"])
            while have != whole:
                (event,) = await peer.next_events(1)
                if event["payload"]["state"] == "final":
                    have = event["payload"]["message"]

    assert have == transcript[0]


async def test_gap_in_a_reply_is_healed_by_reading_anew() -> None:
    text = "word " * 400_000
    async with open_house() as house, open_bare_nursery() as nursery:
        slow = await open_deaf(house, nursery)
        await slow.call("events.subscribe", {"events": ["chat"]})
        for at in range(0, len(text), 50_000):
            house.hub.publish("chat", KEY, {"at": at, "message": text[at : at + 50_000]}, delta_of="m")
        house.hub.publish("chat", KEY, {"state": "final", "length": len(text)})
        events: list[dict[str, Any]] = []
        while not events or events[-1]["payload"].get("state") != "final":
            events += await slow.next_events(1)
        nursery.cancel_scope.cancel()

    assert [event["payload"] for event in events if event["event"] == "gap"] == [
        {"events": ["chat"], "sessionKeys": [KEY]}
    ]
    assert json.dumps(events[0])
