"""Agents and notices after the process is gone: lost, told once, resumed on request."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.core import TurnKilled
from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.session import EVENTS, FOLDS
from greenroom.testing import virtual_ports
from greenroom.tools import ToolError, tool
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.agents.pages import Page, agent, answers_in, asked, echo, in_order
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of, told_in
from tests.session.teamwork import main_messages, notices, open_teamwork, violations


@tool(name="Wait", read_only=True)
async def wait() -> str:
    """Wait forever."""
    await trio.sleep_forever()
    return ""


def works(request: ModelRequest) -> AnswerLike:
    """Say something, and then work forever."""
    return Call("Wait", {}) if len(request.messages) > 2 else [Say("I have begun."), Call("Glob", {"pattern": "*"})]


def slowly(request: ModelRequest) -> AnswerLike:
    """Report what was asked; the second one takes its time."""
    is_slow = asked(request) == "second" and len(request.messages) < 6
    return Call("Glob", {"pattern": "*"}) if is_slow else echo(request)


def noted(_: ModelRequest) -> AnswerLike:
    return "Noted."


def ids_of(text: str) -> list[str]:
    return [part.split()[0] for part in text.split("agentId: ")[1:]]


def story(request: ModelRequest) -> AnswerLike:
    """One of each: a child that is waited for, one whose end is asked for, one that is told of, one that goes on."""
    told = "\n".join(
        getattr(block, "content", "")
        for message in request.messages
        for block in message.content
        if message.role == "user"
    )
    said = answers_in(request)
    match said:
        case 0:
            return [agent("first"), agent("second", run_in_background=True)]
        case 1:
            return Call("TaskOutput", {"task_id": ids_of(told)[-1]})
        case 2:
            return agent("third", run_in_background=True, name="third")
        case 4:
            return [
                agent("fourth", run_in_background=True),
                Call("SendMessage", {"to": "third", "message": "and more"}),
            ]
    return "Noted."


async def crashed(folder: Path, call: Call, *, agents: Mapping[str, Any] | None = None) -> Path:
    """Return the run folder of a session whose main agent started one that works forever, as a crash leaves it."""
    disk = RecordingDisk()

    def main(request: ModelRequest) -> AnswerLike:
        return call if len(request.messages) == 1 else "Waiting."

    pages = dict.fromkeys(("general-purpose", "Explore", *(agents or {})), works)
    options: Any = {"settings": {"limits": {"repeated_calls_end": 0}}, "ports": recording_ports(disk)}
    async with (  # searchers do not have the tool: their calls fail, and are not to end them
        open_teamwork(folder, main, pages=pages, tools=(wait,), agents=agents, **options) as session,
        trio.open_nursery() as nursery,
    ):

        async def run() -> None:
            with pytest.raises(TurnKilled) if not call.input.get("run_in_background") else nullcontext():
                await session.run("go")

        nursery.start_soon(run)
        await trio.sleep(60)
        count = len(disk.writes)
        session.kill()
    return disk.restore(count, session.run_folder, folder / "crashed")


async def test_what_ran_when_the_process_was_gone_is_lost_and_told_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-35; RC-41: a true state after the restart, without anything that runs by itself (RC-25)."""
    run = await crashed(tmp_path, agent("long", run_in_background=True, name="helper"))
    ((task, number),) = tasks_of(run)

    ran: list[str] = []

    def runs_again(request: ModelRequest) -> AnswerLike:
        ran.append(request.definition)
        return "x"

    async with open_teamwork(
        tmp_path, noted, pages={"general-purpose": runs_again}, tools=(wait,), resume=run, ports=virtual_ports(1)
    ) as second:
        await second.wait_quiet()

    (view,) = tasks_of(run).values()
    assert (view.state, view.cause) == ("failed", "lost")
    (notice,) = notices(second)
    assert f"<task-id>{task}</task-id>" in notice
    assert "<status>failed</status>" in notice
    assert "<result>I have begun.</result>" in notice
    assert "was lost" in notice
    assert f"a message to {task} goes on with it" in notice
    assert told_in(run) == {f"{task}.{number}": 1}
    assert ran == []
    assert violations(second) == []


async def test_every_end_is_told_once_wherever_the_crash_was(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-24, RC-20: at every line that was written; then once more, after a second restart."""
    disk = RecordingDisk()
    pages = {"general-purpose": slowly}
    async with open_teamwork(tmp_path, story, pages=pages, ports=recording_ports(disk)) as first:
        await first.run("go")
        await first.wait_quiet()
        await first.run("more")
        await first.wait_quiet()
    assert set(told_in(first.run_folder).values()) == {1}
    assert len(tasks_of(first.run_folder)) == len(told_in(first.run_folder)) == 5

    tried = 0
    for count in range(1, len(disk.writes) + 1):
        path, line, _ = disk.writes[count - 1]
        if path.name == JOURNAL and b'"task.' not in line:  # what else is on record changes nothing here
            continue
        run = disk.restore(count, first.run_folder, tmp_path / "crashed")
        if not (run / "transcripts/main.jsonl").is_file():
            continue
        tried += 1
        for seed in (1, 2):
            async with open_teamwork(tmp_path, noted, resume=run, ports=virtual_ports(seed)) as again:
                await again.wait_quiet()
            views = tasks_of(run)
            assert all(view.has_ended for view in views.values()), count
            assert told_in(run) == {f"{task}.{number}": 1 for task, number in views}, count
            journal = read_journal(run / JOURNAL, EVENTS)
            assert [finding.text for finding in check_journal(journal.entries, folds=FOLDS)] == [], count
    assert tried > 30


SCOUT: dict[str, Any] = {"scout": {"description": "Looks.", "prompt": "You look.", "tools": ["Glob", "Wait"]}}


def sends(*calls: Call) -> Page:
    """Return a page that makes one call after the other, from the first notice on."""

    def page(request: ModelRequest) -> AnswerLike:
        start = next(place for place, one in enumerate(request.messages) if "<task-notification>" in one.text)
        said = sum(message.role == "assistant" for message in request.messages[start:])
        return calls[said] if said < len(calls) else "Noted."

    return page


async def test_a_lost_agent_goes_on_as_it_was_when_it_is_told_something(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-32, RC-87, RC-41; Behaviours (6), line 5: by its id, and here by its name too."""
    (tmp_path / "project/deep").mkdir(parents=True)
    call = agent("long", subagent_type="scout", model="opus", cwd="deep", name="helper", run_in_background=True)
    run = await crashed(tmp_path, call, agents=SCOUT)
    ((task, _),) = tasks_of(run)
    transcript = run / f"transcripts/agent-{task}.jsonl"
    before = load_conversation(transcript).messages
    requests: list[ModelRequest] = []

    def scout(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        return Call("Glob", {"pattern": "*"}) if len(requests) == 1 else "I went on."

    main = sends(Call("SendMessage", {"to": "helper", "message": "Go on."}))
    async with open_teamwork(
        tmp_path, main, pages={"scout": scout}, tools=(wait,), agents=SCOUT, resume=run, ports=virtual_ports(1)
    ) as session:
        await session.wait_quiet()
        member = session.agents.pool.subagents[task]

    assert requests[0].messages[: len(before)] == before
    assert "Go on." in requests[0].messages[-1].text
    assert requests[0].model == member.home.profile.model != ""
    assert "opus" in member.home.profile.model
    assert [each_tool.name for each_tool in requests[0].tools] == ["Glob", "Wait"]
    assert (member.lineage.depth, member.label, member.home.cwd) == (1, "helper", tmp_path / "project/deep")
    assert {key: view.state.value for key, view in tasks_of(run).items()} == {
        (task, 1): "failed",
        (task, 2): "completed",
    }
    assert told_in(run) == {f"{task}.1": 1, f"{task}.2": 1}
    assert "<result>I went on.</result>" in notices(session)[1]
    assert faults_of(load_conversation(transcript).messages) == []
    assert violations(session) == []


async def test_one_at_a_time_goes_on_with_an_agent(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await crashed(tmp_path, agent("long", run_in_background=True))
    ((task, _),) = tasks_of(run)
    async with open_teamwork(tmp_path, noted, resume=run, tools=(wait,), ports=virtual_ports(1)) as session:
        refused: list[str] = []

        async def send(text: str) -> None:
            try:
                await session.agents.post.send(task, text, sender=session.main.id)
            except ToolError as error:
                refused.append(str(error))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, "one")
            nursery.start_soon(send, "two")
        await session.wait_quiet()

    (text,) = refused
    assert "already resuming" in text
    assert [number for _, number in tasks_of(run)] == [1, 2]
    assert violations(session) == []


@pytest.mark.parametrize(
    ("kind", "missing", "reason"),
    [
        ("Explore", (), "cannot be continued"),
        ("general-purpose", ("agent-{}.jsonl",), "no conversation of an agent"),
        ("general-purpose", ("agent-{}.meta.json",), "nothing says what kind of agent"),
    ],
)
async def test_what_cannot_go_on_is_refused_and_leaves_nothing(
    kind: str, missing: tuple[str, ...], reason: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """No empty agent is made; the searchers are one-shot, and no notice invites to go on with them."""
    run = await crashed(tmp_path, agent("long", subagent_type=kind, run_in_background=True))
    ((task, _),) = tasks_of(run)
    for name in missing:
        (run / "transcripts" / name.format(task)).unlink()
    files = {path.name for path in (run / "transcripts").iterdir()}
    main = sends(Call("SendMessage", {"to": task, "message": "Go on."}))
    async with open_teamwork(tmp_path, main, resume=run, tools=(wait,), ports=virtual_ports(1)) as session:
        await session.wait_quiet()
        assert task not in session.agents.pool.subagents or kind == "Explore"

    (notice,) = notices(session)
    assert ("goes on with it" in notice) == (missing == ("agent-{}.meta.json",))
    assert reason in main_messages(session)[-2]
    assert list(tasks_of(run)) == [(task, 1)]
    assert {path.name for path in (run / "transcripts").iterdir()} == files


async def test_what_a_person_stopped_stays_stopped_for_models(tmp_path: Path, autojump_clock: MockClock) -> None:
    """After a restart too; the person goes on with it."""
    launch = agent("long", run_in_background=True)
    async with open_teamwork(tmp_path, in_order(launch), pages={"general-purpose": works}, tools=(wait,)) as first:
        await first.run("go")
        await trio.sleep(60)
        (task,) = first.tasks.kill_all("enough")
        await first.wait_quiet()
    main = in_order(launch, "Noted.", "Noted.", Call("SendMessage", {"to": task, "message": "Go on."}))
    async with open_teamwork(tmp_path, main, resume=first.run_folder, tools=(wait,), ports=virtual_ports(1)) as second:
        await second.run("go on with it")
        assert "stopped by the user" in main_messages(second)[-2]
        await second.agents.post.resume(task, "Go on.", by_user=True)
        await second.wait_quiet()

    assert [(number, view.state.value) for (_, number), view in tasks_of(first.run_folder).items()] == [
        (1, "killed"),
        (2, "completed"),
    ]
