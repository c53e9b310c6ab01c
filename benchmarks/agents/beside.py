"""Our agents beside those of other frameworks, each with a fake model of its own: CPU per round, and wall time (G20).

Ours run in this process, a peer in its own; all with Python's collector as it is unless a row says otherwise. The peers'
models sleep on asyncio's timers, ours on a timer wheel, which costs about as much; one row has Trio's sleep, for five times that.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import trio

from benchmarks.agents import by_hand, rounds
from benchmarks.agents.scenario import IDEAL_S, ROUNDS
from benchmarks.kernel.peers.process import Peer, PeerFailed, PeerProcess, open_peer
from benchmarks.measure import Target, cpu_seconds, print_table, report, report_ratio, report_skipped
from greenroom.core import calm_collector

LIMIT_S: Final = 900.0
"""For one run of a peer; with 1,000 agents some take half a minute of CPU."""
LEAST: Final = 30.0
"""How many times less CPU a round of ours takes than a peer's."""
CALM: Final = "the same with the calm collector"
_PACKAGE: Final = "benchmarks.agents.peers"
PEERS: Final = (
    Peer(name="pydantic-ai", needs="pydantic_ai", serves="on_pydantic_ai", package=_PACKAGE),
    Peer(name="LangGraph", needs="langgraph", serves="on_langgraph", package=_PACKAGE),
    Peer(name="OpenAI Agents", needs="agents", serves="on_openai_agents", package=_PACKAGE),
    Peer(name="AutoGen AgentChat", needs="autogen_agentchat", serves="on_autogen_agentchat", package=_PACKAGE),
)

Run: TypeAlias = Callable[[], tuple[float, float]]
"""Runs the scenario once and returns the seconds of CPU and of wall time."""


def main(agents: int, times: int) -> None:
    """Measure all systems `times` times, one after the other, in an order that rotates."""
    with contextlib.ExitStack() as stack:
        systems: dict[str, Run] = {
            rounds.BARE: _ours(by_hand.bare, agents),
            rounds.MEMORY: _ours(rounds.agents_in_memory, agents),
            rounds.WHEELED: _ours(rounds.agents_on_a_wheel, agents),
            CALM: _calm(_ours(rounds.agents_on_a_wheel, agents)),
        }
        missing: dict[str, str] = {}
        versions: list[str] = []
        for peer in PEERS:
            try:
                process = stack.enter_context(open_peer(peer))
                process.measure("tools", 10, limit_s=LIMIT_S)
            except PeerFailed as failure:
                missing[peer.name] = str(failure)
            else:
                systems[peer.name] = _theirs(process, agents)
                versions.append(f"{peer.name} {process.version}")
        try:
            _measure(systems, missing, agents, times, ", ".join(versions) or "nobody else")
        except PeerFailed as failure:  # in the middle: then no ratio is whole
            for target in _targets(agents):
                report_skipped(target, str(failure))


def _measure(systems: dict[str, Run], missing: dict[str, str], agents: int, times: int, told: str) -> None:
    cpu: dict[str, list[float]] = {name: [] for name in systems}
    wall: dict[str, list[float]] = {name: [] for name in systems}
    _ours(rounds.agents_in_memory, 10)()
    for number in range(times):
        names = list(systems)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            cpu_s, wall_s = systems[name]()
            cpu[name].append(cpu_s / agents / ROUNDS)
            wall[name].append(wall_s / IDEAL_S)
    print_table(f"a round of each of {agents:,} agents, CPU; with {told}", cpu, unit="us", scale=1e6)
    print_table("the same, wall time of the whole run", wall, unit="times the models alone")
    for name, why in missing.items():
        print(f"  {name:<44} {'skipped':>12}  {why}")
    for target in _targets(agents):
        if target.numerator in missing:
            report_skipped(target, missing[target.numerator])
        else:
            report_ratio(target, cpu)
    for name in (rounds.MEMORY, rounds.WHEELED, CALM):
        report(_wall_target(name, agents), wall[name])


def _targets(agents: int) -> list[Target]:
    return [
        Target(
            bench=f"G20 round of an agent, {agents:,} at once, {peer.name} over greenroom" + said,
            numerator=peer.name,
            denominator=ours,
            limit=LEAST,
        )
        for peer in PEERS
        for said, ours in (("", rounds.WHEELED), (", calm collector", CALM), (", model on trio.sleep", rounds.MEMORY))
    ]


def _wall_target(name: str, agents: int) -> Target:
    return Target(
        bench=f"G20 wall time of {agents:,} agents", numerator=name, denominator="ideal", limit=1.2, at_least=False
    )


def _ours(function: Callable[..., Any], agents: int) -> Run:
    def run() -> tuple[float, float]:
        began = time.perf_counter()
        cpu_s = cpu_seconds(lambda: trio.run(function, agents))
        return cpu_s, time.perf_counter() - began

    return run


def _calm(run: Run) -> Run:
    def calmly() -> tuple[float, float]:
        with calm_collector():
            return run()

    return calmly


def _theirs(process: PeerProcess, agents: int) -> Run:
    def run() -> tuple[float, float]:
        cpu_s, wall_s = process.measure("tools", agents, limit_s=LIMIT_S)
        return cpu_s * agents, wall_s * agents

    return run
