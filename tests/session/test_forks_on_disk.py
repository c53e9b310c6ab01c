"""Forks that are resumed in another process: what they share stands in their parent's transcript alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition, load_conversation
from greenroom.agents.subagents import FORK
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest, Say, ToolResultBlock
from greenroom.session import Session
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from tests.agents.pages import Page, agent, last_texts
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of
from tests.session.teamwork import notices, open_teamwork, violations
from tests.worktrees.repositories import NEEDS_GIT, make_repository

LONG: Final = "The parent knows a lot. " * 200
SETTINGS: Final = {"delegation": {"fork": "explicit"}}


@tool(name="Wait", read_only=True)
async def wait() -> str:
    """Wait forever."""
    await trio.sleep_forever()
    return ""


def leads() -> Page:
    """Return a page of main's: what it is told decides, so that a compaction changes nothing."""

    def page(request: ModelRequest) -> AnswerLike:
        told = last_texts(request)
        if "Fork now." in told:
            return [agent("left", subagent_type="fork"), agent("right", subagent_type="fork")]
        if "Go on with " in told:
            return Call("SendMessage", {"to": told.partition("Go on with ")[2][:17], "message": "And now?"})
        if "your task is to" in told.lower():
            return "<summary>All of it, in short.</summary>"
        return LONG if "Tell." in told else "Noted."

    return page


def remembering(requests: list[ModelRequest]) -> Page:
    """Return a page of the forks' that keeps what they are asked: they look once, and report."""

    def fork(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        told = request.messages[-1].content[-1]
        if isinstance(told, ToolResultBlock):
            return "I looked."
        return "I went on." if "And now?" in last_texts(request) else Call("Glob", {"pattern": "*"})

    return fork


def forks_of(run: Path) -> list[Path]:
    """Return the transcripts of the forks, in the order in which they were started."""
    return sorted(
        (run / "transcripts").glob("agent-*.jsonl"),
        key=lambda path: next(iter(read_transcript(path))).get("timestamp", ""),
    )


async def forked(folder: Path, requests: list[ModelRequest], **options: Any) -> Session:
    """Return a session that has ended, whose main agent has forked twice."""
    async with open_teamwork(
        folder, leads(), pages={FORK: remembering(requests)}, settings=SETTINGS, **options
    ) as session:
        for _ in range(5):
            await session.run("Tell.")
        await session.run("Fork now.")
        await session.wait_quiet()
    return session


@pytest.mark.parametrize("compacts", [False, True])
async def test_a_fork_goes_on_in_another_process_with_the_bytes_that_it_sent_before(
    compacts: bool, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-33: also when its parent has said more since, and has been compacted."""
    requests: list[ModelRequest] = []
    first = await forked(tmp_path, requests)
    paths = forks_of(first.run_folder)
    assert [path.read_text().count(LONG) for path in paths] == [0, 0], "nothing of the parent's is written again"
    agent_id = paths[0].stem.removeprefix("agent-")
    before = [request for request in requests if request.agent == agent_id][-1]
    assert sum(LONG in message.text for message in before.messages) == 5

    pages = {FORK: remembering(requests)}
    resumed: dict[str, Any] = {"settings": SETTINGS, "pages": pages, "resume": first.run_folder}
    async with open_teamwork(tmp_path, leads(), ports=virtual_ports(1), **resumed) as second:
        await second.run("Tell.")
        if compacts:
            await second.compact()
        await second.run("Tell.")
    async with open_teamwork(tmp_path, leads(), ports=virtual_ports(2), **resumed) as third:
        await third.run(f"Go on with {agent_id}")
        await third.wait_quiet()

    after = requests[-1]
    assert after.agent == agent_id
    assert after.messages[: len(before.messages)] == before.messages
    assert [message.role for message in after.messages[len(before.messages) :]] == ["assistant", "user"]
    assert (after.system, after.tools, after.model) == (before.system, before.tools, before.model)
    assert [view.agent for key, view in tasks_of(first.run_folder).items() if key[0] == agent_id] == [FORK, FORK]
    assert len(list(read_transcript(paths[0]))) == 8
    assert violations(third) == []


async def test_whenever_the_process_is_killed_what_a_fork_points_to_is_there(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-33: the parent's lines are written first, at every byte at which a crash may come."""
    requests: list[ModelRequest] = []
    disk = RecordingDisk()
    run = (await forked(tmp_path, requests, ports=recording_ports(disk))).run_folder
    whole = {path.name: load_conversation(path).messages for path in forks_of(run)}
    found = 0
    for count in range(len(disk.writes)):
        left = disk.restore(count, run, tmp_path / "crashed")
        for path in left.glob("transcripts/agent-*.jsonl"):
            if next(iter(read_transcript(path)), None) is None:  # its first line is torn
                continue
            messages = load_conversation(path).messages
            shared = next(place for place, one in enumerate(messages) if one.tool_uses) + 1
            assert messages[:shared] == whole[path.name][:shared]
            found += 1
    assert found > 10


async def test_a_fork_whose_parents_transcript_is_gone_is_refused_in_one_line(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-33: no agent without its beginning is made."""
    first = await forked(tmp_path, [])
    path = forks_of(first.run_folder)[0]
    pointer = next(iter(read_transcript(path)))
    main = first.run_folder / "transcripts/main.jsonl"
    lines = main.read_bytes().splitlines(keepends=True)
    main.write_bytes(b"".join(line for line in lines if orjson.loads(line).get("uuid") != pointer["parentLastUuid"]))
    agent_id = path.stem.removeprefix("agent-")

    requests: list[ModelRequest] = []
    pages = {FORK: remembering(requests)}
    async with open_teamwork(
        tmp_path, leads(), pages=pages, settings=SETTINGS, resume=first.run_folder, ports=virtual_ports(1)
    ) as second:
        with pytest.raises(UsageError, match=r"main\.jsonl") as caught:
            await second.agents.resume(agent_id, definition=AgentDefinition(name=FORK, system_prompt=""))
        await second.run(f"Go on with {agent_id}")
        await second.wait_quiet()
        assert agent_id not in second.agents.pool.subagents

    assert "\n" not in str(caught.value)
    assert requests == []
    assert any("nothing was sent" in line and "main.jsonl" in line for line in main.read_text().splitlines())


async def test_the_text_of_a_fork_that_was_lost_is_not_its_parents(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A notice tells what an agent had said last; what its parent had said is none of it."""
    disk = RecordingDisk()

    def main(request: ModelRequest) -> AnswerLike:
        says: list[Say | Call] = [Say("The parent's words."), agent("dig", subagent_type="fork")]
        return says if len(request.messages) == 1 else "Waiting."

    def works(_: ModelRequest) -> AnswerLike:
        return Call("Wait", {})

    options: dict[str, Any] = {"settings": SETTINGS, "pages": {FORK: works}, "tools": (wait,)}
    async with open_teamwork(tmp_path, main, ports=recording_ports(disk), **options) as first:
        await first.run("go")
        await trio.sleep(60)
        count = len(disk.writes)
    run = disk.restore(count, first.run_folder, tmp_path / "crashed")
    async with open_teamwork(tmp_path, main, resume=run, ports=virtual_ports(1), **options) as second:
        await second.wait_quiet()

    (notice,) = notices(second)
    assert "the process that ran it ended" in notice
    assert "The parent's words." not in notice


async def test_a_fork_of_a_child_goes_on_as_what_its_parent_was(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-32, CL-33: system prompt, tools and model are its parent's, also when that one is not in memory."""
    requests: list[ModelRequest] = []
    agents = {"scout": {"description": "Looks.", "prompt": "You scout.", "tools": ["Glob", "Agent"]}}

    def main(request: ModelRequest) -> AnswerLike:
        told = last_texts(request)
        if "Go on with " in told:
            return Call("SendMessage", {"to": told.partition("Go on with ")[2][:17], "message": "And now?"})
        return agent("scout it", subagent_type="scout") if told == "go" else "Noted."

    def scout(request: ModelRequest) -> AnswerLike:
        return agent("dig", subagent_type="fork") if len(request.messages) == 1 else "It is scouted."

    options: dict[str, Any] = {
        "settings": SETTINGS,
        "agents": agents,
        "pages": {"scout": scout, FORK: remembering(requests)},
    }
    async with open_teamwork(tmp_path, main, **options) as first:
        await first.run("go")
        await first.wait_quiet()
    before = requests[-1]
    async with open_teamwork(tmp_path, main, resume=first.run_folder, ports=virtual_ports(1), **options) as second:
        await second.run(f"Go on with {before.agent}")
        await second.wait_quiet()

    after = requests[-1]
    assert after.agent == before.agent
    assert after.messages[: len(before.messages)] == before.messages
    assert [each_tool.name for each_tool in after.tools] == [each_tool.name for each_tool in before.tools]
    assert (after.system, after.tools, after.model) == (before.system, before.tools, before.model)


@NEEDS_GIT
async def test_a_fork_in_a_worktree_goes_on_there(
    tmp_path: Path,
) -> None:  # commands are real: no clock leaps ahead of them
    """After a restart it works in its own checkout, and not in its parent's folder."""
    make_repository(tmp_path / "project")
    where = Call("Bash", {"command": "pwd; echo more >> kept.txt; cat kept.txt", "description": "look"})
    heard: list[str] = []

    def main(request: ModelRequest) -> AnswerLike:
        told = last_texts(request)
        if "Go on with " in told:
            return Call("SendMessage", {"to": told.partition("Go on with ")[2][:17], "message": "And now?"})
        return agent("dig", subagent_type="fork", isolation="worktree") if told == "go" else "Noted."

    def fork(request: ModelRequest) -> AnswerLike:
        told = request.messages[-1].content[-1]
        if isinstance(told, ToolResultBlock):
            heard.append(told.content)
            return "I looked."
        return where

    options: dict[str, Any] = {"settings": SETTINGS, "pages": {FORK: fork}}
    async with open_teamwork(tmp_path, main, **options) as first:
        await first.run("go")
        await first.wait_quiet()
        (agent_id,) = first.agents.pool.subagents
    async with open_teamwork(tmp_path, main, resume=first.run_folder, ports=virtual_ports(1), **options) as second:
        await second.run(f"Go on with {agent_id}")
        await second.wait_quiet()

    before, after = (text.split() for text in heard)
    assert "worktrees" in before[0]
    assert after[0] == before[0]
    assert (before[1:], after[1:]) == (["more"], ["more", "more"])
