"""Teams that are opened again: in the same session, by a process that goes on with a run, and wherever a crash was."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import CONTINUE, LOST_RESULT, AgentDefinition
from greenroom.models import AnswerLike, Call, Message, ModelRequest, PlaybookModel, ToolResultBlock
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.tasks import AGENT
from greenroom.teams import ItemStatus, MemberStatus, Team
from greenroom.teams._board_messages import CreateItem
from greenroom.testing import CancelAt, cancel_sweep, virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.agents.pages import agent, in_order
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of, told_in
from tests.session.teamwork import main_messages, open_teamwork, violations
from tests.teams.situations import open_scene

MATE = AgentDefinition(name="Explore", system_prompt="You help.")
SLOW: Final = 20.0


async def put(team: Team, subject: str) -> None:
    await team.board.ref.ask(CreateItem(subject=subject, description="", by="host"))


def remembers(request: ModelRequest) -> AnswerLike:
    """Say what was said to it before, or complete the item that it was handed, if a cut call has not."""
    last = request.messages[-1]
    is_lost = any(getattr(block, "content", "") == LOST_RESULT for block in last.content)
    handed = re.findall(r"Task #(\d+) is ", said_to(request) if is_lost else last.text)
    if handed:
        return Call("TaskUpdate", {"taskId": handed[-1], "status": "completed"})
    return "I know: " + " / ".join(
        message.text for message in request.messages if message.role == "user" and message.text
    )


def said_to(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages if message.role == "user")


def said_by(session: Session, name: str) -> str:
    assert session.teams.current is not None
    member = session.teams.current.roster.find(name)
    assert member is not None
    assert member.home.conversation is not None
    return member.home.conversation.messages[-1].text


async def test_a_team_that_is_opened_again_is_as_it_was(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-10: board, names, colors, conversations; nothing is said, and nothing begins by itself."""
    async with open_teamwork(tmp_path, in_order(), pages={"Explore": remembers}) as session:
        async with session.open_team("crew") as team:
            ann = await team.spawn("ann", definition=MATE, prompt="The word is BLUE.")
            gone = await team.spawn("bob", definition=MATE)
            await put(team, "one")
            await session.wait_quiet()
            gone.kill()
            await gone.wait_ended()
            before = team.board.items()
            agent, color = ann.ref.id, ann.color
            await session.wait_quiet()
        said = len(main_messages(session))

        async with session.open_team("crew") as team:
            await session.wait_quiet()
            assert team.board.items() == before
            assert list(team.teammates) == ["ann"]
            ann = team.teammates["ann"]
            assert (ann.status, ann.color) == (MemberStatus.IDLE, color)
            assert len(main_messages(session)) == said
            ann.tell("What is the word?")
            await session.wait_quiet()
            assert "The word is BLUE." in said_by(session, "ann")
            other = await team.spawn("bob", definition=MATE)
            assert other.name == "bob-2", "the name of one that has ended is nobody else's"
            await put(team, "two")
            await session.wait_quiet()
            assert [item.id for item in team.board.items()] == ["1", "2"]
            assert {agent.id: agent for agent in session.agents.all()}.keys() >= {agent}
        usage = session.usage

    assert usage.total > 0
    assert violations(session) == []
    assert len(list((session.run_folder / "transcripts").glob(f"agent-{agent}.jsonl"))) == 1


async def test_a_process_that_goes_on_with_a_run_has_the_team_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mail that nobody read is read, ids go on; an item in progress stays its owner's, who goes on with it."""
    async with open_teamwork(tmp_path, in_order(), pages={"Explore": remembers}, wait_s=SLOW) as first:
        await first.run("You lead.")
        async with first.open_team("crew") as team:
            ann = await team.spawn("ann", definition=MATE)
            await put(team, "one")
            await trio.sleep(1)
            assert ann.status is MemberStatus.WORKING
            await team.mail.hand_over("team-lead", [team.roster.members["ann"]], "Read me later.", "later")
        assert team.board.items()[0].owner == "ann"

    read: list[str] = []

    def looks(request: ModelRequest) -> AnswerLike:
        read.append(request.messages[-1].text)
        return "Noted."

    async with open_teamwork(
        tmp_path, in_order(), pages={"Explore": looks}, resume=first.run_folder, ports=virtual_ports(1)
    ) as second:
        async with second.open_team("crew") as team:
            (item,) = team.board.items()
            assert (item.owner, item.status) == ("ann", ItemStatus.IN_PROGRESS)
            await second.wait_quiet()
            assert len(read) == 2, "the cut turn, and then the mail; the item is not handed out once more"
            assert read[0] == f"Task #1 is yours: one{CONTINUE}"
            assert "Read me later." in read[1]
            await put(team, "two")
            await second.wait_quiet()
            assert [(item.id, item.owner) for item in team.board.items()] == [("1", "ann"), ("2", "ann")]

    assert violations(second) == []


@pytest.mark.parametrize("begins", [True, False], ids=["in its turn", "before its turn"])
@pytest.mark.parametrize("is_resumed", [True, False], ids=["another process", "the same session"])
async def test_who_was_cut_off_at_an_item_goes_on_with_it(
    begins: bool, is_resumed: bool, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Once, by itself, with what it knew; and is idle then, however often its team is opened.

    An item that it had taken up is in the turn that it resumes; one that it had not is handed to it again.
    """
    turns: list[str] = []

    def works(request: ModelRequest) -> AnswerLike:
        last = request.messages[-1].text
        if "Task #" in last:
            turns.append(last)
        return remembers(request)

    pages, run = {"Explore": works}, None
    for number in range(3):
        ports, wait_s = virtual_ports(number), 0.1 if run is not None else SLOW
        async with open_teamwork(tmp_path, in_order(), pages=pages, wait_s=wait_s, resume=run, ports=ports) as session:
            for _ in range(1 if is_resumed else 3):
                if run is None:
                    await session.run("You lead.")
                run = session.run_folder
                async with session.open_team("crew") as team:
                    if not team.roster.joined - {"team-lead"}:
                        ann = await team.spawn("ann", definition=MATE)
                        if not begins:
                            ann.ref.suspend()
                        await put(team, "one")
                        await trio.sleep(1)
                        assert team.board.items()[0].owner == "ann"
                    else:
                        await session.wait_quiet()
                        assert [item.status for item in team.board.items()] == [ItemStatus.COMPLETED]
                        assert team.teammates["ann"].status is MemberStatus.IDLE
        assert violations(session) == []
        if not is_resumed:
            break

    assert [turn.count(" yours: one") for turn in turns] == ([1, 1] if begins else [1])
    assert turns[-1].endswith(CONTINUE if begins else "go on with it.")


async def test_an_item_whose_turn_was_over_stays_as_it_was(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nothing begins by itself that had come to its end: the lead was told that the item is not completed."""
    async with open_teamwork(tmp_path, in_order(), pages={"Explore": in_order()}) as session:
        async with session.open_team("crew") as team:
            await team.spawn("ann", definition=MATE)
            await put(team, "one")
            await session.wait_quiet()
        said = len(main_messages(session))
        for _ in range(2):
            async with session.open_team("crew") as team:
                await session.wait_quiet()
                (item,) = team.board.items()
                assert (item.owner, item.status) == ("ann", ItemStatus.IN_PROGRESS)
                assert said_by(session, "ann") == "Noted."
                assert len(main_messages(session)) == said

    assert violations(session) == []


async def test_a_mate_of_a_definition_that_nobody_knows_waits_for_its_name(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    private = AgentDefinition(name="private", system_prompt="You help.")
    pages = {"private": remembers}
    async with open_teamwork(tmp_path, in_order(), pages=pages) as first:
        async with first.open_team("crew") as team:
            await team.spawn("ann", definition=private, prompt="The word is BLUE.")
            await first.wait_quiet()

    async with open_teamwork(
        tmp_path, in_order(), pages=pages, resume=first.run_folder, ports=virtual_ports(1)
    ) as second:
        async with second.open_team("crew") as team:
            assert not team.teammates
            assert [one.name for one in team.parked] == ["ann"]
            assert any("ann of the team crew is not back" in problem for problem in second.problems)
            ann = await team.spawn("ann", definition=private, prompt="What is the word?")
            await second.wait_quiet()
            assert ann.name == "ann"
            assert "The word is BLUE." in said_by(second, "ann")
            assert not team.parked

    assert violations(second) == []


async def test_a_team_that_a_model_made_is_there_again_and_one_that_it_closed_is_not(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    settings: dict[str, Any] = {"teams": {"enabled": True}}
    join = Call("Agent", {"description": "x", "prompt": "look", "name": "ann", "subagent_type": "Explore"})
    main = in_order(Call("TeamCreate", {"team_name": "crew"}), join, "Ready.")
    async with open_teamwork(tmp_path, main, settings=settings) as first:
        await first.run("Go.")
        await first.wait_quiet()

    run = first.run_folder

    def closing(request: ModelRequest) -> AnswerLike:
        return Call("TeamDelete", {}) if request.messages[-1].text == "Close it." else "Noted."

    async with open_teamwork(tmp_path, closing, settings=settings, resume=run, ports=virtual_ports(1)) as second:
        assert second.teams.team_name == "crew"
        assert "TaskList" in second.tools
        await second.run("Close it.")
        assert second.teams.current is None
    async with open_teamwork(tmp_path, closing, settings=settings, resume=run, ports=virtual_ports(2)) as third:
        assert third.teams.current is None
        async with third.open_team("crew") as team:
            assert not team.teammates
            assert not team.parked
            assert (await team.spawn("ann", definition="Explore")).name == "ann-2"

    assert violations(third) == []


async def test_a_team_comes_back_wherever_the_crash_was(tmp_path: Path, autojump_clock: MockClock) -> None:
    """At every line about a team; each item has its owner there or nobody, each name one member."""
    disk = RecordingDisk()
    pages = {"Explore": remembers}
    async with open_teamwork(tmp_path, in_order(), pages=pages, ports=recording_ports(disk)) as first:
        async with first.open_team("crew") as team:
            for name in ("ann", "bob"):
                await team.spawn(name, definition=MATE, prompt="Look.")
            for subject in ("one", "two", "three"):
                await put(team, subject)
            await trio.sleep(0.5)
            team.teammates["bob"].kill()
            await first.wait_quiet()
        async with first.open_team("crew"):
            await first.wait_quiet()

    marks = (b'"item.', b'"mate.', b'"team.', b'"mail.')
    tried = 0
    for count in range(1, len(disk.writes) + 1):
        path, line, _ = disk.writes[count - 1]
        if path.name == JOURNAL and not any(mark in line for mark in marks):
            continue
        run = disk.restore(count, first.run_folder, tmp_path / "crashed")
        if not (run / "transcripts/main.jsonl").is_file():
            continue
        tried += 1
        async with open_teamwork(tmp_path, in_order(), pages=pages, resume=run, ports=virtual_ports(count)) as again:
            async with again.open_team("crew") as team:
                await again.wait_quiet()
                there = {*team.teammates, ""}
                assert {item.owner for item in team.board.items() if item.status is not ItemStatus.COMPLETED} <= there
                assert {teammate.status for teammate in team.roster.teammates} <= {MemberStatus.IDLE}, count
                left = {item.status for item in team.board.items()} - {ItemStatus.COMPLETED}
                assert left <= (set() if team.teammates else {ItemStatus.PENDING}), count
                ids = [teammate.home.profile.id for teammate in team.roster.teammates]
                assert len(set(ids)) == len(ids)
        journal = read_journal(run / JOURNAL, EVENTS)
        assert [finding.text for finding in check_journal(journal.entries, folds=FOLDS)] == [], count
    assert tried > 20


async def test_what_ends_together_keeps_what_it_owns(autojump_clock: MockClock) -> None:
    """The board hears of the end of a member only where others go on."""
    is_closing = False
    async with open_scene(is_closing=lambda: is_closing) as scene:
        for name in ("ann", "bob"):
            await scene.join(name)
            await scene.create(name)
        await trio.testing.wait_all_tasks_blocked()
        for is_closing in (True, False):
            scene.refs["ann" if is_closing else "bob"].kill()
            await trio.testing.wait_all_tasks_blocked()

        assert [item.owner for item in scene.items] == ["ann", ""]


# --- what a killed process left of a teammate ---------------------------------------------------------------------------


@tool(name="Wait", read_only=True)
async def wait() -> str:
    """Wait forever."""
    await trio.sleep_forever()
    return ""


async def killed_with_team(folder: Path, *calls: Call) -> Path:
    """Return the run of a session that was killed while its teammate ann made a call that never ends, the last of those given."""
    disk = RecordingDisk()
    pages = {"Explore": in_order(*calls, Call("Wait", {})), "general-purpose": lambda _: Call("Wait", {})}
    async with open_teamwork(folder, in_order(), pages=pages, tools=(wait,), ports=recording_ports(disk)) as session:
        await session.run("You lead.")
        async with session.open_team("crew") as team:
            await team.spawn("ann", definition=MATE, prompt="Look.")
            await trio.sleep(30)
            count = len(disk.writes)
            session.kill()
    return disk.restore(count, session.run_folder, folder / "runs" / "crashed")


async def test_a_cut_call_of_a_teammate_says_that_its_process_ended(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await killed_with_team(tmp_path)
    read: list[Message] = []

    def looks(request: ModelRequest) -> AnswerLike:
        read.extend(request.messages)
        return "Noted."

    async with open_teamwork(
        tmp_path, in_order(), pages={"Explore": looks}, resume=run, ports=virtual_ports(1)
    ) as session:
        async with session.open_team("crew"):
            await session.wait_quiet()

    results = [block.content for message in read for block in message.content if isinstance(block, ToolResultBlock)]
    assert results == [LOST_RESULT]
    assert CONTINUE in read[-1].text
    assert not any("interrupted" in message.text for message in read)
    assert violations(session) == []


@pytest.mark.promise("R7-agents")
@pytest.mark.parametrize("lost_agents", ["tell", "resume"])
async def test_a_lost_child_of_a_teammate_is_told_once_its_team_is_open(
    lost_agents: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Mechanism: the notice waits while its owner is away, over any number of processes that do not open the team.

    A teammate waits for its agents, so none of them is resumed by itself.
    """
    run = await killed_with_team(tmp_path, agent("long"))
    (child,) = (view for view in tasks_of(run).values() if view.type == AGENT)
    settings = {"recovery": {"lost_agents": lost_agents}}
    pages = {"Explore": in_order(), "general-purpose": in_order()}
    for number in range(1, 5):
        ports = virtual_ports(number)
        async with open_teamwork(
            tmp_path, in_order(), pages=pages, resume=run, settings=settings, ports=ports
        ) as session:
            await session.wait_quiet()
            if number < 3:
                assert told_in(run) == {}
            else:
                async with session.open_team("crew") as team:
                    await session.wait_quiet()
                    assert child.task in said_to_member(team, "ann")
        assert violations(session) == []
        assert not any("<task-notification>" in text for text in main_messages(session))

    assert told_in(run) == {child.notice_id: 1}


def said_to_member(team: Team, name: str) -> str:
    member = team.roster.find(name)
    assert member is not None
    assert member.home.conversation is not None
    return "\n".join(message.text for message in member.home.conversation.messages if "<task-" in message.text)


# --- two processes ------------------------------------------------------------------------------------------------------

CHILD: Final = """
import sys
from pathlib import Path
import trio
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from greenroom.teams import CreateItem

def mate(request):
    return "I have heard."

async def run():
    cwd, runs = map(Path, sys.argv[1:])
    model = PlaybookModel({"main": lambda _: "Noted.", "Explore": mate})
    with trio.fail_after(60):
        async with open_session(model=model, cwd=cwd, runs=runs) as session:
            await session.run("You lead.")
            async with session.open_team("crew") as team:
                await team.spawn("ann", definition="Explore", prompt="The word is BLUE.")
                await session.wait_quiet()
                await team.board.ref.ask(CreateItem(subject="one", description="", by="host"))
                await session.wait_quiet()
                await session._journal.commit()
                print(session.id, flush=True)
                await trio.sleep_forever()

trio.run(run)
"""


def test_a_team_outlives_the_kill_of_its_process(tmp_path: Path) -> None:
    """RC-87: kill -9."""
    cwd, runs = tmp_path / "project", tmp_path / "runs"
    cwd.mkdir()
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(cwd), str(runs)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        session_id = child.stdout.readline().strip()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(10)
        assert child.stdout is not None
        child.stdout.close()

    async def go_on() -> tuple[list[str], list[tuple[str, str]], str]:
        model = PlaybookModel({"main": lambda _: "Noted.", "Explore": remembers})
        with trio.fail_after(60):
            async with open_session(model=model, cwd=cwd, runs=runs, resume=session_id) as session:
                async with session.open_team("crew") as team:
                    items = [(item.id, item.owner) for item in team.board.items()]
                    team.teammates["ann"].tell("What is the word?")
                    await session.wait_quiet()
                    return list(team.teammates), items, said_by(session, "ann")

    mates, items, said = trio.run(go_on)

    assert mates == ["ann"]
    assert items == [("1", "ann")]
    assert "The word is BLUE." in said
    journal = read_journal(runs / session_id / JOURNAL, EVENTS)
    assert [finding.text for finding in check_journal(journal.entries, folds=FOLDS)] == []


async def test_a_new_run_knows_nothing_of_the_teams_of_another(tmp_path: Path, autojump_clock: MockClock) -> None:
    for seed in range(2):
        async with open_teamwork(tmp_path, in_order(), ports=virtual_ports(seed)) as session:
            async with session.open_team("crew") as team:
                assert not team.board.items()
                await put(team, "one")


def test_wherever_a_reopening_is_cancelled_nobody_is_lost(tmp_path: Path) -> None:
    """CL-10: a member that was about to come back comes back with the next opening."""
    count = iter(range(10_000))

    async def scenario(at: CancelAt) -> None:
        folder = tmp_path / f"run-{next(count)}"
        folder.mkdir()
        async with open_teamwork(folder, in_order(), pages={"Explore": remembers}, wait_s=0) as session:
            async with session.open_team("crew") as team:
                await team.spawn("ann", definition=MATE)
            with trio.CancelScope() as scope:
                at.aim(scope.cancel)
                async with session.open_team("crew"):
                    await trio.lowlevel.checkpoint()
            at.aim(lambda: None)
            async with session.open_team("crew") as team:
                assert list(team.teammates) == ["ann"]

    assert len(cancel_sweep(scenario)) > 10
