"""Waiting for agents and teams, and how a program sees who has ended."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from greenroom.actors import State
from greenroom.models import Call
from tests.agents.pages import in_order, kind, make_build
from tests.session.teamwork import notices, open_teamwork


async def test_wait_quiet_returns_while_a_command_runs_unless_asked(tmp_path: Path, autojump_clock: MockClock) -> None:
    page = in_order(Call("Build", {}), "It builds.", otherwise="Built.")
    async with open_teamwork(tmp_path, page, tools=(make_build(tmp_path, 500),)) as session:
        await session.run("go")

        await session.wait_quiet()
        assert (trio.current_time() < 400, notices(session)) == (True, [])

        await session.wait_quiet(commands=True)
        (notice,) = notices(session)
        assert "b00000001" in notice
        assert 500 <= trio.current_time() < 600


async def test_wait_quiet_for_commands_ends_when_they_are_killed(tmp_path: Path, autojump_clock: MockClock) -> None:
    page = in_order(Call("Build", {}), "It builds.", otherwise="Well.")
    async with open_teamwork(tmp_path, page, tools=(make_build(tmp_path),)) as session:
        await session.run("go")
        async with trio.open_nursery() as nursery:
            done = trio.Event()

            async def wait() -> None:
                await session.wait_quiet(commands=True)
                done.set()

            nursery.start_soon(wait)
            await trio.sleep(50)
            assert not done.is_set()
            session.tasks.kill_all()
            with trio.fail_after(60):
                await done.wait()


async def test_agents_of_a_closed_team_are_listed_as_ended(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_teamwork(tmp_path, lambda _: "ok", pages={"mate": lambda _: "ok"}) as session:
        async with session.open_team("crew") as team:
            await team.spawn("ann", definition=kind("mate"))
            await session.wait_quiet()
            during = [(agent.definition, agent.state, agent.has_ended) for agent in session.agents.all()]
        after = [(agent.definition, agent.state, agent.has_ended) for agent in session.agents.all()]

    assert during == [("main", State.RUNNING, False), ("mate", State.RUNNING, False)]
    assert after == [("main", State.RUNNING, False), ("mate", State.COMPLETED, True)]
