"""Every workload of the kernel's benchmarks does its work and ends, however small it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
import trio

from benchmarks.kernel import buffers, control, fan_out, passing, recording, savina, scale
from benchmarks.kernel.contest import Contest, System
from benchmarks.kernel.peers import comparing
from greenroom.core import Level
from greenroom.mailbox import Lane
from greenroom.trace import JOURNAL, read_journal

CONTESTS: Final[dict[str, Contest]] = {**savina.GROUPS, **buffers.GROUPS}
SYSTEMS: Final = [
    pytest.param(system, id=f"{group}-{name}")
    for group, contest in CONTESTS.items()
    for name, system in contest.systems.items()
]
STREAMS: Final[dict[str, System]] = {
    "a recorder that keeps nothing": recording.ring_of(0),
    "no journal": recording.without_journal,
    "the mailbox alone": recording.bare_mailbox,
}
RINGS: Final[dict[str, System]] = {
    "actors": passing.actor_ring,
    "plain functions": passing.plain_ring,
    "channels": passing.channel_ring,
    "raw": passing.raw_ring,
}
PING_PONGS: Final[dict[str, System]] = {
    "ping-pong of plain functions": comparing.plain_ping_pong,
    "ping-pong of mailboxes": comparing.mailbox_ping_pong,
}
ASKS: Final[dict[str, System]] = {
    "asks": passing.endless_asks,
    "asks with a time-out": passing.default_asks,
    "raw asks": passing.raw_asks,
    "asks over channels": passing.channel_asks,
}
BOUND_S: Final = 60.0  # real time on a shared machine; each of these takes milliseconds
OTHERS: Final = STREAMS | RINGS | PING_PONGS | ASKS


@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("system", SYSTEMS)
async def test_a_system_does_its_work_and_ends(system: System, count: int) -> None:
    with trio.fail_after(BOUND_S):
        await system(count)


@pytest.mark.parametrize("group", CONTESTS)
def test_a_contest_compares_systems_that_it_has(group: str) -> None:
    contest = CONTESTS[group]

    for target in contest.targets:
        assert {target.numerator, target.denominator} <= set(contest.systems)


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("system", OTHERS.values(), ids=list(OTHERS))
async def test_a_stream_a_ring_and_an_ask_end(system: System, count: int) -> None:
    with trio.fail_after(BOUND_S):
        await system(count)


@pytest.mark.parametrize("receivers", [1, 10])
@pytest.mark.parametrize("name", fan_out.SYSTEMS)
async def test_a_fan_out_reaches_all(name: str, receivers: int) -> None:
    with trio.fail_after(BOUND_S):
        assert await fan_out.SYSTEMS[name](receivers, 2) >= 0


@pytest.mark.parametrize("level", Level)
async def test_a_stream_is_on_disk_as_its_level_says(level: Level, tmp_path: Path) -> None:
    with trio.fail_after(BOUND_S):
        await recording.with_journal(tmp_path / "run", level, 10)

    kinds = [entry.kind for entry in read_journal(tmp_path / "run" / JOURNAL, recording.EVENTS).entries]
    assert kinds.count("turn.end") == (10 if level >= Level.TURNS else 0)
    assert kinds.count("message.acked") == (10 if level >= Level.FULL else 0)


@pytest.mark.parametrize("message", [None, "sleep"])
async def test_victims_are_reaped(message: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "VICTIMS", 10)

    with trio.fail_after(BOUND_S):
        assert await control.kill_to_reaped(message) >= 0


@pytest.mark.parametrize("lane", [Lane.NOW, Lane.NEXT])
async def test_an_urgent_message_has_its_turn(lane: Lane) -> None:
    with trio.fail_after(BOUND_S):
        latencies = await control.urgent_latencies(100, lane, 3)

    assert len(latencies) == 3
    assert latencies == sorted(latencies)


@pytest.mark.parametrize("workload", [control.abort_to_next, control.bare_cancel, control.bare_nursery])
async def test_control_is_measured_per_event(workload: Callable[[int], Awaitable[float]]) -> None:
    with trio.fail_after(BOUND_S):
        assert await workload(3) >= 0


async def test_a_crowd_is_spawned_stopped_and_weighed() -> None:
    with trio.fail_after(BOUND_S):
        assert min(await scale.spawn_and_stop(10)) >= 0
        assert min(await scale.bare_tasks(10)) >= 0
        assert await scale.message_cost(10) >= 0
        assert await scale.bytes_of(scale.PlainIdle, 10) > 0
        assert await scale.resident_bytes_of(scale.PlainIdle, 10) >= 0
