"""Sessions as their users see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import State
from greenroom.agents import INTERRUPTED, AgentDefinition
from greenroom.agents._blocks import decode_message
from greenroom.agents._structured import STRUCTURED_OUTPUT
from greenroom.core import TurnKilled, UsageError
from greenroom.mailbox import Delivery
from greenroom.models import Call, PlaybookModel, ScriptedModel
from greenroom.models._scripted import ScriptStep
from greenroom.session import EVENTS, FOLDS, SessionEnded, open_session
from greenroom.teams import CreateItem, ItemClaimed, ItemCompleted, ItemReleased, ItemStatus
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, check_journal, diff_runs, fold, read_journal
from tests.agents.situations import assert_acceptable
from tests.session.small_team import ITEMS, LEAD, MATE, make_folder, playbook, survey


def violations_of(run_folder: Path) -> list[str]:
    journal = read_journal(run_folder / JOURNAL, EVENTS)
    return [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=FOLDS)]


async def test_a_team_works_its_board_off_and_the_lead_reports(tmp_path: Path, autojump_clock: MockClock) -> None:
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        events = session.events()
        states = await survey(session)

    assert states == (ItemStatus.COMPLETED,) * ITEMS
    assert (session.run_folder / "report.md").read_text().startswith("# ")
    seen = [event async for event in events]
    assert sum(isinstance(event, ItemClaimed) for event in seen) == ITEMS
    assert sum(isinstance(event, ItemCompleted) for event in seen) == ITEMS
    assert isinstance(seen[-1], SessionEnded)
    assert events.lost == 0
    assert violations_of(session.run_folder) == []


async def test_what_the_journal_folds_to_is_what_was_there(tmp_path: Path, autojump_clock: MockClock) -> None:
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        await survey(session)
        usage = {status.id: status.usage for status in session.agents.all()}

    world = fold(read_journal(session.run_folder / JOURNAL, EVENTS).entries, FOLDS)
    assert {agent: view.usage for agent, view in world.section("agents").items()} == usage
    assert [item.status for item in world.section("items").values()] == [ItemStatus.COMPLETED] * ITEMS


async def test_every_transcript_is_a_conversation_that_a_provider_accepts(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-31; Behaviours (10), line 2."""
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        await survey(session)

    files = sorted((session.run_folder / "transcripts").iterdir())
    assert [path.name for path in files if path.name == "main.jsonl"] == ["main.jsonl"]
    assert len(files) == 4
    for path in files:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert_acceptable([decode_message(line["message"], source=path.name) for line in lines])
        assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
        assert {line["isSidechain"] for line in lines} == {path.name != "main.jsonl"}


def test_two_runs_from_the_same_inputs_and_choices_are_equal_to_the_byte(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "project")

    async def run(runs: Path) -> Path:
        async with open_session(
            model=playbook(wait_s=0.5), cwd=folder, runs=runs, main=LEAD, ports=virtual_ports()
        ) as session:
            await survey(session)
        return session.run_folder

    first = run_virtual(run, tmp_path / "one", choices=7)
    second = run_virtual(run, tmp_path / "two", choices=list(first.choices))

    names = sorted(path.relative_to(first.result) for path in first.result.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(second.result) for path in second.result.rglob("*") if path.is_file())
    for name in names:
        assert (first.result / name).read_bytes() == (second.result / name).read_bytes(), name
    left, right = (read_journal(run.result / JOURNAL, EVENTS) for run in (first, second))
    assert diff_runs(left.entries, right.entries) is None
    other = read_journal(run_virtual(run, tmp_path / "three", choices=8).result / JOURNAL, EVENTS)
    assert diff_runs(left.entries, other.entries) is not None, "another schedule is another run"


async def test_an_interrupt_ends_the_turn_of_the_main_agent_and_nothing_else(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    model = ScriptedModel([ScriptStep(answer="Never heard.", wait_s=60.0), "Done."])
    async with (
        open_session(model=model, cwd=make_folder(tmp_path / "p"), runs=tmp_path, ports=virtual_ports()) as session,
        trio.open_nursery() as nursery,
    ):

        async def expect_interrupt() -> None:
            with pytest.raises(TurnKilled) as caught:
                await session.run("Think long.")
            assert (caught.value.who, caught.value.why) == ("host", "enough")

        nursery.start_soon(expect_interrupt)
        await trio.sleep(1)
        ended = await session.interrupt("enough").wait_ended()
        assert ended.state is State.KILLED
        assert (await session.run("Again.")).text == "Done."


async def test_a_mate_whose_turn_is_aborted_gives_its_item_back_and_takes_it_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(wait_s=1.0), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        events = session.events()
        async with session.open_team("survey") as team:
            mate = await team.spawn("mate-1", definition=MATE)
            await session.run("Survey.")
            await trio.sleep(0.5)
            assert (await mate.abort_turn().wait_ended()).state is State.KILLED
            await session.wait_quiet()
            states = {item.status for item in team.board.items()}

    assert states == {ItemStatus.COMPLETED}
    seen = [event async for event in events]
    assert sum(isinstance(event, ItemReleased) for event in seen) == 1
    assert violations_of(session.run_folder) == []


async def test_the_items_of_a_killed_mate_go_to_the_others(tmp_path: Path, autojump_clock: MockClock) -> None:
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(wait_s=1.0), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        async with session.open_team("survey") as team:
            victim = await team.spawn("victim", definition=MATE)
            await team.spawn("other", definition=MATE)
            await session.run("Survey.")
            await trio.sleep(0.5)
            victim.kill("no longer needed")
            down = await victim.wait_ended()
            await session.wait_quiet()
            owners = {item.owner for item in team.board.items()}
            assert victim.tell("hello?") is Delivery.CLOSED

    assert down.state is State.KILLED
    assert owners == {"other"}
    assert violations_of(session.run_folder) == []


async def test_an_item_that_its_owner_never_began_goes_to_another_when_the_owner_ends(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The board hands an item to a mate that said it was idle; a note kept it busy, and then it was killed."""
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(wait_s=10.0), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        async with session.open_team("survey") as team:
            victim = await team.spawn("victim", definition=MATE)
            await trio.sleep(1)
            victim.tell("Think about something else.")
            await trio.sleep(1)
            await team.board.ref.ask(CreateItem(subject="one", description="", by="host"))
            assert [item.owner for item in team.board.items()] == ["victim"]
            victim.kill()
            await victim.wait_ended()
            await team.spawn("other", definition=MATE)
            await session.wait_quiet()
            assert {item.owner for item in team.board.items()} == {"other"}

    assert violations_of(session.run_folder) == []


async def test_leaving_in_the_middle_stops_everything_within_the_grace(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(wait_s=1_000.0), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        async with trio.open_nursery() as nursery:

            async def expect_end() -> None:
                with pytest.raises(TurnKilled):
                    await session.run("Survey.")

            nursery.start_soon(expect_end)
            await trio.sleep(1)
            session.main.stop()
        began = trio.current_time()

    assert trio.current_time() - began < 30
    assert violations_of(session.run_folder) == []
    lines = (session.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()
    assert len(lines) == 1


async def test_kill_ends_a_session_at_once_and_the_journal_is_whole(tmp_path: Path, autojump_clock: MockClock) -> None:
    folder = make_folder(tmp_path / "project")
    began = trio.current_time()
    async with open_session(
        model=playbook(wait_s=100.0), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        session.kill("second signal")

    assert trio.current_time() - began < 1
    assert violations_of(session.run_folder) == []


async def test_what_the_body_raises_leaves_bare_and_is_on_record(tmp_path: Path, autojump_clock: MockClock) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(ZeroDivisionError):
        async with open_session(model=playbook(), cwd=tmp_path, runs=runs, main=LEAD, ports=virtual_ports()):
            _ = 1 / 0

    (run_folder,) = runs.iterdir()
    last = read_journal(run_folder / JOURNAL, EVENTS).entries[-1].event
    assert isinstance(last, SessionEnded)
    assert last.state == "failed"
    assert last.error.startswith("ZeroDivisionError")


async def test_a_folder_that_is_none_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(UsageError, match="cwd is not a directory"):
        async with open_session(model=playbook(), cwd=tmp_path / "missing", runs=runs):
            raise AssertionError

    assert not runs.exists()


async def test_an_interrupted_call_stands_in_the_transcript_as_interrupted(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    model = ScriptedModel([Call("Wait"), "Done."])

    @tool(name="Wait")
    async def wait() -> str:
        """Wait forever."""
        await trio.sleep_forever()
        return ""

    async with (
        open_session(
            model=model, cwd=make_folder(tmp_path / "p"), runs=tmp_path / "runs", tools=[wait], ports=virtual_ports()
        ) as session,
        trio.open_nursery() as nursery,
    ):

        async def expect_interrupt() -> None:
            with pytest.raises(TurnKilled):
                await session.run("Wait.")

        nursery.start_soon(expect_interrupt)
        await trio.sleep(1)
        session.interrupt()
        assert (await session.run("Go on.")).text == "Done."

    text = (session.run_folder / "transcripts" / "main.jsonl").read_text()
    assert INTERRUPTED in text


async def test_agents_of_one_kind_that_answer_by_a_schema_have_a_tool_for_it_each(tmp_path: Path) -> None:
    """Mechanism: what has no such tool shares its set of tools with others of its kind."""
    definition = AgentDefinition(name="judge", answer_schema={"type": "object"})
    async with open_session(model=PlaybookModel({}), cwd=tmp_path, runs=tmp_path / "runs") as session:
        one, other = (session._composition.make_home(definition, is_child=True) for _ in range(2))

    assert [one.profile.tools[STRUCTURED_OUTPUT], other.profile.tools[STRUCTURED_OUTPUT]] == [
        one.answer_tool,
        other.answer_tool,
    ]
    assert one.answer_tool is not other.answer_tool
