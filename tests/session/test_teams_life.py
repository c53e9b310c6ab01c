"""Teammates as tasks of a session: idle, ended by its means, with what they have started, and let go."""

from __future__ import annotations

import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import State
from greenroom.agents import AgentDefinition
from greenroom.models import Call
from greenroom.session import Session
from greenroom.tasks import TaskState
from greenroom.teams import Team
from greenroom.teams._team_handles import Teammate
from tests.agents.pages import Page, agent, in_order
from tests.session.teamwork import main_messages, open_teamwork, violations
from tests.teams.crews import member, send_as

MATE = AgentDefinition(name="mate", system_prompt="You help.")
LEAD = in_order()


@attrs.frozen
class Scene:
    """A session with a team."""

    session: Session
    team: Team


@asynccontextmanager
async def opened(
    folder: Path, mate: Page, *, main: Page = LEAD, wait_s: float = 1.0, **more: Any
) -> AsyncIterator[Scene]:
    async with open_teamwork(folder, main, pages={"mate": mate}, wait_s=wait_s, **more) as session:
        async with session.open_team("crew") as team:
            await session.run("You lead.")
            yield Scene(session, team)
            await trio.testing.wait_all_tasks_blocked()
    assert violations(session) == []


async def test_idle_mates_keep_no_session_from_being_quiet(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-20."""
    async with opened(tmp_path, in_order("Done.")) as scene:
        for number in range(3):
            await scene.team.spawn(f"m{number}", definition=MATE)
        with trio.fail_after(5):
            await scene.session.wait_quiet()

        assert scene.session.teams.working == 0
        assert {task.state for task in scene.session.tasks.all()} == {TaskState.RUNNING}


@pytest.mark.parametrize("address", ["ann", "ann@crew"])
async def test_a_mate_is_a_task_that_taskstop_ends_by_name_and_by_id(
    address: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-55."""
    main = in_order("Ready.", Call("TaskStop", {"task_id": address}), "Stopped.")
    async with opened(tmp_path, in_order("Done."), main=main, wait_s=3.0) as scene:
        mate = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        (task,) = scene.session.tasks.all()
        assert (task.id, task.kind, task.state) == ("ann@crew", "in_process_teammate", TaskState.RUNNING)
        await scene.session.run("Stop ann.")
        await scene.session.wait_quiet()

        assert mate.state is State.KILLED
        assert [task.state for task in scene.session.tasks.all()] == [TaskState.KILLED]
        assert "Successfully stopped task: ann@crew" in "\n".join(main_messages(scene.session))
        assert "task-notification" not in "\n".join(main_messages(scene.session))


async def test_kill_all_ends_mates_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, in_order("Done.")) as scene:
        mates = [await scene.team.spawn(name, definition=MATE) for name in ("ann", "bob")]

        assert sorted(scene.session.tasks.kill_all()) == ["ann@crew", "bob@crew"]
        assert {(await mate.wait_ended()).state for mate in mates} == {State.KILLED}


async def test_what_a_mate_started_in_the_background_outlives_its_turn_and_ends_with_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-15."""
    mate_page = in_order(Call("Bash", {"command": "sleep 600", "run_in_background": True}), "It runs.")
    async with opened(tmp_path, mate_page, settings={"permissions": {"allow": ["Bash"]}}) as scene:
        mate = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await scene.session.wait_quiet()
        shells = [task for task in scene.session.tasks.all() if task.kind == "local_bash"]
        assert [shell.state for shell in shells] == [TaskState.RUNNING]

        mate.kill()
        await mate.wait_ended()
        for task in scene.session.tasks.table.all():
            await task.wait_finished()
        assert {task.state for task in scene.session.tasks.all()} == {TaskState.KILLED}


@pytest.mark.parametrize("is_let_go", [False, True])
async def test_an_agent_of_a_mate_ends_with_it(
    is_let_go: bool,
    tmp_path: Path,
    autojump_clock: MockClock,
) -> None:
    """Also one that a person has moved to the background meanwhile."""
    async with opened(tmp_path, in_order(agent("what is here?"), "Done."), wait_s=10.0) as scene:
        mate = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await trio.sleep(15)
        assert sorted(task.kind for task in scene.session.tasks.all()) == ["in_process_teammate", "local_agent"]
        assert len(scene.session.tasks.background_all() if is_let_go else []) == is_let_go
        await trio.sleep(1)
        mate.kill()
        await mate.wait_ended()
        await scene.session.wait_quiet()

        assert {task.state for task in scene.session.tasks.all()} == {TaskState.KILLED}


async def test_a_mate_that_has_ended_is_let_go(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-46: the handle stays, and what it has used; its conversation does not."""
    kept: Teammate
    async with opened(tmp_path, in_order("Done.")) as scene:
        kept = await scene.team.spawn("ann", definition=MATE, prompt="Look.")
        await scene.session.wait_quiet()
        member = scene.team.roster.find("ann")
        assert member is not None
        home = weakref.ref(member.home)
        conversation = weakref.ref(member.home.conversation)
        del member
        used = kept.usage
        kept.kill()
        await kept.wait_ended()
        await scene.session.wait_quiet()
        await trio.sleep(120)
        gc.collect()

        assert home() is None
        assert conversation() is None
        assert kept.usage == used
        assert scene.session.usage.total >= used.total > 0


@pytest.mark.parametrize(("teams", "says"), [({}, "In 60 s"), ({"shutdown_s": 5}, "In 5 s"), ({"shutdown_s": 0}, "")])
async def test_deadline_of_a_shutdown_request_is_that_of_the_settings(
    teams: dict[str, float], says: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, in_order("Done."), settings={"teams": teams}) as scene:
        await scene.team.spawn("ann", definition=MATE)
        asked = await send_as(member(scene.team, "team-lead"), "ann", {"type": "shutdown_request"})

    assert says in asked["message"]
    assert ("ended whatever it says" in asked["message"]) is bool(says)
