"""What becomes of agents and notices when the process is gone: lost, told once, gone on with by whoever asks."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.session import EVENTS, FOLDS
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of, told_in
from tests.session.teamwork import agent, asked, echo, notices, open_teamwork, violations


@tool(name="Wait", read_only=True)
async def wait() -> str:
    """Wait for ever."""
    await trio.sleep_forever()
    return ""


def works(request: ModelRequest) -> AnswerLike:
    """Say something, and then work for ever."""
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
    said = sum(message.role == "assistant" for message in request.messages)
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


async def test_what_ran_when_the_process_was_gone_is_lost_and_told_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Agents 10.24; RC-41: a true state after the restart, without anything that runs by itself (RC-25)."""
    disk = RecordingDisk()
    launch = agent("long", run_in_background=True, name="helper")
    main = lambda request: launch if len(request.messages) == 1 else "Waiting."  # noqa: E731
    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": works}, tools=(wait,), ports=recording_ports(disk)
    ) as first:
        await first.run("go")
        await trio.sleep(60)
        await first.delegation._wait_durable()
        count = len(disk.writes)
    run = disk.restore(count, first.run_folder, tmp_path / "crashed")
    ((task, number),) = tasks_of(run)

    ran: list[str] = []
    async with open_teamwork(
        tmp_path, noted, pages={"general-purpose": lambda one: ran.append(one.definition) or "x"},
        tools=(wait,), resume=run, ports=virtual_ports(1),
    ) as second:  # fmt: skip
        await second.wait_quiet()
        assert [one.is_finished for one in second.delegation.tasks._tasks.values()] == [True]

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
            assert [one.text for one in check_journal(journal.entries, folds=FOLDS)] == [], count
    assert tried > 30
