"""Whatever happens to keepers and their sessions, each input ends once, in order, and nothing stays taken."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway.config._clock_and_limits import LimitsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._keepers import open_keepers
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.record._gateway_events import GatewayBegan
from greenroom.gateway.record._gateway_journal import open_gateway_journal
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import BoxFull
from greenroom.store import MemoryInboxStore
from greenroom.testing import virtual_ports
from tests.gateway.keepers.keeping import Gateway, Watcher, said, uuid
from tests.gateway.keepers.standins import Conversations
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, unlocked

KEYS = [
    SessionKey("main"),
    SessionKey.parse("agent:main:irc:dm:bob"),
    SessionKey.parse(f"agent:main:subagent:{uuid(7)}"),
]
MODES = ["steer", "followup", "collect", "interrupt"]
ROUTES = [ChatRoute(channel="irc", peer="ada"), ChatRoute(channel="matrix", peer="!room")]
WIDTHS = {"main": 1, "subagent": 1}


async def with_standins(test: Any, disk: Conversations, *, open_sessions: int = 200) -> Any:
    """Run a test over keepers whose sessions are stand-ins."""
    files = MemoryDisk()
    ports = attrs.evolve(virtual_ports(1), disk=files)
    config = GatewayConfig(limits=LimitsConfig(open_sessions=open_sessions))
    async with open_gateway_journal(FOLDER, ports=ports, lock=unlocked) as record:
        await record.write(GatewayBegan(at_s=1.0, process=1))
        store, lanes, watcher = MemoryInboxStore(ports.clock.wall), TurnLanes(WIDTHS), Watcher()
        gateway = Gateway(None, record, store, lanes, watcher, [], config, FOLDER)  # type: ignore[arg-type]
        async with open_keepers(
            config=lambda: gateway.config,
            record=record,
            store=store,
            lanes=lanes,
            watcher=watcher,
            on_event=lambda *_: None,
            open_model=lambda *_: None,  # type: ignore[arg-type]
            tools_for=lambda _: (),
            ports=ports,
            state_folder=FOLDER,
            opener=disk.open,
            find_fate=disk.fate,
        ) as keepers:
            gateway.keepers = keepers
            return await test(gateway, disk)


def run(test: Any, disk: Conversations, **options: Any) -> Any:
    async def limited() -> Any:
        with trio.fail_after(1_000_000):
            return await with_standins(test, disk, **options)

    return trio.run(limited, clock=MockClock(autojump_threshold=0))


PUT = st.tuples(
    st.just("put"),
    st.sampled_from(KEYS),
    st.sampled_from(MODES),
    st.sampled_from(ROUTES),
    st.booleans(),
)
OTHER = st.tuples(st.sampled_from(["stop", "stop_item", "crash", "kill", "reset", "patch"]), st.sampled_from(KEYS))
WAIT = st.tuples(st.just("wait"), st.sampled_from([0.0, 0.2, 1.1, 4.0, 30.0, 700.0]))


async def carry_out(gateway: Gateway, disk: Conversations, steps: list[Any], put: dict[str, SessionKey]) -> None:
    async with trio.open_nursery() as nursery:
        for step in steps:
            match step:
                case ("put", key, mode, route, begins):
                    id_ = uuid(len(put) + 1)
                    put[id_] = key
                    try:
                        await gateway.keepers.put(key, said("text", id_, queue=mode, route=route, begins_turn=begins))
                    except BoxFull:
                        del put[id_]
                case ("stop", key):
                    nursery.start_soon(partial(gateway.keepers.stop_turn, str(key), who="ada"))
                case ("stop_item", key) if put:
                    nursery.start_soon(partial(gateway.keepers.stop_turn, str(key), who="ada", item=max(put)))
                case ("crash", key) if str(key) in disk.sessions:
                    disk.sessions[str(key)].crash()
                case ("kill", key):
                    gateway.keepers.kill(str(key))
                case ("reset" | "patch", key) if str(key) in gateway.record.registry.sessions:
                    if step[0] == "reset":
                        nursery.start_soon(partial(gateway.keepers.reset, str(key), who="ada"))
                    else:
                        await gateway.keepers.patch(str(key), {"thinking": "low"})
                case ("wait", seconds):
                    await trio.sleep(seconds)


async def run_out(gateway: Gateway) -> None:
    """End everything that can end: what was killed is resumed, what is broken is reset, what waits for a turn gets one."""
    for _ in range(4):
        await trio.sleep(2_000)
        for key in list(gateway.keepers.broken):
            await gateway.keepers.reset(key, who="ada")
        for row in list(gateway.record.registry.inbound.values()):
            gateway.keepers.resume_cut(row.session)
    await trio.sleep(2_000)


@settings(max_examples=15, deadline=None)
@given(steps=st.lists(st.one_of(PUT, PUT, OTHER, WAIT), max_size=14), limit=st.sampled_from([1, 2, 200]))
def test_every_input_ends_once_whatever_happens(steps: list[Any], limit: int) -> None:
    disk = Conversations()

    async def test(gateway: Gateway, disk: Conversations) -> None:
        put: dict[str, SessionKey] = {}
        await carry_out(gateway, disk, steps, put)
        await run_out(gateway)

        passive = {
            item.id for keeper in gateway.keepers._actors.keepers.values() for item in keeper.items.held.values()
        }
        ended = Counter(item for end in gateway.watcher.ends for item in end.items)
        assert ended == Counter(set(put) - passive)
        assert set(gateway.record.registry.inbound) == passive
        lanes = gateway.lanes.statistics()
        assert all((lane.active, lane.waiting, lane.lent) == (0, 0, 0) for lane in lanes.values())
        assert (gateway.keepers.open_count, disk.open_now, gateway.keepers._actors.running) == (0, {}, {})
        assert disk.most_open <= limit
        assert all(row.state is not SessionState.OPEN for row in gateway.record.registry.sessions.values())

    run(test, disk, open_sessions=limit)


@pytest.mark.promise("A22-c")
@pytest.mark.parametrize("how", ["kill", "crash"])
@pytest.mark.parametrize("when_s", [0.0, 0.2, 1.0, 10.0, 603.3, 603.6])
def test_a_keeper_that_ends_in_any_state_harms_no_other(how: str, when_s: float) -> None:
    """Opening, in its first turn, waiting for a place, idle, about to close."""

    async def test(gateway: Gateway, disk: Conversations) -> None:
        await gateway.say("One.", uuid(1), KEYS[1])
        await trio.sleep(when_s)
        if how == "kill":
            gateway.keepers.kill(str(KEYS[1]))
        elif str(KEYS[1]) in disk.sessions:
            disk.sessions[str(KEYS[1])].crash()
        await gateway.say("Two.", uuid(2), KEYS[2])
        start = trio.current_time()
        await gateway.watcher.wait_ends(1)
        while not any(uuid(2) in end.items for end in gateway.watcher.ends):
            await gateway.watcher.wait_ends(len(gateway.watcher.ends) + 1)
        assert trio.current_time() - start < 6
        await run_out(gateway)
        assert Counter(item for end in gateway.watcher.ends for item in end.items) == {uuid(1): 1, uuid(2): 1}
        assert gateway.keepers.broken == {}

    run(test, Conversations())


@pytest.mark.promise("A22-c")
def test_a_keeper_that_crashes_too_often_is_broken_until_it_is_reset() -> None:
    """RC-94: a session that cannot be opened is tried again, and sets no other one back."""
    opened: list[float] = []

    def fail(key: str) -> None:
        if key == str(KEYS[1]):
            opened.append(trio.current_time())
            raise RuntimeError("a bug")

    async def test(gateway: Gateway, disk: Conversations) -> None:
        await gateway.say("One.", uuid(1), KEYS[1])
        await trio.sleep(300)
        assert list(gateway.keepers.broken) == [str(KEYS[1])]
        assert len(opened) == 4
        await gateway.say("Two.", uuid(2), KEYS[1])
        await gateway.say("Three.", uuid(3), KEYS[0])
        await gateway.watcher.wait_ends(1)
        assert [end.items for end in gateway.watcher.ends] == [(uuid(3),)]

        disk.on_open = lambda _: None
        await gateway.keepers.reset(str(KEYS[1]), who="ada")
        await gateway.watcher.wait_ends(2)
        assert gateway.watcher.ends[1].items == (uuid(1), uuid(2))

    run(test, attrs.evolve(Conversations(), on_open=fail))


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
