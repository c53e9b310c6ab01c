"""A round of an agent (model request, answer, one tool call) against the bare loop that does the same by hand.

1,000 agents, 10 rounds each, 50 ms of model latency on `trio.sleep` on both sides.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import trio

from benchmarks.measure import Target, cpu_seconds, print_figures, run_group
from benchmarks.wheel import Wheel
from greenroom.agents import Agent, AgentDefinition, AgentHome, AgentServices, Prompt
from greenroom.core import Ports, Recorder, calm_collector
from greenroom.models import Answer, Call, ModelRequest, Say, ScriptedModel, ScriptStep
from greenroom.session import EVENTS, transcript_opener
from greenroom.supervisor import open_runtime
from greenroom.tools import ToolSet, tool
from greenroom.trace import open_journal

AGENTS = 1_000
ROUNDS = 10
LATENCY_S = 0.05
MEMORY = "greenroom, recorder only"
DISK = "greenroom, journal full + transcripts"


# --- the bare loop ---------------------------------------------------------------------------------------------------


async def bare(agents: int, nap: Callable[[float], Any]) -> None:
    """What a loop without a runtime does: wait for the model, append, call the tool, append."""

    async def model(history: list[tuple[str, Any]]) -> tuple[str, Any]:
        await nap(LATENCY_S)
        return ("text", "done") if len(history) >= 2 * ROUNDS - 1 else ("tool", {"a": 1, "b": 2})

    async def agent() -> None:
        history: list[tuple[str, Any]] = [("user", "go")]
        while True:
            kind, value = await model(history)
            history.append((kind, value))
            if kind == "text":
                return
            history.append(("result", value["a"] + value["b"]))

    async with trio.open_nursery() as nursery:
        for _ in range(agents):
            nursery.start_soon(agent)


async def bare_on_a_wheel(agents: int) -> None:
    wheel = Wheel()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wheel.run)
        await bare(agents, wheel.sleep)
        nursery.cancel_scope.cancel()


# --- greenroom -------------------------------------------------------------------------------------------------------


@tool(read_only=True)
async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return str(a + b)


STEP = ScriptStep(answer=Answer([Call("Add", {"a": 1, "b": 2})]), wait_s=LATENCY_S)
LAST = ScriptStep(answer=Answer([Say("done")]), wait_s=LATENCY_S)


def answer(request: ModelRequest) -> ScriptStep:
    return LAST if len(request.messages) >= 2 * ROUNDS - 1 else STEP


async def agents_in_memory(agents: int) -> None:
    """Agents with the recorder only: no journal, no transcripts."""
    model = ScriptedModel([answer] * (agents * ROUNDS), keeps_requests=False)
    services = AgentServices(model=model, cwd=Path("/"), roots=(Path("/"),), blocking=Ports().blocking)
    async with open_runtime() as runtime:
        await _run_agents(agents, services, runtime)


async def agents_on_disk(agents: int, folders: Iterator[Path]) -> None:
    """Agents with the journal at level `full` and every transcript on disk."""
    run_folder = next(folders)
    ports = Ports()
    recorder = Recorder(ports.clock.bind())
    model = ScriptedModel([answer] * (agents * ROUNDS), keeps_requests=False)
    async with (
        open_journal(run_folder, ports=ports, recorder=recorder, catalogue=EVENTS) as journal,
        open_runtime(ports=ports, recorder=recorder) as runtime,
    ):
        services = AgentServices(
            model=model,
            cwd=Path("/"),
            roots=(Path("/"),),
            blocking=ports.blocking,
            open_transcript=transcript_opener(
                run_folder, "bench", Path("/"), ports=ports, version="0", write=journal.write_before
            ),
        )
        await _run_agents(agents, services, runtime)


async def _run_agents(agents: int, services: AgentServices, runtime: Any) -> None:
    definition = AgentDefinition(name="adder")
    tools = ToolSet([add])

    async def use_agent() -> None:
        ref = await runtime.spawn(Agent, AgentHome(definition=definition, services=services, tools=tools))
        await ref.ask(Prompt("go"))

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


def measure(folders: Iterator[Path]) -> None:
    """Measure; each run on disk gets a folder of its own, and all are removed afterwards."""
    alone = {"bare loop": per_round(bare, trio.sleep)}
    ours = {MEMORY: per_round(agents_in_memory), DISK: per_round(agents_on_disk, folders)}
    run_group(
        f"one round of an agent, {AGENTS:,} agents x {ROUNDS} rounds, CPU per round",
        {**alone, "bare loop on a timer wheel": per_round(bare_on_a_wheel), **ours},
        targets(""),
        unit="us",
        scale=1e6,
        slices=1,
    )
    run_group(
        "the same, all with the collector as greenroom swarm sets it (calm_collector)",
        {name: calmly(one) for name, one in (alone | ours).items()},
        targets(", calm collector"),
        unit="us",
        scale=1e6,
        slices=1,
    )


def targets(suffix: str) -> list[Target]:
    limits = {"agent round, recorder only": (MEMORY, 2.5), "agent round, journal full and transcripts": (DISK, 5.0)}
    return [
        Target(bench=bench + suffix, numerator=system, denominator="bare loop", limit=limit, at_least=False)
        for bench, (system, limit) in limits.items()
    ]


if __name__ == "__main__":
    main()
    print_figures()
