"""GG1 and GG2: from the call that starts a sub-agent to its acceptance, and all that a sub-agent costs beyond its model."""

from __future__ import annotations

import time
from typing import Any

import trio

from benchmarks.gateway.place import MAIN, MemoryChat, new_folder, opened, percentile, report_at_most
from benchmarks.measure import Target, print_table, report_ratio
from greenroom.gateway.channels import ChatRoute
from greenroom.gateway.record._gateway_events import SessionPatched
from greenroom.gateway.routing._session_key import main_key
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.models import Call, ModelRequest

ROUNDS = 5
SPAWNS = 12
CHILDREN = 48
MODEL_S = 1.0
WIDTH = 8
SPAWN, DURABLE = "spawn until it is accepted", "one durable line of the journal"
WALL, IDEAL = "wall time of all sub-agents", "what their model takes"


async def spawn_times() -> tuple[list[float], list[float]]:
    """Return seconds of spawns while eight sub-agents work, and of durable lines."""
    with new_folder() as folder:
        async with opened(folder, lambda _: "done", wait_s=3600) as gateway:
            parts = gateway.parts
            await parts.keepers.make(main_key("main"))
            for _ in range(WIDTH):
                await parts.runs.spawn(main_key("main"), SpawnRequest(task="work"))
            await trio.sleep(0.5)
            spawned, written = [], []
            for number in range(SPAWNS):
                began = time.perf_counter()
                answer = await parts.runs.spawn(main_key("main"), SpawnRequest(task=f"task {number}"))
                spawned.append(time.perf_counter() - began)
                assert answer.status == "accepted", answer
                began = time.perf_counter()
                await parts.record.write(SessionPatched(at_s=parts.now_s(), session=MAIN, settings={}))
                written.append(time.perf_counter() - began)
            parts.keepers.cut_all("measured")
    return spawned, written


def spawn() -> None:
    rounds = [trio.run(spawn_times) for _ in range(ROUNDS)]
    samples = {SPAWN: [percentile(one, 0.5) for one, _ in rounds], DURABLE: [percentile(two, 0.5) for _, two in rounds]}
    print_table("GG1: spawn with 8 sub-agents at work, wall, median of a round", samples, unit="ms", scale=1e3)
    report_ratio(Target(bench="GG1 spawn over a durable line", numerator=SPAWN, denominator=DURABLE), samples)
    report_at_most("GG1 spawn, half of them", "ms", [1e3 * each for each in samples[SPAWN]], 10)
    report_at_most("GG1 spawn, 99 of 100", "ms", [1e3 * percentile([x for one, _ in rounds for x in one], 0.99)], 50)


def working(request: ModelRequest) -> Any:
    """Answer in two rounds: a call, then the result."""
    if "Your run has ended" in str(request.messages[-1].content):
        return "the summary"
    return Call("Glob", {"pattern": "*.none"}) if len(request.messages) == 1 else "done"


async def children() -> tuple[float, float]:
    """Return CPU seconds of a sub-agent, from its spawn to its announcement, and the wall time of all."""
    chat = MemoryChat()
    with new_folder() as folder:
        path = folder / "gateway.json5"
        path.write_text(path.read_text().replace("maxChildrenPerAgent: 20", "maxChildrenPerAgent: 1000"))
        async with opened(folder, working, chat, wait_s=MODEL_S) as gateway:
            parts, route = gateway.parts, ChatRoute(channel="memory", peer="ann")
            await parts.keepers.make(main_key("main"))
            cpu, wall = time.process_time(), time.perf_counter()
            for number in range(CHILDREN):
                await parts.runs.spawn(main_key("main"), SpawnRequest(task=f"task {number}"), route)
            while sum("Result: the summary" in part.text for part in chat.shown) < CHILDREN:
                await chat.has_more.wait()
            took = time.process_time() - cpu, time.perf_counter() - wall
            parts.keepers.cut_all("measured")
    return took[0] / CHILDREN, took[1]


def child() -> None:
    measured = [trio.run(children) for _ in range(2)]
    # Each request runs in a place of the lane: two rounds of the task, and the one in which its result is announced.
    ideal = CHILDREN * 3 * MODEL_S / WIDTH
    samples = {WALL: [wall for _, wall in measured], IDEAL: [ideal] * len(measured)}
    print_table(f"GG2: {CHILDREN} sub-agents of two rounds and an announcement, {WIDTH} at a time", samples, unit="s")
    report_ratio(
        Target(bench="GG2 wall over ideal", numerator=WALL, denominator=IDEAL, limit=1.1, at_least=False), samples
    )
    report_at_most("GG2 CPU of a sub-agent", "ms", [1e3 * cpu for cpu, _ in measured], 25)


GROUPS = {"spawn": spawn, "child": child}
