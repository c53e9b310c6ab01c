"""Very many agents of a program: all run, no more at once than may, what has ended is let go of, and every end is told once."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from benchmarks.agents.spawned import WORKER, Load, run
from greenroom.agents import AgentState
from greenroom.agents.subagents import SubagentPool
from greenroom.models import PlaybookModel
from greenroom.permissions import Effect, Scope, Update
from greenroom.session import open_session
from greenroom.testing import virtual_ports
from greenroom.tools import ToolError
from greenroom.tools.builtin import STANDARD_TOOLS

AGENTS = 300


@pytest.mark.slow
async def test_each_of_very_many_ends_is_told_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-04: every notice is another agent's."""
    outcome = await run(AGENTS, Load(width=50, wait_s=1.0, rounds=2), tmp_path, is_told=True)

    assert len(outcome.noticed) == len(set(outcome.noticed)) == AGENTS


async def test_no_more_run_at_once_than_may_and_nothing_is_kept_of_what_was_released(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-83, RC-109, RC-110."""
    most = 0
    pool: SubagentPool

    def work(_: object) -> str:
        nonlocal most
        running = sum(subagent.is_running and subagent.ref is not None for subagent in pool.subagents.values())
        most = max(most, running)
        assert pool.running == running
        return "done"

    settings = {"delegation": {"max_running": 7, "release_s": 5.0}}
    model = PlaybookModel({"worker": work}, wait_s=1.0)
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", settings=settings, ports=virtual_ports()
    ) as session:
        pool = session.agents.pool
        handles = [await session.spawn(WORKER, "Work.", background=True) for _ in range(30)]
        handles[0].kill()
        handles[-1].kill()
        for handle in handles:
            await handle.wait_finished()
        assert (most, pool.running, len(pool.subagents)) == (7, 0, 30)
        del handles, handle
        await trio.sleep(10)
        assert pool.subagents == {}
        services = session.agents.composition.services  # other tests may have left homes of theirs to the collector
        gc.collect()
        assert [
            get_object.profile.id
            for get_object in gc.get_objects()
            if isinstance(get_object, AgentState) and get_object.profile.is_child and get_object.services is services
        ] == []


async def test_who_waits_for_a_place_gets_the_one_that_somebody_else_gives_back(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of a model has a place while its worktree is made; it is free again when that fails."""

    async def open_worktree(*_: object) -> None:
        await trio.sleep(1)
        raise ToolError("no")

    model = PlaybookModel({"worker": lambda _: "done"}, wait_s=1.0)
    settings = {"delegation": {"max_running": 1}}
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", settings=settings, ports=virtual_ports()
    ) as session:
        pool = session.agents.pool
        monkeypatch.setattr(type(pool.worktrees), "open", open_worktree)
        first = await session.spawn(WORKER, "Work.", background=True)
        await first.wait_finished()
        order = pool.subagents[first.id].order

        async def try_to_start() -> None:
            with pytest.raises(ToolError):
                await pool.start(attrs.evolve(order, waits=False, in_worktree=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(try_to_start)
            await trio.sleep(0.5)
            waiting = await session.spawn(WORKER, "Work.", background=True)
            assert waiting.state == "pending"
        assert not pool.is_quiet
        with trio.fail_after(60):
            assert (await waiting.wait_finished()).text == "done"


async def test_the_agents_of_one_definition_share_their_rules_and_their_tools(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Until an answer of somebody changes those of one."""
    model = PlaybookModel({"worker": lambda _: "done", "reader": lambda _: "done"}, wait_s=1.0)
    reader = attrs.evolve(WORKER, name="reader", tools=("Read",))
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", tools=STANDARD_TOOLS, ports=virtual_ports()
    ) as session:
        pool = session.agents.pool
        handles = [await session.spawn(one, "Work.", background=True) for one in (WORKER, WORKER, reader)]
        first, second, other = (pool.subagents[handle.id].home for handle in handles)

        assert first.profile.tools is second.profile.tools
        assert first.profile.policy is second.profile.policy
        assert list(other.profile.tools) == ["Read"] != list(first.profile.tools)

        rule = Update(kind="addRules", destination=Scope.SESSION, behavior=Effect.DENY, rules=("Bash",))
        await session._composition.rules.keep_updates(first, [rule])
        later = pool.subagents[(await session.spawn(WORKER, "Work.", background=True)).id].home
        assert "Bash" in first.profile.tools
        assert "Bash" not in later.profile.tools


async def test_what_is_kept_of_an_agent_is_written_again_when_it_has_changed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    model = PlaybookModel({"worker": lambda _: "done"}, wait_s=1.0)
    async with open_session(model=model, cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()) as session:
        ended, stopped = [await session.spawn(WORKER, "Work.", background=True) for _ in range(2)]
        stopped.kill()
        for handle in (ended, stopped):
            await handle.wait_finished()
        folder = session.run_folder / "transcripts"

    lines = {one.id: (folder / f"agent-{one.id}.meta.json").read_bytes().splitlines() for one in (ended, stopped)}
    assert [json.loads(line)["isStoppedByUser"] for line in lines[ended.id]] == [False]
    assert [json.loads(line)["isStoppedByUser"] for line in lines[stopped.id]] == [False, True]
