"""The line from main to its agents: commands that outlive an agent, notices to those above, names, switches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.agents.subagents import FORK
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest
from tests.agents.pages import Page, agent, echo, in_order, last_texts, linger
from tests.session.teamwork import notices, open_teamwork, violations

MIDDLE = {"description": "Starts others.", "prompt": "You delegate."}


async def test_a_person_forks_the_main_agent(tmp_path: Path, autojump_clock: MockClock) -> None:
    """It begins with all that main has said, its end is told to main, and it can be resumed."""
    requests: dict[str, list[ModelRequest]] = {"main": [], FORK: []}

    def page(name: str) -> Page:
        def play(request: ModelRequest) -> AnswerLike:
            requests[name].append(request)
            return f"{name} says {len(request.messages)}"

        return play

    async with open_teamwork(tmp_path, page("main"), pages={FORK: page(FORK)}) as session:
        await session.run("What do you know?")
        fork = await session.spawn(FORK, "Look at the tests.", background=True, notify="main")
        first = await fork.wait_finished()
        await session.wait_quiet()
        await fork.resume("And now?")
        second = await fork.wait_finished()

    before, mine = requests["main"][0], requests[FORK][0]
    assert (mine.system, mine.tools, mine.model) == (before.system, before.tools, before.model)
    assert mine.messages[: len(before.messages)] == before.messages
    assert "Look at the tests." in last_texts(mine)
    assert "<fork-boilerplate>" in last_texts(mine)
    assert (first.state, second.state, second.run) == ("completed", "completed", 2)
    assert len(notices(session)) == 1
    assert violations(session) == []


@pytest.mark.parametrize(
    ("settings", "more", "why"),
    [
        ({"permissions": {"deny": ["Agent(fork)"]}}, {}, "denied by the rule"),
        ({"delegation": {"coordinator": True}}, {}, "cannot fork a coordinator"),
        ({}, {"model": "haiku"}, "keeps the model"),
    ],
)
async def test_a_fork_that_a_person_may_not_have_is_refused_in_one_line(
    tmp_path: Path, autojump_clock: MockClock, settings: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    async with open_teamwork(tmp_path, in_order("Done."), settings=settings) as session:
        await session.run("go")
        with pytest.raises(UsageError, match=why):
            await session.spawn(FORK, "Look.", **more)
        assert session.tasks.all() == []


async def test_a_fork_in_the_middle_of_a_turn_begins_with_results_for_the_calls_that_run(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The provider takes what it sends, whatever main is doing."""
    main = in_order(Call("Linger", {"seconds": 60}), "Done.")
    async with (
        open_teamwork(tmp_path, main, pages={FORK: echo}, tools=(linger,)) as session,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(session.run, "go")
        for wait_s in (0.5, 10):  # before main has said anything, and while its call runs
            await trio.sleep(wait_s)
            fork = await session.spawn(FORK, "Look.", background=True)
            result = await fork.wait_finished()
            assert (result.state, result.error) == ("completed", "")
            messages = load_conversation(session.run_folder / "transcripts" / f"agent-{fork.id}.jsonl").messages
            assert faults_of(messages) == []


async def test_an_agent_is_shown_in_the_color_of_its_definition(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Where tasks are listed, and as a teammate."""
    agents = {"painter": {**MIDDLE, "color": "purple"}}
    main = in_order([agent("paint", subagent_type="painter"), agent("other")], "Noted.")
    pages = {"painter": echo}
    async with open_teamwork(tmp_path, main, pages=pages, agents=agents) as session:
        await session.run("go")
        shown = {task.agent_type: task.color for task in session.tasks.all()}
        async with session.open_team("crew") as team:
            mate = await team.spawn("ann", definition="painter")
            assert mate.color == "purple"

    assert shown == {"painter": "purple", "general-purpose": ""}
