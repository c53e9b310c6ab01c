"""The benchmarks of agents: every loop and every peer that is installed plays the scenario to its end, however few there are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from benchmarks.agents import beside, by_hand, rounds, team
from benchmarks.agents.scenario import IDEAL_S, SCHEMA
from benchmarks.kernel.peers.process import Peer
from greenroom.tools import InvalidInput

LOOPS: Final[dict[str, Callable[[int], Awaitable[None]]]] = {
    rounds.BARE: by_hand.bare,
    rounds.WHEEL: by_hand.bare_on_a_wheel,
    rounds.SAME: rounds.by_hand_on_our_model,
    rounds.MEMORY: rounds.agents_in_memory,
    rounds.WHEELED: rounds.agents_on_a_wheel,
    rounds.POLICY: lambda agents: rounds.agents_in_memory(agents, rounds.ALLOWS_ADD),
}


@pytest.mark.parametrize("name", LOOPS)
async def test_a_loop_ends_with_its_last_round(name: str, autojump_clock: trio.testing.MockClock) -> None:
    with trio.fail_after(60):
        await LOOPS[name](3)

    assert trio.current_time() == pytest.approx(IDEAL_S, abs=0.02)  # all side by side, and the wheel's grid


def test_agents_on_disk_leave_a_transcript_each(tmp_path: Path) -> None:
    trio.run(rounds.agents_on_disk, 3, iter([tmp_path / "run"]))

    transcripts = [path for path in tmp_path.rglob("*.jsonl") if path.parent.name == "transcripts"]
    assert len(transcripts) == 3


async def test_every_item_of_a_board_is_done(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    outcome = await team.run(3, 12, 1.0, tmp_path, team.resident_kb)

    assert (outcome.completed, outcome.owners) == (12, 3)


@pytest.mark.parametrize("peer", beside.PEERS, ids=lambda peer: peer.name)
def test_a_peer_that_is_installed_plays_the_scenario(peer: Peer) -> None:
    if why := peer.why_missing():
        pytest.skip(why)

    with peer.open() as running:
        cpu_s, wall_s = running.measure("tools", 2, limit_s=60)

    assert cpu_s > 0
    assert wall_s > 0.2


@pytest.mark.parametrize("values", [{"a": 1}, {"a": 1, "b": "2"}, {"a": 1, "b": 2, "c": 3}, []])
def test_the_loop_by_hand_refuses_what_the_tool_refuses(values: Any) -> None:
    with pytest.raises(TypeError):
        by_hand.check(values, SCHEMA)
    if isinstance(values, dict):
        with pytest.raises(InvalidInput):
            rounds.add.arguments(values)


def test_the_targets_name_what_is_measured() -> None:
    ours = {rounds.BARE, rounds.SAME, rounds.WHEEL, rounds.MEMORY, rounds.WHEELED, rounds.POLICY, rounds.DISK}

    assert {name for target in rounds.targets("") for name in (target.numerator, target.denominator)} <= ours
