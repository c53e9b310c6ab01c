"""The events of a session, for whoever shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from greenroom.agents.events import ModelBegan, ModelEnded
from greenroom.core import Busy, InternalError, RuntimeFailed, TurnFailed, TurnKilled, UsageError
from greenroom.models import Call, ModelRequest, PlaybookModel, Say, ScriptedModel
from greenroom.session import EventStream, SessionBegan, open_session
from greenroom.testing import CancelAt, cancel_sweep, virtual_ports
from greenroom.tools import tool
from tests.session.small_team import LEAD, make_folder, playbook


async def test_a_reader_from_the_start_sees_the_beginning(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as session:
        events = session.events(from_start=True)
        assert isinstance(await anext(events), SessionBegan)


async def test_a_closed_stream_hears_nothing_more_and_ends(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=ScriptedModel(["Done."]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as session:
        with session.events() as events:
            pass
        await session.run("Go.")
        assert [event async for event in events] == []
    assert [event async for event in session.events()] == []


async def test_a_second_reader_of_one_stream_is_refused(autojump_clock: MockClock) -> None:
    stream = EventStream()
    async with trio.open_nursery() as nursery:

        async def read() -> None:
            assert [event async for event in stream] == []

        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Busy):
            await anext(stream)
        stream.close()


async def test_a_model_that_cannot_even_be_asked_leaves_a_whole_record(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_session(
        model=PlaybookModel({}), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as session:
        events = session.events()
        with pytest.raises(TurnFailed, match="no function for definition 'main'"):
            await session.run("Go.")
        events.close()
        kinds = [type(event) async for event in events]

    assert kinds.count(ModelBegan) == kinds.count(ModelEnded) == 1


async def test_a_blank_prompt_is_refused(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as session:
        with pytest.raises(UsageError, match="blank"):
            await session.run(" \n")


async def test_the_partial_text_is_that_of_the_turn_that_was_ended(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-07."""

    @tool(name="Wait")
    async def wait() -> str:
        """Wait forever."""
        await trio.sleep_forever()
        return ""

    model = ScriptedModel([[Say("Thinking aloud."), Call("Wait")], "The second answer."])
    async with (
        open_session(model=model, cwd=tmp_path, runs=tmp_path / "runs", tools=[wait], ports=virtual_ports()) as session,
        trio.open_nursery() as nursery,
    ):

        async def first() -> None:
            with pytest.raises(TurnKilled) as caught:
                await session.run("One.")
            assert caught.value.partial == "Thinking aloud."

        nursery.start_soon(first)
        await trio.sleep(1)
        session.interrupt()
        assert (await session.run("Two.")).text == "The second answer."


async def test_a_second_team_at_the_same_time_is_refused_and_leaves_nothing_behind(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_session(
        model=playbook(), cwd=make_folder(tmp_path / "p"), runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        async with session.open_team("one"):
            with pytest.raises(UsageError, match="open team"):
                async with session.open_team("two"):
                    raise AssertionError
        async with session.open_team("two"):
            pass
        async with session.open_team("one"):
            pass


def test_wherever_the_opening_of_a_team_is_cancelled_it_can_be_opened_again(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "p")
    count = iter(range(10_000))

    async def scenario(at: CancelAt) -> None:
        runs = tmp_path / f"runs-{next(count)}"
        async with open_session(model=playbook(), cwd=folder, runs=runs, main=LEAD, ports=virtual_ports()) as session:
            with trio.CancelScope() as scope:
                at.aim(scope.cancel)
                async with session.open_team("one"):
                    await trio.lowlevel.checkpoint()
            at.aim(lambda: None)
            async with session.open_team("one") as team:
                assert team.teammates == {}

    assert len(cancel_sweep(scenario)) > 10


async def test_a_main_agent_that_crashes_again_and_again_ends_the_session(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    def broken(request: ModelRequest) -> str:
        raise InternalError("a promise does not hold")

    async def body() -> None:
        async with open_session(
            model=PlaybookModel({"main": broken}), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
        ) as session:
            for _ in range(4):
                with pytest.raises(TurnFailed):
                    await session.run("Go.")
            await trio.sleep_forever()

    with pytest.raises(RuntimeFailed):
        await body()
