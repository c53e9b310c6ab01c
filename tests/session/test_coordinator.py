"""Coordinator mode: what the main agent has and is told, what its workers have, the folder they share, and going on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.agents.delegation import COORDINATOR_PROMPT, COORDINATOR_TOOLS
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import Fork, Session, open_session, read_beginning
from greenroom.testing import virtual_ports
from greenroom.tools import Tool, tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.pages import Page, agent, answers_in, echo, in_order, last_texts
from tests.session.teamwork import main_messages, notices

ON: Mapping[str, Any] = {"delegation": {"coordinator": True}}
MAIN = AgentDefinition(name="main", system_prompt="You do it all yourself.", tools=("Read", "Bash"))


@tool
async def wait() -> str:
    """Wait for long."""
    await trio.sleep(1_000)
    return "waited"


@tool
async def deploy(where: str) -> str:
    """Deploy it.

    Args:
        where: To which machine.
    """
    return f"deployed to {where}"


@asynccontextmanager
async def opened(
    folder: Path,
    main: Page,
    *,
    worker: Page = echo,
    settings: Mapping[str, Any] | None = ON,
    definition: AgentDefinition = MAIN,
    tools: tuple[Tool, ...] = (*STANDARD_TOOLS, *AGENT_TOOLS, deploy, wait),
    **options: Any,
) -> AsyncIterator[Session]:
    """Open a session in coordinator mode."""
    (folder / "project").mkdir(exist_ok=True)
    book = {"main": main, "worker": worker, "general-purpose": worker, "scout": worker}
    async with open_session(
        model=PlaybookModel(book, wait_s=1.0),
        cwd=folder / "project",
        runs=folder / "runs",
        main=definition,
        tools=tools,
        ports=virtual_ports(1 if "resume" in options else 0),
        settings=settings,
        **options,
    ) as session:
        yield session


class Kept:
    """A page that keeps the requests that it is played for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> AnswerLike:
        self.requests.append(request)
        return self.page(request)

    @property
    def tools(self) -> set[str]:
        return {each_tool.name for each_tool in self.requests[0].tools}


# --- the coordinator -------------------------------------------------------------------------------------------------


async def test_a_coordinator_has_three_tools_and_delegates_an_edit(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (8), line 1. Whatever the program, a definition or a skill gives, nothing slips in."""
    skill = tmp_path / "project" / ".greenroom" / "skills" / "look" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: look\ndescription: Look.\n---\nLook.\n")
    main = Kept(in_order(agent("Write a.txt: it holds the word a.", subagent_type="worker"), "It runs."))
    worker = Kept(in_order(Call("Write", {"file_path": "a.txt", "content": "a"}), "Written."))
    async with opened(tmp_path, main, worker=worker, sources=("project",), is_trusted=True) as session:
        answer = await session.run("Edit a.txt.")
        await session.wait_quiet()

    assert answer.text == "It runs."
    assert all({each_tool.name for each_tool in request.tools} == set(COORDINATOR_TOOLS) for request in main.requests)
    assert (tmp_path / "project" / "a.txt").read_text() == "a"
    assert "<result>Written.</result>" in notices(session)[0]
    assert "Skill" in worker.tools


async def test_a_coordinator_has_its_tools_though_the_program_gave_none(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    main = Kept(in_order("Hello."))
    async with opened(tmp_path, main, tools=()) as session:
        await session.run("Hi.")

    assert main.tools == set(COORDINATOR_TOOLS)


async def test_the_coordinators_prompt_takes_the_place_of_the_definitions(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is told what workers have, and where their folder is."""
    main = Kept(in_order("Hello."))
    settings = {**ON, "permissions": {"deny": ["WebFetch", "Glob"]}}
    async with opened(tmp_path, main, settings=settings) as session:
        await session.run("Hi.")

    said = main.requests[0].system
    assert said.startswith(COORDINATOR_PROMPT.strip())
    assert MAIN.system_prompt not in said
    listed = said.split("Their tools: ")[1].splitlines()[0].split(", ")
    assert {"Read", "Bash", "Edit", "Write", "Deploy", "Agent"} <= set(listed)
    assert not {"Glob", "SendMessage", "AskUserQuestion", "TaskOutput"} & set(listed)
    assert f"Scratchpad: {session.run_folder / 'scratchpad'}" in said


async def test_what_a_coordinator_is_told_is_what_a_worker_has(tmp_path: Path, autojump_clock: MockClock) -> None:
    main, worker = Kept(in_order(agent("look"), "It runs.")), Kept(echo)
    async with opened(tmp_path, main, worker=worker) as session:
        await session.run("Go.")
        await session.wait_quiet()

    listed = main.requests[0].system.split("Their tools: ")[1].splitlines()[0].split(", ")
    assert set(listed) == worker.tools


async def test_a_text_of_the_settings_goes_before_the_built_in_one(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Override, coordinator, agent."""
    main = Kept(in_order("Hello."))
    settings = {"delegation": {"coordinator": True, "coordinator_prompt": "You lead the harvest."}}
    async with opened(tmp_path, main, settings=settings) as session:
        await session.run("Hi.")

    assert main.requests[0].system.startswith("You lead the harvest.\n\n# Your workers")


# --- workers ---------------------------------------------------------------------------------------------------------


async def test_workers_run_in_the_background_with_their_own_model_whatever_the_call_says(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (8), line 2."""
    calls = [agent("a", subagent_type="worker", run_in_background=False, model="opus"), agent("b", name="second")]
    main, worker = Kept(in_order(calls, "They run.")), Kept(echo)
    async with opened(tmp_path, main, worker=worker) as session:
        await session.run("Go.")
        launched = main_messages(session)[2]
        await session.wait_quiet()

    assert launched.count("Async agent launched successfully") == 2
    assert {request.model for request in worker.requests} == {""}
    assert len(notices(session)) == 2
    assert (
        "model"
        not in next(each_tool for each_tool in main.requests[0].tools if each_tool.name == "Agent").input_schema[
            "properties"
        ]
    )


@pytest.mark.parametrize("fork", ["off", "when_type_omitted", "explicit"])
async def test_a_call_without_a_type_means_a_worker_and_never_a_fork(
    fork: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (8), line 3."""
    main = in_order([agent("look"), agent("look", subagent_type="fork")], "It runs.")
    worker = Kept(echo)
    settings = {"delegation": {"coordinator": True, "fork": fork, "interactive": True}}
    async with opened(tmp_path, main, worker=worker, settings=settings) as session:
        await session.run("Go.")
        await session.wait_quiet()

    assert [request.definition for request in worker.requests] == ["worker"]
    assert "forks are not available here" in main_messages(session)[2]


async def test_a_worker_can_neither_mail_nor_spawn_teammates(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (8), line 4."""
    calls = [Call("SendMessage", {"to": "main", "message": "hi"}), agent("join", name="mate", team_name="crew")]
    worker = Kept(in_order(calls, otherwise="Done."))
    async with opened(tmp_path, in_order(agent("try it"), "It runs."), worker=worker) as session:
        await session.run("Go.")
        await session.wait_quiet()

    assert "SendMessage" not in worker.tools
    assert not {"TaskCreate", "TeamCreate", "AskUserQuestion"} & worker.tools
    tried = next(request for request in worker.requests if len(request.messages) == 3)
    assert "unknown tool 'SendMessage'" in last_texts(tried).replace('"', "'")
    assert [request.definition for request in worker.requests if len(request.messages) == 1] == ["worker", "worker"]


async def test_simple_workers_have_three_tools(tmp_path: Path, autojump_clock: MockClock) -> None:
    main, worker = Kept(in_order(agent("look"), "It runs.")), Kept(echo)
    settings = {"delegation": {"coordinator": True, "simple_workers": True}}
    async with opened(tmp_path, main, worker=worker, settings=settings) as session:
        await session.run("Go.")
        await session.wait_quiet()

    assert worker.tools == {"Bash", "Read", "Edit"}
    assert set(main.requests[0].system.split("Their tools: ")[1].splitlines()[0].split(", ")) == worker.tools


async def test_a_stopped_worker_goes_on_as_the_same_agent_with_all_it_knew(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (8), line 7; the message's origin is `coordinator`."""

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        texts = "\n".join(str(message) for message in request.messages)
        worker_id = texts.split("agentId: ")[1].split()[0].split("\\n")[0] if "agentId: " in texts else ""
        steps: list[AnswerLike] = [
            agent("Wait for long.", name="one"),
            Call("TaskStop", {"task_id": worker_id}),
            Call("SendMessage", {"to": worker_id, "message": "Do it the other way."}),
        ]
        return steps[said] if said < len(steps) else "Noted."

    def worker(request: ModelRequest) -> AnswerLike:
        if len(request.messages) == 1:
            return Call("Wait")
        return f"I was told {request.messages[0].text} and then {last_texts(request)}"

    async with opened(tmp_path, main, worker=worker, permission_mode="bypassPermissions") as session:
        await session.run("Go.")
        await session.wait_quiet()
        (worker_id,) = session.agents.pool.subagents
        transcript = session.run_folder / "transcripts" / f"agent-{worker_id}.jsonl"

    last = notices(session)[-1]
    assert f"<task-id>{worker_id}</task-id>" in last
    assert "I was told Wait for long. and then" in last
    assert "Do it the other way." in last
    told = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [entry["origin"] for entry in told if "other way" in str(entry.get("message")) and "origin" in entry][
        :1
    ] == [{"kind": "coordinator"}]


# --- the folder that workers share -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
async def test_workers_write_in_the_scratchpad_unasked_and_elsewhere_rules_hold(
    mode: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (8), line 6."""
    asked: list[str] = []
    found: list[str] = []

    async def can_use_tool(question: Any) -> None:
        asked.append(f"{question.tool} {question.input.get('file_path') or question.input.get('command')}")

    def main(request: ModelRequest) -> AnswerLike:
        return agent("find") if len(request.messages) == 1 else "It runs."

    def worker(request: ModelRequest) -> AnswerLike:
        folder = request.system.split("Scratchpad: ")[1].splitlines()[0]
        calls = [
            Call("Write", {"file_path": f"{folder}/found.md", "content": "it is in b.py"}),
            Call("Edit", {"file_path": f"{folder}/found.md", "old_string": "b.py", "new_string": "c.py"}),
            Call("Read", {"file_path": f"{folder}/found.md"}),
            Call("Bash", {"command": f"echo more >> {folder}/found.md"}),
            Call("Write", {"file_path": "elsewhere.md", "content": "x"}),
            Call("Write", {"file_path": f"{folder}/../journal.jsonl", "content": "x"}),
        ]
        said = answers_in(request)
        found.append(last_texts(request))
        return calls[said] if said < len(calls) else "Done."

    settings = {**ON, "child_permission": "inherit"}
    async with opened(
        tmp_path, main, worker=worker, settings=settings, permission_mode=mode, can_use_tool=can_use_tool
    ) as session:
        await session.run("Go.")
        await session.wait_quiet()

    pad = session.run_folder / "scratchpad"
    assert (pad / "found.md").read_text().rstrip().endswith("more")
    assert "it is in c.py" in found[3]
    assert not (tmp_path / "project" / "elsewhere.md").exists()
    assert [request for request in asked if "scratchpad/found" in request] == []
    assert len(asked) == (2 if mode == "default" else 0)


async def test_the_scratchpad_can_be_switched_off(tmp_path: Path, autojump_clock: MockClock) -> None:
    main, worker = Kept(in_order(agent("look"), "It runs.")), Kept(echo)
    settings = {"delegation": {"coordinator": True, "scratchpad": False}}
    async with opened(tmp_path, main, worker=worker, settings=settings) as session:
        await session.run("Go.")
        await session.wait_quiet()

    assert "Scratchpad" not in main.requests[0].system + worker.requests[0].system
    assert not (session.run_folder / "scratchpad").exists()


async def test_without_the_mode_there_are_neither_workers_nor_a_scratchpad(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    main = Kept(in_order([agent("look"), agent("look", subagent_type="worker")], "Done."))
    async with opened(tmp_path, main, settings=None, definition=attrs.evolve(MAIN, tools=None)) as session:
        await session.run("Go.")

    assert main.requests[0].system == MAIN.system_prompt
    assert "no agent is called 'worker'" in main_messages(session)[2]
    assert not (session.run_folder / "scratchpad").exists()
    assert read_beginning(session.run_folder).mode == "normal"


# --- the mode --------------------------------------------------------------------------------------------------------


async def test_a_resumed_coordinator_is_one_again_and_people_are_told(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behaviours (8), line 5; a worker of the earlier process is a worker again."""
    monkeypatch.setenv("GREENROOM_COORDINATOR_MODE", "true")
    async with opened(tmp_path, in_order(agent("look"), "It runs."), settings=None) as session:
        await session.run("Go.")
        await session.wait_quiet()
        (worker_id,) = session.agents.pool.subagents
    assert read_beginning(session.run_folder).mode == "coordinator"
    assert not any("coordinator" in problem for problem in session.problems)

    monkeypatch.delenv("GREENROOM_COORDINATOR_MODE")
    page = in_order(Call("SendMessage", {"to": worker_id, "message": "and now?"}), otherwise="Noted.")
    rounds = 0

    def again(request: ModelRequest) -> AnswerLike:
        nonlocal rounds
        rounds += 1
        return page(ModelRequest(messages=request.messages[:1])) if rounds == 1 else "Noted."

    main, worker = Kept(again), Kept(echo)
    async with opened(tmp_path, main, worker=worker, settings=None, resume="last") as session:
        (warning,) = [problem for problem in session.problems if "coordinator" in problem]
        await session.run("Go on.")
        await session.wait_quiet()

    assert session.run_folder.name in warning
    assert main.tools == set(COORDINATOR_TOOLS)
    assert main.requests[0].system.startswith(COORDINATOR_PROMPT.strip())
    assert "SendMessage" not in worker.tools
    assert "Scratchpad: " in worker.requests[0].system
    assert len(worker.requests[0].messages) == 3
    assert read_beginning(session.run_folder).mode == "coordinator"


async def test_a_fork_of_a_run_keeps_its_mode_and_a_normal_run_stays_normal(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, in_order("Hello."), settings=None) as first:
        await first.run("Hi.")
    main = Kept(in_order("Hello."))
    async with opened(tmp_path, main, resume=Fork(first.run_folder)) as session:
        assert any("without coordinator mode" in problem for problem in session.problems)
        await session.run("Hi again.")

    assert "Bash" in main.tools


async def test_a_run_that_says_no_mode_takes_what_the_settings_say(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Journals of earlier versions say nothing."""
    async with opened(tmp_path, in_order("Hello."), settings=None) as first:
        await first.run("Hi.")
    journal = first.run_folder / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"mode":"normal"', '"mode":""'))
    main = Kept(in_order("Hello."))
    async with opened(tmp_path, main, resume=first.run_folder) as session:
        await session.run("Hi again.")

    assert main.tools == set(COORDINATOR_TOOLS)
    assert not any("coordinator" in problem for problem in session.problems)
