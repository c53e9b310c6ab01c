"""What the budget of a session leaves to its agents."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.core import TurnFailed
from greenroom.models import Call
from greenroom.tasks import TaskEnded
from greenroom.tools import tool
from tests.agents.pages import agent, in_order
from tests.session.teamwork import main_messages, notices, open_teamwork, violations


@tool
async def linger() -> str:
    """Take long."""
    await trio.sleep(10_000)
    return "done"


async def test_the_budget_is_reached_and_what_runs_in_the_background_is_stopped(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-23, RC-84: no more agents, and those that run are stopped, each told of once, without another turn."""
    main = in_order([agent("a", run_in_background=True), agent("b", run_in_background=True)], "They run.")
    settings = {"models": {"budget": {"calls": 5}}}
    async with open_teamwork(
        tmp_path,
        main,
        pages={"general-purpose": lambda _: Call("Linger")},
        tools=(linger,),
        settings=settings,
    ) as session:
        events = session.events()
        await session.run("go")
        await session.run("and?")
        with pytest.raises(TurnFailed, match="Budget limit reached"):
            await session.run("and now?")
        await session.wait_quiet()
        home = session.agents.pool.main_home
        assert home is not None
        reminded = "\n".join(notice.text for notice in home.pending.quiet)
        turns = len(main_messages(session))

    ends = [event async for event in events if isinstance(event, TaskEnded)]
    assert [end.state for end in ends] == ["killed", "killed"]
    assert reminded.count("was stopped by budget: Budget limit reached") == 2
    assert turns == 7
    assert notices(session) == []
    assert violations(session) == []


async def test_a_new_agent_is_refused_when_the_budget_is_used_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-23: the call that would start it fails with that text, and nothing exists of it."""
    settings = {"models": {"budget": {"calls": 3}}}
    main = in_order(agent("a", run_in_background=True), [Call("Linger"), agent("b", name="b")])
    child = in_order(Call("TodoWrite", {"todos": []}))
    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": child}, tools=(linger,), settings=settings
    ) as session:
        with pytest.raises(TurnFailed, match="Budget limit reached"):
            await session.run("go")
        await session.wait_quiet()
        text = main_messages(session)[4]

    assert "Budget limit reached" in text
    assert session.agents.pool.spawned == 1
    assert "b" not in session.agents.pool.names
