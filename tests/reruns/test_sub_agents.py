"""Sub-agents of calls that run side by side have the same ids in each re-run."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from greenroom import AGENT_TOOLS, Session, rerun
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import open_session
from greenroom.tools.builtin import READ_ONLY_TOOLS

pytestmark = pytest.mark.promise("RR-2")

TOOLS = (*READ_ONLY_TOOLS, *AGENT_TOOLS)


def agent(prompt: str) -> Call:
    return Call("Agent", {"description": prompt, "prompt": prompt, "subagent_type": "general-purpose"})


def lead(request: ModelRequest) -> AnswerLike:
    return [agent("one"), agent("two"), agent("three")] if len(request.messages) == 1 else "All have answered."


def child(request: ModelRequest) -> AnswerLike:
    return Call("Glob", {"pattern": "*.txt"}) if len(request.messages) == 1 else "Found nothing."


async def program(session: Session) -> None:
    await session.run("Begin.")


async def record(folder: Path) -> Path:
    model = PlaybookModel({"main": lead, "general-purpose": child})
    with trio.fail_after(60):
        async with open_session(
            model=model, cwd=folder, runs=folder / "runs", tools=TOOLS, settings={"record": "effects"}
        ) as session:
            await program(session)
    return session.run_folder


def test_three_agents_at_once_are_equal_each_time(tmp_path: Path) -> None:
    run = trio.run(record, tmp_path)
    for _ in range(6):
        assert rerun(run, program, tools=TOOLS).difference is None
