"""Runs that start runs: stops and archives reach all that descends, and nothing beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._seams import NewInput
from greenroom.gateway.record._gateway_events import SessionArchived
from greenroom.gateway.record._run_events import RunEnded, RunRegistered
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.inbox import HUMAN
from tests.gateway.runs.fakes import CHAT, MAIN, FakeChannel, FakeGateway, World, configured, open_fake_gateway, settle

KEY = str(MAIN)
NESTED: GatewayConfig = configured(max_spawn_depth=3)


def nesting(gateway: list[FakeGateway], depth: int, *, seconds: float = 3600) -> Callable[[str, str], Awaitable[str]]:
    """Return turns that start a sub-agent each, down to a depth; those below it work for a while."""

    async def turn(session: str, text: str) -> str:
        level = len(text.split("."))
        if session == KEY or text.startswith("A sub-agent"):
            return "NO_REPLY"
        if level < depth:
            answer = await gateway[0].runs.spawn(SessionKey.parse(session), SpawnRequest(task=f"{text}.1"), CHAT)
            assert answer.status == "accepted", answer
        await trio.sleep(seconds if level in {1, depth} else 1)
        return "done"

    return turn


async def opened_tree(gateway: FakeGateway) -> list[str]:
    """Start a chain of three runs, and return their ids once the last one works."""
    await gateway.spawn("1")
    await trio.sleep(2)
    return [run.id for run in gateway.registry.runs.values()]


@pytest.mark.promise("A13-g")
@pytest.mark.parametrize("by_run", [True, False])
async def test_a_stop_reaches_every_depth(*, by_run: bool, autojump_clock: MockClock) -> None:
    """Also below a run that has ended itself."""
    holder: list[FakeGateway] = []
    world = World()
    async with open_fake_gateway(world, NESTED, turn=nesting(holder, 3)) as gateway:
        holder.append(gateway)
        first, second, third = await opened_tree(gateway)
        assert [gateway.registry.runs[run].is_ended for run in (first, second, third)] == [False, True, False]

        stopped = await gateway.runs.stop(first if by_run else KEY, "ada")

        assert sorted(stopped.stopped) == sorted([first, third])
        assert gateway.keepers.running == 0
        await trio.sleep(7200)
        begun = [event for event in world.events() if isinstance(event, RunRegistered)]
        assert len(begun) == 3, "nothing is started behind a stop"


@pytest.mark.promise("A13-g")
async def test_a_stop_reaches_what_is_started_meanwhile(autojump_clock: MockClock) -> None:
    holder: list[FakeGateway] = []

    async def turn(session: str, text: str) -> str:
        try:
            await trio.sleep(3600)
        finally:
            if text == "1":
                with trio.CancelScope(shield=True):
                    await holder[0].runs.spawn(SessionKey.parse(session), SpawnRequest(task="late"), CHAT)
        return "done"

    async with open_fake_gateway(config=NESTED, turn=turn) as gateway:
        holder.append(gateway)
        await gateway.spawn("1")
        await trio.sleep(2)

        stopped = await gateway.runs.stop(KEY, "ada")

        assert sorted(stopped.stopped) == sorted(gateway.registry.runs)
        assert len(stopped.stopped) == 2


@pytest.mark.promise("A13-b", "A13-c")
async def test_a_stop_of_one_run_and_an_end_of_the_requester_spare_the_others(autojump_clock: MockClock) -> None:
    async def turn(session: str, text: str) -> str:
        await trio.sleep(100 if session == KEY else 300)
        return "done"

    async with open_fake_gateway(turn=turn) as gateway:
        first, second, third = [await gateway.spawn(f"task {number}") for number in range(3)]
        await gateway.keepers.put(MAIN, NewInput(id="m", text="hello", origin=HUMAN, route=CHAT))
        await trio.sleep(1)

        assert (await gateway.runs.stop(second, "ada")).stopped == (second,)
        assert gateway.keepers.is_busy(KEY)
        await trio.sleep(150)
        assert not gateway.keepers.is_busy(KEY)
        assert [gateway.registry.runs[run].is_ended for run in (first, third)] == [False, False]

        await settle(gateway, first, third)
        assert gateway.registry.runs[first].state == gateway.registry.runs[third].state == "completed"
        assert gateway.channel.texts.count("done") == 1


@pytest.mark.promise("A13-d")
@pytest.mark.parametrize("after_s", [0, 0.5, 1.5, 2.5, 3.5, 5])
async def test_a_stop_during_an_announcement_leaves_all_of_it_or_nothing(
    after_s: float, autojump_clock: MockClock
) -> None:
    """The run has ended by itself, so its result is told: a stop that comes behind the end finds nothing to stop."""

    async def aside(session: str, text: str) -> str:
        await trio.sleep(1)
        return "x" * 30

    channel = FakeChannel(delay_s=1)
    channel.traits = type(channel.traits)(limit=60)
    async with open_fake_gateway(World(channel=channel), turn=quick, aside=aside) as gateway:
        run = await gateway.spawn()
        await trio.sleep(after_s)
        stopped = await gateway.runs.stop(KEY, "ada")
        await settle(gateway, run)
        await trio.sleep(60)

        parts = [(part.part, part.parts) for part in channel.chat]
        assert parts == ([] if stopped.stopped else [(number, parts[0][1]) for number in range(1, parts[0][1] + 1)])
        assert (await gateway.runs.stop(KEY, "ada")).stopped == ()


async def quick(session: str, text: str) -> str:
    return "NO_REPLY" if session == KEY else "done"


@pytest.mark.promise("A12-e")
async def test_an_archive_stops_first_what_its_session_has_started(autojump_clock: MockClock) -> None:
    holder: list[FakeGateway] = []
    world = World()
    async with open_fake_gateway(world, NESTED, turn=nesting(holder, 3)) as gateway:
        holder.append(gateway)
        _, second, third = await opened_tree(gateway)
        session = gateway.registry.runs[second].session
        await trio.sleep(100)

        await gateway.runs.archive(session, why="asked", who="ada")

        told = [event for event in world.events() if isinstance(event, RunEnded | SessionArchived)]
        assert [getattr(event, "run", "archived") for event in told] == [second, third, "archived"]
        assert gateway.registry.runs[third].words.listed == "stopped"  # type: ignore[union-attr]
