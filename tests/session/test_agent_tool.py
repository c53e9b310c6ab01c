"""Agents of a session as its program sees them: handles, ends by every name, usage, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.core import UsageError
from greenroom.models import AnswerLike, ModelRequest
from tests.agents.pages import agent, echo, in_order, last_texts
from tests.session.teamwork import main_messages, open_teamwork, violations


async def test_list_without_any_usable_tool_refuses_the_agent(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (1), line 5; Behaviours (20), line 5."""
    agents = {"typo": {"description": "x", "prompt": "x", "tools": ["Grpe"]}}
    async with open_teamwork(tmp_path, in_order(agent("a", subagent_type="typo")), agents=agents) as session:
        await session.run("go")
        assert session.agents.pool.subagents == {}

    assert "would be spawned with zero tools — refusing" in main_messages(session)[2]
    assert "Grpe" in main_messages(session)[2]


async def test_usage_adds_up_when_agents_were_released(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-80: what is forgotten still counts."""
    settings = {"delegation": {"release_s": 1.0}}
    async with open_teamwork(tmp_path, in_order(agent("a", run_in_background=True)), settings=settings) as session:
        await session.run("go")
        await session.wait_quiet()
        before = session.usage
        await trio.sleep(5)
        assert session.agents.pool.subagents == {}
        assert session.usage == before
        assert before.total > 0


async def test_what_is_looked_at_is_kept(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (6), line 10."""
    settings = {"delegation": {"release_s": 1.0}}
    async with open_teamwork(tmp_path, in_order(), settings=settings) as session:
        handle = await session.spawn("general-purpose", "job", background=True)
        handle.retain = True
        await handle.wait_finished()
        await trio.sleep(10)
        assert handle.id in session.agents.pool.subagents
        handle.retain = False
        await trio.sleep(10)
        assert handle.id not in session.agents.pool.subagents
        await handle.resume("and more")  # from its transcript
        result = await handle.wait_finished()

    assert result.run == 2
    assert result.text == "Report on: job"
    assert violations(session) == []


async def test_a_definition_runs_in_its_own_name(tmp_path: Path, autojump_clock: MockClock) -> None:
    reviewer = AgentDefinition(name="reviewer", system_prompt="You review.", tools=("Read",))
    seen: list[list[str]] = []

    def page(request: ModelRequest) -> AnswerLike:
        seen.append([each_tool.name for each_tool in request.tools])
        return echo(request)

    async with open_teamwork(tmp_path, in_order(), pages={"reviewer": page}) as session:
        handle = await session.spawn(reviewer, "this")

    assert handle.state == "completed"
    assert seen == [["Read"]]


async def test_one_call_ends_an_agent_by_its_id_its_name_or_its_handle(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-55: one table of tasks has all of them."""
    async with open_teamwork(tmp_path, in_order(), wait_s=60.0) as session:
        handles = [
            await session.spawn("general-purpose", f"job {n}", background=True, name=f"worker-{n}") for n in range(3)
        ]
        await trio.sleep(1)
        assert [task.state for task in session.tasks.all()] == ["running"] * 3
        assert session.tasks.kill(handles[0].id)
        assert session.tasks.kill("worker-1")
        assert handles[2].kill()
        results = [await handle.wait_finished() for handle in handles]
        assert [task.state for task in session.tasks.all()] == ["killed"] * 3
        assert not session.tasks.kill("worker-1")
        with pytest.raises(UsageError, match="unknown task 'worker-9'"):
            session.tasks.kill("worker-9")

    assert {result.state for result in results} == {"killed"}
    assert violations(session) == []


async def test_the_host_reaches_an_agent_that_a_model_started(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(agent("job", run_in_background=True, name="helper"), "It runs.")
    async with open_teamwork(tmp_path, main, wait_s=10.0) as session:
        await session.run("go")
        handle = session.tasks.handle("helper")
        result = await handle.wait_finished()
        assert session.tasks.handle(handle.id).id == handle.id
        with pytest.raises(UsageError, match="unknown agent 'nobody'"):
            session.tasks.handle("nobody")

    assert result.text == "Report on: job"


def _told(request: ModelRequest) -> str:
    return last_texts(request).partition("\n<system-reminder>")[0]


async def test_what_is_sent_to_one_that_waits_for_a_place_is_read_with_its_task(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-14, CL-16. Mechanism: it joins what the agent is told first; it starts nothing, and cancels no start."""
    read: list[str] = []

    def page(request: ModelRequest) -> AnswerLike:
        read.append(_told(request))
        return "Done."

    settings = {"delegation": {"max_running": 1}}
    async with open_teamwork(
        tmp_path, in_order("x"), pages={"general-purpose": page}, settings=settings, wait_s=10
    ) as session:
        first = await session.spawn("general-purpose", "first", background=True)
        second = await session.spawn("general-purpose", "second", background=True)
        post, main = session.agents.post, session.main.id
        sent = await post.send(second.id, "and quickly", sender=main)
        assert second.tell("and well")
        assert (sent.has_resumed, str(second.state)) == (False, "pending")
        assert str((await first.wait_finished()).state) == str((await second.wait_finished()).state) == "completed"
        assert second.task.info.run == 1

    framed = '<teammate-message teammate_id="main">\nand quickly\n</teammate-message>'
    assert read == ["first", f"second\n\n{framed}\n\nand well"]
    assert violations(session) == []
