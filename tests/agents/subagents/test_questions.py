"""Questions of sub-agents: whom they reach, what an answer is good for, what a refusal leaves, and how waiting is seen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import PermissionQuestion
from greenroom.core.ports import SeededIds
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.permissions import Allow, ApprovalQueue, Deny, Receipt
from greenroom.tasks import TaskEnded
from tests.agents.crews import main_messages, notices, open_crew, told, violations
from tests.agents.pages import Page, agent, answers_in, in_order, last_texts

WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})
ASKS: dict[str, Any] = {"child_permission": "inherit"}


async def test_a_child_in_the_background_asks_with_its_id_and_its_label(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Its question reaches the host, which knows whose it is."""
    asked: list[PermissionQuestion] = []

    async def can_use_tool(question: PermissionQuestion) -> Allow:
        asked.append(question)
        return Allow()

    main = in_order(agent("write", run_in_background=True), "It runs.")
    pages = {"general-purpose": in_order(WRITE, "Written.")}
    async with open_crew(tmp_path, main, pages=pages, mode="default", can_use_tool=can_use_tool, **ASKS) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        (child,) = crew.pool.subagents

    assert [(request.agent, request.label, request.tool) for request in asked] == [(child, "general-purpose", "Write")]
    assert (tmp_path / "project" / "a.txt").read_text() == "a"
    assert violations(crew) == []


@pytest.mark.parametrize("is_background", [False, True])
async def test_waiting_for_permission_is_not_work_of_a_child(
    tmp_path: Path, autojump_clock: MockClock, is_background: bool
) -> None:
    """CL-12: in its result, in its notice and on record. Mechanism: `Progress` counts what it waited."""

    async def can_use_tool(question: PermissionQuestion) -> Allow:
        await trio.sleep(60)
        return Allow()

    main = in_order(agent("write", run_in_background=is_background), "It runs.")
    pages = {"general-purpose": in_order(WRITE, "Written.")}
    async with open_crew(tmp_path, main, pages=pages, mode="default", can_use_tool=can_use_tool, **ASKS) as crew:
        began_s = trio.current_time()
        await crew.run("go")
        await crew.wait_quiet()
        took_ms = round((trio.current_time() - began_s) * 1000)
        said = notices(crew)[0] if is_background else main_messages(crew)[2]

    found = re.search(r"<duration_ms>(\d+)<|duration_ms: (\d+)<", said)
    assert found is not None
    assert took_ms >= 60_000
    assert int(found[1] or found[2]) <= took_ms - 60_000
    (ended,) = told(crew, TaskEnded)
    assert ended.waited_ms == 60_000


async def test_a_refusal_does_not_end_the_child_and_is_told_with_its_result(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-101: the child goes on, and a report that hides the refusal is put right."""

    async def can_use_tool(question: PermissionQuestion) -> Deny:
        return Deny(message="not today")

    def child(request: ModelRequest) -> AnswerLike:
        return [WRITE, WRITE] if len(request.messages) == 1 else "All is done."

    main = in_order([agent("write", run_in_background=True), agent("write")], "It runs.")
    async with open_crew(
        tmp_path, main, pages={"general-purpose": child}, mode="default", can_use_tool=can_use_tool, **ASKS
    ) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    told = "All is done.\n\n[harness: calls of this agent were refused: Write (2 times)]"
    assert "<status>completed</status>" in notices(crew)[0]
    assert told in notices(crew)[0]
    assert told in main_messages(crew)[2]


async def test_nobody_answers_and_the_refusal_comes_at_the_deadline(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-101: no approver answers; the child reads a refusal that says so, and goes on."""
    read: list[str] = []

    def child(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return WRITE if len(request.messages) == 1 else "I could not."

    opening, approvals = _waiting(tmp_path, in_order(agent("write", run_in_background=True), "It runs."), child)
    async with opening as crew:
        began = trio.current_time()
        await crew.run("go")
        await crew.wait_quiet()
        took = trio.current_time() - began
        statistics = approvals.statistics()

    assert statistics.expired == 1
    assert 60 <= took < 80
    assert "nobody answered within 60 s" in read[1]
    assert "I could not." in notices(crew)[0]


def _waiting(folder: Path, main: Page, child: Page) -> tuple[Any, ApprovalQueue]:
    """Open a crew whose questions wait in the queue, for 60 s."""
    approvals = ApprovalQueue(SeededIds(0), deadline_s=60)
    pages = {"general-purpose": child}
    return open_crew(folder, main, pages=pages, mode="default", approvals=approvals, **ASKS), approvals


async def _asked(approvals: ApprovalQueue) -> None:
    while not approvals.waiting():
        await approvals.wait_changed()


async def test_agent_waiting_for_permission_shows_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-102: in its state, in its activity, and to the parent that waits for its end; a late answer changes nothing."""

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return agent("write", run_in_background=True)
        if said == 1:
            task_id = last_texts(request).split("agentId: ")[1].split()[0]
            return Call("TaskOutput", {"task_id": task_id, "block": True, "timeout": 10_000})
        return "Noted."

    opening, approvals = _waiting(tmp_path, main, in_order(WRITE, "Written."))
    async with opening as crew:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crew.run, "go")
            await _asked(approvals)
            (task,) = crew.tasks.all()
            attention = task.attention
            (question,) = approvals.waiting()
            activities = [home.activity for _, home in crew.known.values()]
        assert task.attention == attention
        assert approvals.answer(question.id, Allow()) is Receipt.TAKEN
        await crew.wait_quiet()
        assert approvals.answer(question.id, Deny(message="no")) is Receipt.LATE
        after = task.attention

    assert attention == "it waits for permission: Write"
    assert "waits for permission: Write" in activities
    assert (question.agent, question.label) == (task.info.id, "general-purpose")
    waited = main_messages(crew)[4]
    assert "<retrieval_status>timeout</retrieval_status>" in waited
    assert "<attention>it waits for permission: Write</attention>" in waited
    assert after == ""
    assert (tmp_path / "project" / "a.txt").exists()


async def test_a_forks_question_is_raised_where_its_parents_are(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The mode `bubble`, whatever the parent's edits may do unasked."""
    asked: list[PermissionQuestion] = []

    async def can_use_tool(question: PermissionQuestion) -> Allow:
        asked.append(question)
        return Allow()

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        said = answers_in(request)
        if "fork-boilerplate" in text:
            return WRITE
        if request.definition != "main":
            return "Written."
        return agent("write", subagent_type="fork") if said == 0 else "It runs."

    async with open_crew(
        tmp_path,
        main,
        pages={"fork": main},
        delegation={"fork": "explicit"},
        mode="acceptEdits",
        can_use_tool=can_use_tool,
    ) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        (fork,) = crew.pool.subagents.values()

    assert [(request.agent, request.label, request.tool) for request in asked] == [(fork.id, "fork", "Write")]
    assert (tmp_path / "project" / "a.txt").exists()
