"""Forks by a person, switches of the environment, and handles of agents that end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.agents.subagents import FORK
from greenroom.core import JournalError, UsageError
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from tests.agents.pages import Page, agent, echo, in_order, last_texts, linger
from tests.session.teamwork import notices, open_teamwork, structured, violations
from tests.trace.disks import FillingDisk

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


async def test_a_launch_is_reported_once_it_is_on_record(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-20, RC-111. Mechanism: the call waits until the disk has the start before it says that there is one."""
    disk = FillingDisk()
    read: list[str] = []

    @tool(name="Fill", read_only=True)
    async def fill() -> str:
        """Fill the disk."""
        disk.is_full = True
        return "full"

    def main(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return [Call("Fill"), agent("look", run_in_background=True)] if len(request.messages) == 1 else "Noted."

    ports = attrs.evolve(virtual_ports(), disk=disk)
    with pytest.raises(JournalError, match="No space left"):
        async with open_teamwork(tmp_path, main, tools=(fill,), ports=ports) as session:
            with pytest.raises(JournalError):
                await session.run("go")
            home = session.agents.pool.main_home
            assert home is not None
            assert home.conversation is not None
            told = str(home.conversation.messages[-1])

    assert len(read) == 1, "what is not on record is sent to no model"
    assert "it was done, and cannot be recorded" in told
    assert "Async agent launched" not in told


async def test_where_nothing_runs_in_the_background_every_call_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: the table moves nothing, and the router starts nothing there."""
    page = in_order(Call("Linger", {"seconds": 300}), "Done.")
    moved: list[list[str]] = []
    main = in_order(agent("look", run_in_background=True), "It is done.")
    settings = {"env": {"GREENROOM_DISABLE_BACKGROUND_TASKS": "1"}}
    async with (
        open_teamwork(tmp_path, main, pages={"general-purpose": page}, tools=(linger,), settings=settings) as session,
        trio.open_nursery() as nursery,
    ):

        async def move_all() -> None:
            await trio.sleep(150)
            moved.append(session.tasks.background_all())

        nursery.start_soon(move_all)
        await session.run("go")
        await session.wait_quiet()

    assert moved == [[]]
    assert [result["status"] for result in structured(session)] == ["completed"]
    assert notices(session) == []


@pytest.mark.parametrize("report", ["More.", ""])
async def test_an_agent_that_is_told_something_at_its_end_works_as_long_on_that_as_it_takes(
    tmp_path: Path, autojump_clock: MockClock, report: str
) -> None:
    """CL-14, CL-06: nothing cuts it short, and where it then says nothing its report stays. Mechanism: mail holds the end up."""
    page = in_order("First.", Call("Linger", {"seconds": 200}), report)
    async with open_teamwork(
        tmp_path, in_order("x"), pages={"general-purpose": page}, tools=(linger,), wait_s=10
    ) as session:
        handle = await session.spawn("general-purpose", "begin", background=True)
        await trio.sleep(5)
        assert handle.tell("and more")
        result = await handle.wait_finished()

    assert (result.state, result.run, result.text) == ("completed", 1, report or "First.")
