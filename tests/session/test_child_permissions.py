"""Permissions of the agents of a session: lasting answers, and children that may do more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.permissions import Allow, Scope, Update
from greenroom.session import Session, open_session
from greenroom.testing import virtual_ports
from tests.agents.pages import agent, answers_in, in_order, last_texts
from tests.session.teamwork import open_teamwork

ASKS = {"child_permission": "inherit"}


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
        said = answers_in(request)
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
