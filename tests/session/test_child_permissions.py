"""Questions of sub-agents: whom they reach, what an answer is good for, what a refusal leaves, and how waiting is seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import PermissionQuestion
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.permissions import Allow, Deny, Receipt, Scope, Update
from greenroom.session import Session, open_session
from greenroom.tasks import TaskEnded
from greenroom.testing import virtual_ports
from tests.agents.pages import agent, in_order, last_texts
from tests.session.teamwork import main_messages, notices, open_teamwork, told, violations

WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})
ASKS = {"child_permission": "inherit"}


async def _allow(question: PermissionQuestion) -> Allow | Deny | None:
    return Allow()


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
    async with open_teamwork(
        tmp_path, main, pages=pages, settings=ASKS, mode="default", can_use_tool=can_use_tool
    ) as session:
        await session.run("go")
        await session.wait_quiet()
        (child,) = session.agents.pool.subagents

    assert [(request.agent, request.label, request.tool) for request in asked] == [(child, "general-purpose", "Write")]
    assert (tmp_path / "project" / "a.txt").read_text() == "a"
    assert violations(session) == []


@pytest.mark.parametrize("is_background", [False, True])
async def test_what_a_child_waits_for_a_permission_is_no_work_of_its(
    tmp_path: Path, autojump_clock: MockClock, is_background: bool
) -> None:
    """CL-12: in its result, in its notice and on record. Mechanism: `Progress` counts what it waited."""

    async def can_use_tool(question: PermissionQuestion) -> Allow:
        await trio.sleep(60)
        return Allow()

    main = in_order(agent("write", run_in_background=is_background), "It runs.")
    pages = {"general-purpose": in_order(WRITE, "Written.")}
    async with open_teamwork(
        tmp_path, main, pages=pages, settings=ASKS, mode="default", can_use_tool=can_use_tool
    ) as session:
        began_s = trio.current_time()
        await session.run("go")
        await session.wait_quiet()
        took_ms = round((trio.current_time() - began_s) * 1000)
        said = notices(session)[0] if is_background else main_messages(session)[2]

    found = re.search(r"<duration_ms>(\d+)<|duration_ms: (\d+)<", said)
    assert found is not None
    assert took_ms >= 60_000
    assert int(found[1] or found[2]) <= took_ms - 60_000
    (ended,) = told(session, TaskEnded)
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
    async with open_teamwork(
        tmp_path, main, pages={"general-purpose": child}, settings=ASKS, mode="default", can_use_tool=can_use_tool
    ) as session:
        await session.run("go")
        await session.wait_quiet()

    told = "All is done.\n\n[harness: calls of this agent were refused: Write (2 times)]"
    assert "<status>completed</status>" in notices(session)[0]
    assert told in notices(session)[0]
    assert told in main_messages(session)[2]


async def test_nobody_answers_and_the_refusal_comes_at_the_deadline(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-101: no approver answers; the child reads a refusal that says so, and goes on."""
    read: list[str] = []

    def child(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return WRITE if len(request.messages) == 1 else "I could not."

    async with _waiting(tmp_path, in_order(agent("write", run_in_background=True), "It runs."), child) as session:
        began = trio.current_time()
        await session.run("go")
        await session.wait_quiet()
        took = trio.current_time() - began
        statistics = session.permissions.approvals.statistics()

    assert statistics.expired == 1
    assert 60 <= took < 80
    assert "nobody answered within 60 s" in read[1]
    assert "I could not." in notices(session)[0]


def _waiting(folder: Path, main: Callable[[ModelRequest], AnswerLike], child: Any, **options: Any) -> Any:
    """Open a session whose questions wait in the queue, for 60 s."""
    from greenroom.agents import AgentDefinition
    from greenroom.agents.subagents import AGENT_TOOLS
    from greenroom.tools.builtin import STANDARD_TOOLS

    (folder / "project").mkdir(exist_ok=True)
    settings = {**ASKS, "approval_deadline_s": 60, **options.pop("settings", {})}
    book = {"main": main, "general-purpose": child, "fork": child}
    return open_session(
        model=PlaybookModel(book, wait_s=1.0),
        cwd=folder / "project",
        runs=folder / "runs",
        main=AgentDefinition(name="main"),
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
        ports=virtual_ports(),
        settings=settings,
        has_approver=True,
        permission_mode="default",
        **options,
    )


async def _asked(session: Session, count: int = 1) -> None:
    while len(session.permissions.approvals.waiting()) < count:
        await session.permissions.approvals.wait_changed()


async def test_an_agent_that_waits_for_a_permission_says_so_to_whoever_looks(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-102: in its state, in its activity, and to the parent that waits for its end; a late answer changes nothing."""

    def main(request: ModelRequest) -> AnswerLike:
        said = sum(message.role == "assistant" for message in request.messages)
        if said == 0:
            return agent("write", run_in_background=True)
        if said == 1:
            task_id = last_texts(request).split("agentId: ")[1].split()[0]
            return Call("TaskOutput", {"task_id": task_id, "block": True, "timeout": 10_000})
        return "Noted."

    async with _waiting(tmp_path, main, in_order(WRITE, "Written.")) as session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.run, "go")
            await _asked(session)
            (status,) = session.tasks.all()
            (question,) = session.permissions.approvals.waiting()
            activities = [each_agent.activity for each_agent in session.agents.all()]
        assert session.tasks.all()[0].attention == status.attention
        assert session.permissions.approvals.answer(question.id, Allow()) is Receipt.TAKEN
        await session.wait_quiet()
        assert session.permissions.approvals.answer(question.id, Deny(message="no")) is Receipt.LATE
        after = session.tasks.all()[0].attention

    assert status.attention == "it waits for permission: Write"
    assert "waits for permission: Write" in activities
    assert (question.agent, question.label) == (status.id, "general-purpose")
    waited = main_messages(session)[4]
    assert "<retrieval_status>timeout</retrieval_status>" in waited
    assert "<attention>it waits for permission: Write</attention>" in waited
    assert after == ""
    assert (tmp_path / "project" / "a.txt").exists()


LASTING = Allow(updates=(Update(kind="addRules", destination=Scope.SESSION, rules=("Write",)),))


def _writes(request: ModelRequest) -> AnswerLike:
    """Write two files, one after the other, named after the job that was given last."""
    told = [message.text for message in request.messages if message.role == "user" and "job-" in message.text][-1]
    name = told[told.rindex("job-") :][:5]
    done = sum(call.name == "Write" for message in request.messages for call in message.tool_uses)
    return Call("Write", {"file_path": f"{name}.{done}", "content": "x"}) if done < 2 else "Done."


@pytest.mark.parametrize("kind", ["general-purpose", "fork"])
async def test_a_lasting_answer_counts_for_the_whole_session(
    kind: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """For the one that asked, for those that run, forks too, for later ones, and for main."""

    def main(request: ModelRequest) -> AnswerLike:
        said = sum(message.role == "assistant" for message in request.messages)
        if said == 0:
            return [agent(f"job-{n}", subagent_type=kind, run_in_background=True) for n in (1, 2)]
        if last_texts(request) == "more":
            return [agent("job-3"), Call("Write", {"file_path": "mine", "content": "x"})]
        return "Noted."

    settings = {"delegation": {"fork": "explicit"}}
    async with _waiting(tmp_path, main, _writes, settings=settings) as session:
        await session.run("go")
        await _asked(session, 2)
        first, second = session.permissions.approvals.waiting()
        session.permissions.approvals.answer(first.id, LASTING)
        session.permissions.approvals.answer(second.id, Allow())
        await session.wait_quiet()
        await session.run("more")
        await session.wait_quiet()
        statistics = session.permissions.approvals.statistics()

    assert [first.label, second.label] == [kind, kind]
    assert (statistics.allowed, statistics.expired) == (2, 0)  # nobody was asked after the lasting answer
    names = {path.name for path in (tmp_path / "project").iterdir()}
    assert names >= {"job-1.0", "job-1.1", "job-2.0", "job-2.1", "job-3.0", "job-3.1", "mine"}


async def test_a_forks_question_is_raised_where_its_parents_are(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The mode `bubble`, whatever the parent's edits may do unasked."""
    asked: list[PermissionQuestion] = []

    async def can_use_tool(question: PermissionQuestion) -> Allow:
        asked.append(question)
        return Allow()

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        said = sum(message.role == "assistant" for message in request.messages)
        if "fork-boilerplate" in text:
            return WRITE
        if request.definition != "main":
            return "Written."
        return agent("write", subagent_type="fork") if said == 0 else "It runs."

    async with open_teamwork(
        tmp_path,
        main,
        pages={"fork": main},
        settings={"delegation": {"fork": "explicit"}},
        mode="acceptEdits",
        can_use_tool=can_use_tool,
    ) as session:
        await session.run("go")
        await session.wait_quiet()
        (fork,) = session.agents.pool.subagents.values()

    assert [(request.agent, request.label, request.tool) for request in asked] == [(fork.id, "fork", "Write")]
    assert (tmp_path / "project" / "a.txt").exists()


# --- children that may do more ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits", "auto", "bypassPermissions"])
@pytest.mark.parametrize("setting", [None, "definition", "inherit", "clamped"])
async def test_children_that_may_do_more_are_told_of_once(
    tmp_path: Path, mode: str, setting: str | None, autojump_clock: MockClock
) -> None:
    """A session's mode that asks or forbids, and agents that act in acceptEdits: people hear of it and of what changes it."""
    main = in_order(agent("a", subagent_type="general-purpose"), agent("b", subagent_type="general-purpose"), "Done.")
    settings = {"child_permission": setting} if setting else {}
    async with open_teamwork(tmp_path, main, mode=mode, settings=settings) as session:
        before = session.permissions.freer_children
        await session.run("Go.")
        await session.wait_quiet()
        told = [problem for problem in session.problems if "child_permission: clamped" in problem]

    is_freer = mode in {"default", "plan", "dontAsk"} and setting in {None, "definition"}
    assert before == ("acceptEdits" if is_freer else "")
    assert len(told) == (is_freer and setting is None)  # a setting is a choice: nothing is left to say
