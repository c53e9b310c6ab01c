"""Keepers over sessions that stand in for real ones, driven by plans: what is put, ended, crashed and changed in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, final

import attrs
import trio
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
from greenroom.testing import Sim, virtual_ports
from tests.gateway.keepers.keeping import Gateway, Watcher, said, uuid
from tests.gateway.keepers.standins import Conversations
from tests.kept import Kept
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


NUMBERS = st.integers(0, len(KEYS) - 1)
PUT = st.tuples(st.just("put"), NUMBERS, st.sampled_from(MODES), st.integers(0, 1), st.booleans())
OTHER = st.tuples(st.sampled_from(["stop", "stop_item", "crash", "kill", "reset", "patch"]), NUMBERS)
WAIT = st.tuples(st.just("wait"), st.sampled_from([0.0, 0.2, 1.1, 4.0, 30.0, 700.0]))


@final
@attrs.frozen
class KeeperPlan(Kept):
    """A step of a driven run of keepers; keys and routes are numbers."""

    steps: list[Any]
    open_sessions: int = 200


def keeper_plans() -> st.SearchStrategy[KeeperPlan]:
    """Return whole plans."""
    steps = st.lists(st.one_of(PUT, PUT, OTHER, WAIT).map(list), max_size=14)
    return st.builds(KeeperPlan, steps, st.sampled_from([1, 2, 200]))


async def carry_out(gateway: Gateway, disk: Conversations, plan: KeeperPlan, put: dict[str, SessionKey]) -> None:
    async with trio.open_nursery() as nursery:
        for name, *values in plan.steps:
            step = (name, KEYS[values[0]], *values[1:]) if name != "wait" else (name, *values)
            match step:
                case ("put", key, mode, route, begins):
                    id_ = uuid(len(put) + 1)
                    put[id_] = key
                    try:
                        await gateway.keepers.put(
                            key, said("text", id_, queue=mode, route=ROUTES[route], begins_turn=begins)
                        )
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
    """End everything that can end: what is broken is reset, and nothing else is done for what waits or was cut."""
    for _ in range(4):
        await trio.sleep(2_000)
        for key in list(gateway.keepers.broken):
            await gateway.keepers.reset(key, who="ada")
    await trio.sleep(2_000)


def run(test: Any, disk: Conversations, **options: Any) -> Any:
    async def limited() -> Any:
        with trio.fail_after(1_000_000):
            return await with_standins(test, disk, **options)

    return trio.run(limited, clock=MockClock(autojump_threshold=0))


async def drive(plan: KeeperPlan, gateway: Gateway, disk: Conversations) -> None:
    """Carry out a plan, and check that each input has ended once, and that nothing is taken or open."""
    put: dict[str, SessionKey] = {}
    await carry_out(gateway, disk, plan, put)
    await run_out(gateway)

    keepers, registry = gateway.keepers, gateway.record.registry
    held = [item for keeper in keepers._actors.keepers.values() for item in keeper.items.held.values()]
    passive = {item.id for item in held if not item.begins_turn}
    assert Counter(item for end in gateway.watcher.ends for item in end.items) == Counter(set(put) - passive)
    assert set(registry.inbound) == passive
    lanes = gateway.lanes.statistics()
    assert all((lane.active, lane.waiting, lane.lent) == (0, 0, 0) for lane in lanes.values())
    assert (keepers.open_count, disk.open_now, keepers._actors.running) == (0, {}, {})
    assert disk.most_open <= plan.open_sessions
    assert all(row.state is not SessionState.OPEN for row in registry.sessions.values())


def scenario(plan: KeeperPlan, _folder: Path) -> Callable[[Sim], Awaitable[object]]:
    """Return what `explore` runs for a plan."""

    async def test(sim: Sim, gateway: Gateway, disk: Conversations) -> None:
        sim.follow(gateway.keepers.runtime.recorder)
        await drive(plan, gateway, disk)

    async def run(sim: Sim) -> None:
        await with_standins(partial(test, sim), Conversations(), open_sessions=plan.open_sessions)

    return run
