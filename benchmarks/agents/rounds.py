"""A round of an agent (model request, answer, one tool call) against the loop that does the same by hand (G20).

1,000 agents, 10 rounds each, 50 ms of model latency: on `trio.sleep` on all sides, or where a row says so on a timer wheel.
Arguments are decoded from JSON and checked against the tool's schema in every round.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import trio

from benchmarks.agents import by_hand
from benchmarks.agents.late import LateModel
from benchmarks.agents.scenario import IDEAL_S, LATENCY_S, ROUNDS
from benchmarks.measure import Target, cpu_seconds, report, run_group
from benchmarks.wheel import Wheel
from greenroom.agents import Agent, AgentDefinition, AgentProfile, AgentServices, AgentState, Prompt
from greenroom.core import Recorder, calm_collector
from greenroom.core.ports import Ports
from greenroom.models import Call, ModelRequest, Say, ScriptedModel, WrittenAnswer
from greenroom.permissions import Effect, Policy, Rule, Scope, Source
from greenroom.session import EVENTS
from greenroom.session.record._resume import transcript_opener
from greenroom.supervisor import Runtime, open_runtime
from greenroom.testing import BareAgentPorts
from greenroom.tools import ToolSet, tool
from greenroom.trace import open_journal

AGENTS: Final = 1_000
TIMEOUT_S: Final = 600.0
BARE: Final = "bare loop"
WHEEL: Final = "bare loop on a timer wheel"
SAME: Final = "loop by hand, our model and tool"
MEMORY: Final = "greenroom, recorder only"
WHEELED: Final = "greenroom, recorder only, model on a wheel"
POLICY: Final = "greenroom, recorder and permissions"
DISK: Final = "greenroom, journal full + transcripts"


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return str(a + b)


ALLOWS_ADD: Final = Policy(home="/root", rules=(Rule(Effect.ALLOW, "Add", None, Source(scope=Scope.USER)),))
LAST: Final = WrittenAnswer([Say("done")])


def answer(request: ModelRequest) -> WrittenAnswer:
    if len(request.messages) >= 2 * ROUNDS - 1:
        return LAST
    # Made anew: an answer that is scripted twice is decoded once.
    return WrittenAnswer([Call("Add", {"a": 1, "b": 2})])


def scripted(agents: int, wait_s: float = LATENCY_S) -> ScriptedModel:
    return ScriptedModel([answer] * (agents * ROUNDS), wait_s=wait_s, keeps_requests=False)


async def by_hand_on_our_model(agents: int) -> None:
    await by_hand.same_model(agents, scripted(agents), add)


async def agents_in_memory(agents: int, policy: Policy | None = None) -> None:
    """Agents with the recorder only: no journal, no transcripts."""
    services = AgentServices(model=scripted(agents), cwd=Path("/"), roots=(Path("/"),), blocking=Ports().blocking)
    async with open_runtime() as runtime:
        await _run_agents(agents, services, runtime, policy)


async def agents_on_a_wheel(agents: int) -> None:
    """Agents with the recorder only; their model's latency costs next to nothing."""
    wheel = Wheel()
    model = LateModel(scripted(agents, wait_s=0.0), wheel)
    services = AgentServices(model=model, cwd=Path("/"), roots=(Path("/"),), blocking=Ports().blocking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wheel.run)
        async with open_runtime() as runtime:
            await _run_agents(agents, services, runtime, None)
        nursery.cancel_scope.cancel()


async def agents_on_disk(agents: int, folders: Iterator[Path]) -> None:
    """Agents with the journal at level `full` and every transcript on disk."""
    run_folder = next(folders)
    ports = Ports()
    recorder = Recorder(ports.clock.bind())
    async with (
        open_journal(run_folder, ports=ports, recorder=recorder, catalog=EVENTS) as journal,
        open_runtime(ports=ports, recorder=recorder) as runtime,
    ):
        services = AgentServices(
            model=scripted(agents),
            cwd=Path("/"),
            roots=(Path("/"),),
            blocking=ports.blocking,
            open_transcript=transcript_opener(
                run_folder, "bench", Path("/"), ports=ports, version="0", write=journal.write_before
            ),
        )
        await _run_agents(agents, services, runtime, None)


async def _run_agents(agents: int, services: AgentServices, runtime: Runtime, policy: Policy | None) -> None:
    definition = AgentDefinition(name="adder")
    tools = ToolSet([add])

    async def use_agent() -> None:
        home = AgentState(
            profile=AgentProfile(definition=definition, tools=tools, policy=policy),
            services=services,
            ports=BareAgentPorts(),
        )
        ref = await runtime.spawn(Agent, home)
        done = await ref.ask(Prompt("go"), timeout_s=TIMEOUT_S)
        assert (done.text, done.rounds) == ("done", ROUNDS)

    async with trio.open_nursery() as nursery:
        for _ in range(agents):
            nursery.start_soon(use_agent)


def per_round(function: Callable[..., Any], *args: Any) -> Callable[[], float]:
    return lambda: cpu_seconds(lambda: trio.run(function, AGENTS, *args)) / (AGENTS * ROUNDS)


def calmly(measured: Callable[[], float]) -> Callable[[], float]:
    """Measure with the collector as `greenroom swarm` sets it."""

    def measure() -> float:
        with calm_collector():
            return measured()

    return measure


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / str(number) for number in itertools.count())
    measure_wall()


def measure(folders: Iterator[Path]) -> None:
    """Measure; each run on disk gets a folder of its own, and all are removed afterwards."""
    hands = {BARE: per_round(by_hand.bare), SAME: per_round(by_hand_on_our_model)}
    ours = {
        MEMORY: per_round(agents_in_memory),
        WHEELED: per_round(agents_on_a_wheel),
        POLICY: per_round(agents_in_memory, ALLOWS_ADD),
        DISK: per_round(agents_on_disk, folders),
    }
    run_group(
        f"one round of an agent, {AGENTS:,} agents x {ROUNDS} rounds, CPU per round",
        {**hands, WHEEL: per_round(by_hand.bare_on_a_wheel), **ours},
        targets(""),
        unit="us",
        scale=1e6,
        slices=1,
    )
    run_group(
        "the same, all with the collector as greenroom swarm sets it (calm_collector)",
        {name: calmly(one) for name, one in (hands | ours).items()},
        targets(", calm collector"),
        unit="us",
        scale=1e6,
        slices=1,
    )


def targets(suffix: str) -> list[Target]:
    limits = [
        ("G20 agent round, recorder only", MEMORY, BARE, 1.2),
        ("G20 agent round, recorder only, model on a wheel", WHEELED, BARE, 1.2),
        ("G20 agent round, journal full and transcripts", DISK, BARE, 3.0),
        ("agent round, recorder only, over the same model and tool by hand", MEMORY, SAME, None),
        ("agent round, journal and transcripts, over the same model and tool by hand", DISK, SAME, None),
        ("permissions, where a rule allows the tool", POLICY, MEMORY, 1.1),
    ]
    return [
        Target(bench=bench + suffix, numerator=system, denominator=peer, limit=limit, at_least=False)
        for bench, system, peer, limit in limits
    ]


def measure_wall(rounds: int = 5) -> None:
    """Measure how long a run of all agents takes over what the models alone take."""
    target = Target(
        bench=f"G20 wall time of {AGENTS:,} agents, model on a wheel",
        numerator="greenroom",
        denominator="ideal",
        limit=1.2,
        at_least=False,
    )
    with calm_collector():
        report(target, [wall_seconds(agents_on_a_wheel, AGENTS) / IDEAL_S for _ in range(rounds)])


def wall_seconds(function: Callable[..., Any], *args: Any) -> float:
    began = time.perf_counter()
    trio.run(function, *args)
    return time.perf_counter() - began
