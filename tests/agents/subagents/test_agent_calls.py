"""Results of a call of the tool Agent, and where the cause can be read when something unexpected happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.agents.events import PermissionDenied, ToolBegan
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.tasks import EndReport, TaskBegan
from tests.agents.crews import main_messages, notices, open_crew, structured, told
from tests.agents.pages import agent, in_order, last_texts

BACK: dict[str, Any] = {"run_in_background": True}


# --- what a call returns ---------------------------------------------------------------------------------------------


async def test_the_fields_of_a_result_are_those_that_are_documented(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (1), line 1."""
    pages = {"general-purpose": in_order(Call("Glob", {"pattern": "*"}), "Nothing there.")}
    async with open_crew(tmp_path, in_order(agent("look"), agent("dig", **BACK)), pages=pages) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    completed, launched = structured(crew)
    assert list(completed) == [
        "status",
        "agentId",
        "agentType",
        "content",
        "resolvedModel",
        "modelsUsed",
        "totalToolUseCount",
        "totalDurationMs",
        "totalTokens",
        "usage",
        "toolStats",
        "prompt",
    ]
    assert completed["status"] == "completed"
    assert completed["agentType"] == "general-purpose"
    assert completed["content"] == [{"type": "text", "text": "Nothing there."}]
    assert completed["resolvedModel"] == "playbook"
    assert completed["modelsUsed"] == ["playbook"]
    assert (completed["totalToolUseCount"], completed["totalDurationMs"]) == (1, 2000)
    assert completed["toolStats"]["searchCount"] == 1
    assert 0 < completed["totalTokens"] < completed["usage"]["input_tokens"]
    assert launched == {
        "status": "async_launched",
        "isAsync": True,
        "agentId": launched["agentId"],
        "description": "some work",
        "resolvedModel": "playbook",
        "prompt": "dig",
        "outputFile": str(crew.run_folder / "tasks" / f"{launched['agentId']}.output"),
        "canReadOutputFile": True,
    }


@pytest.mark.parametrize(
    ("tools", "advises"), [(("Agent",), False), (("Agent", "Read"), True), (("Agent", "Bash"), True)]
)
async def test_who_cannot_read_files_gets_no_advice_to(
    tmp_path: Path, autojump_clock: MockClock, tools: tuple[str, ...], *, advises: bool
) -> None:
    """Behaviours (20), line 9. Mechanism: `_can_read` looks at the caller's own tools."""
    main = AgentDefinition(name="main", system_prompt="You lead.", tools=tools)
    async with open_crew(tmp_path, in_order(agent("dig", **BACK)), definition=main) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        launched = main_messages(crew)[2]

    (data,) = structured(crew)
    assert data["canReadOutputFile"] is advises
    assert ("Read" in launched) is advises
    assert data["outputFile"] in launched


# --- finding faults: each question is answered without a debugger (Behaviours (20), line 15) -------------


async def test_why_no_notice_came_is_told_by_the_task(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15: somebody waited for it with TaskOutput, so its end was told already."""

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        if "agentId: " in text:
            return Call("TaskOutput", {"task_id": text.split("agentId: ")[1].split()[0]})
        return in_order(agent("dig", **BACK))(request)

    async with open_crew(tmp_path, main) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        (task,) = crew.tasks.all()

    assert notices(crew) == []
    assert (task.state, task.report is not EndReport.NONE) == ("completed", True)
    assert [event.tool for event in told(crew, ToolBegan)] == ["Agent", "TaskOutput"]


async def test_why_a_message_found_nobody_is_in_its_error(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15."""
    messages = [Call("SendMessage", {"to": to, "message": "hello"}) for to in ("critik", "a" + 16 * "0")]
    calls = in_order(agent("dig", name="critic", **BACK), messages)
    async with open_crew(tmp_path, calls) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        texts = main_messages(crew)[4]

    assert "there is no agent 'critik'; did you mean critic" in texts
    assert f"has no conversation of an agent 'a{16 * '0'}'" in texts, "its transcript is gone"


async def test_why_a_childs_call_was_refused_is_on_record(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15: the `mode` of a call overrides nothing."""
    planner = {"description": "d", "prompt": "p", "permissionMode": "plan"}
    page = in_order(Call("Write", {"file_path": "a.txt", "content": "a"}), "Refused.")
    call = agent("do", subagent_type="planner", mode="bypassPermissions")
    async with open_crew(
        tmp_path, in_order(call), pages={"planner": page}, agents={"planner": planner}, mode="default"
    ) as crew:
        await crew.run("go")
        (task,) = crew.tasks.all()

    (denied,) = told(crew, PermissionDenied)
    assert denied.actor == task.info.id
    assert "plan" in denied.reason


@pytest.mark.parametrize(
    ("setting", "call", "says"),
    [
        ({"fork": "off"}, {"subagent_type": "fork"}, "forks are not available here"),
        ({"fork": "when_type_omitted"}, {}, "Report on"),
        ({"fork": "when_type_omitted", "interactive": True}, {"subagent_type": "general-purpose"}, "Async agent"),
    ],
    ids=["closed", "nobody-watches", "a-type-was-given"],
)
async def test_why_nothing_forked_is_in_the_result_or_the_type_of_the_task(
    tmp_path: Path, autojump_clock: MockClock, setting: dict[str, Any], call: dict[str, Any], says: str
) -> None:
    """Behaviours (20), line 15."""
    async with open_crew(tmp_path, in_order(agent("dig", **call)), delegation=setting) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert says in main_messages(crew)[2]
    assert {event.agent for event in told(crew, TaskBegan)} <= {"general-purpose"}


async def test_why_a_wait_goes_on_is_in_its_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15: the state is that of the task, and it is final before anything is cleaned up."""

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        if "agentId: " in text:
            return Call("TaskOutput", {"task_id": text.split("agentId: ")[1].split()[0], "timeout": 1000})
        return in_order(agent("dig", **BACK))(request)

    pages = {"general-purpose": in_order(*[Call("Glob", {"pattern": "*"})] * 9, "Done.")}
    async with open_crew(tmp_path, main, pages=pages) as crew:
        await crew.run("go")
        (task,) = crew.tasks.all()
        assert (task.state, task.report is not EndReport.NONE) == (
            "running",
            False,
        )  # and not `completed`: it is what it says
        await crew.wait_quiet()

    answer = main_messages(crew)[4]
    assert "<retrieval_status>timeout</retrieval_status>" in answer
    assert "<status>running</status>" in answer
    assert len(notices(crew)) == 1
