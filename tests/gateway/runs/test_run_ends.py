"""Ends of runs under random ends, limits, stops and crashes: each run has one end, one completion, and at most one text."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway.announce._announcement import SKIP
from greenroom.gateway.config._agents import AnnounceConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._seams import NewInput
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import CompletionComposed, DeliveryEnded, RunBegan, RunEnded, RunRegistered
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.inbox import HUMAN
from tests.gateway.runs.fakes import (
    CHAT,
    MAIN,
    FakeGateway,
    TurnDies,
    World,
    configured,
    is_unsettled,
    open_fake_gateway,
    settle,
)


def in_virtual_time(main: Callable[[], Awaitable[None]]) -> None:
    trio.run(main, clock=MockClock(autojump_threshold=0))


def turns_of(chance: random.Random) -> Callable[[str, str], Awaitable[str]]:
    """Return turns that take a while, and reply, fail or say nothing."""

    async def turn(session: str, text: str) -> str:
        if session == str(MAIN):
            await trio.sleep(chance.uniform(0, 5))
            return f"I have heard {text}" if chance.random() < 0.7 else ""
        await trio.sleep(chance.choice([0, 0.5, 3, 20]))
        if chance.random() < 0.3:
            raise TurnDies("no such file")
        return f"done: {text}"

    return turn


async def aside(session: str, text: str) -> str:
    await trio.sleep(0.2)
    return SKIP if session[-1] in "01" else "the summary"


async def meddle(gateway: FakeGateway, chance: random.Random, accepted: list[str], texts: list[str]) -> None:
    """Spawn, stop and wait at random."""
    while True:
        await trio.sleep(chance.choice([0, 0.1, 1.0, 4.0]))
        if texts and chance.random() < 0.5:
            request = SpawnRequest(
                task=texts.pop(),
                limit_s=chance.choice([0.0, 0.0, 2.0]),
                cleanup=chance.choice(["keep", "delete"]),
            )
            answer = await gateway.runs.spawn(MAIN, request, chance.choice([CHAT, CHAT, None]))
            if answer.status == "accepted":
                accepted.append(answer.run)
        elif texts and chance.random() < 0.3:
            said = NewInput(id=texts.pop(), text="hello", origin=HUMAN, route=CHAT)
            await gateway.keepers.put(MAIN, said)
        elif accepted and chance.random() < 0.3:
            target = chance.choice([*accepted, str(MAIN)])
            if gateway.registry.run(target) is not None or target == str(MAIN):
                await gateway.runs.stop(target, "ada")


async def a_life(
    world: World, config: GatewayConfig, chance: random.Random, accepted: list[str], texts: list[str]
) -> World:
    """Run a gateway until it is killed, just before or behind one of its writes, and return what is left."""
    left, writes, is_behind = [world], chance.randrange(1, 60), chance.random() < 0.5
    with trio.move_on_after(60) as life:

        def count(append: Callable[[], None]) -> None:
            nonlocal writes
            writes -= 1
            if writes == 0 and not is_behind:
                left[0] = world.copy()
            append()
            if writes == 0:
                if is_behind:
                    left[0] = world.copy()
                life.cancel()

        world.disk.around_append = count
        async with open_fake_gateway(world, config, turn=turns_of(chance), aside=aside, width=2, takes_keys=True) as it:
            await meddle(it, chance, accepted, texts)
    world.disk.around_append = None
    return world.copy() if left[0] is world else left[0]


@pytest.mark.promise("A5-a")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), mode=st.sampled_from(["post", "turn", "silent"]))
def test_a_run_ends_once_and_is_told_once_whatever_happens(seed: int, mode: str) -> None:
    """GW-06: a run has one completion, made from its terminal event, and a completion one delivery."""
    chance = random.Random(seed)
    config = configured(announce=AnnounceConfig(mode=mode), max_children_per_agent=20)  # type: ignore[arg-type]
    accepted: list[str] = []
    texts = [f"task {number}" for number in range(8)]

    async def main() -> None:
        world = World()
        world.channel.traits = type(world.channel.traits)(limit=4_000, takes_keys=True)
        for _ in range(chance.randrange(5)):
            world = await a_life(world, config, chance, accepted, texts)
        async with open_fake_gateway(world, config, turn=turns_of(chance), aside=aside, takes_keys=True) as gateway:
            with trio.move_on_after(20):
                await meddle(gateway, chance, accepted, texts)
            await settle(gateway, *accepted, *gateway.registry.runs, within_s=7200)
        check(world, accepted, mode)

    in_virtual_time(main)


def check(world: World, accepted: list[str], mode: str) -> None:
    """Check what is on record and in the chat against what was accepted."""
    events = world.events()
    registered = {event.run: event for event in events if isinstance(event, RunRegistered)}
    ends = Counter(event.run for event in events if isinstance(event, RunEnded))
    composed = Counter(event.run for event in events if isinstance(event, CompletionComposed))
    assert set(accepted) <= set(registered)
    assert ends == Counter(dict.fromkeys(registered, 1))
    assert composed == ends
    registry = Registry().fold_all(events)
    assert not any(is_unsettled(registry, run) for run in registered)
    labels = Counter(text.splitlines()[0].strip('"') for text in world.channel.texts if text.startswith('"'))
    assert all(count == 1 for count in labels.values())
    shown = {
        registered[event.run].task
        for event in events
        if isinstance(event, CompletionComposed) and not event.is_skipped and registered[event.run].route
    }
    assert set(labels) == shown if mode == "post" else set(labels) <= shown
    began = {event.run for event in events if isinstance(event, RunBegan)}
    assert all(run in began for run, event in registered.items() if world_ended(events, run) != "killed")
    taken = [event for event in events if isinstance(event, DeliveryEnded) and event.result == "taken"]
    assert max(Counter((event.delivery, event.part) for event in taken).values(), default=1) == 1


def world_ended(events: list[Any], run: str) -> str:
    return next(event.state for event in events if isinstance(event, RunEnded) and event.run == run)


@pytest.mark.parametrize(
    ("announce", "shown"),
    [(AnnounceConfig(mode="silent"), 0), (AnnounceConfig(wake=False), 1), (AnnounceConfig(mode="turn"), 1)],
)
async def test_a_completion_that_a_kill_cut_is_settled_by_the_start(
    announce: AnnounceConfig, shown: int, autojump_clock: MockClock
) -> None:
    """Nobody has to speak to the requester for it, whichever write the kill was before."""
    config, is_over, writes = configured(announce=announce), False, 0

    async def turn(session: str, text: str) -> str:
        return "42 files" if session != str(MAIN) else "I was told."

    while not is_over:
        writes += 1
        world, left = World(), World()
        world.channel.traits = type(world.channel.traits)(limit=4_000, takes_keys=True)
        is_over, left = await killed_before(writes, world, config, turn)
        async with open_fake_gateway(left, config, turn=turn, takes_keys=True) as gateway:
            await settle(gateway, *gateway.registry.runs, within_s=30)
            assert len(gateway.channel.texts) == (shown if gateway.registry.runs else 0)


async def killed_before(
    writes: int, world: World, config: GatewayConfig, turn: Callable[[str, str], Awaitable[str]]
) -> tuple[bool, World]:
    """Let a gateway do one run until just before a write; return if it was done, and what is left."""
    left = world
    with trio.CancelScope() as life:

        def count(append: Callable[[], None]) -> None:
            nonlocal left, writes
            writes -= 1
            if writes == 0:
                left = world.copy()
                life.cancel()
            append()

        async with open_fake_gateway(world, config, turn=turn, takes_keys=True) as gateway:
            world.disk.around_append = count
            run = await gateway.spawn()
            await settle(gateway, run)
    world.disk.around_append = None
    return not life.cancelled_caught, left
