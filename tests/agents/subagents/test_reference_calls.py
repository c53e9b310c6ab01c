"""The calls that the reference documents show, from the call to the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents.subagents import FORK
from greenroom.models import AnswerLike, Call, ModelRequest
from tests.agents.crews import Crew, main_messages, notices, open_crew, structured, violations
from tests.agents.pages import Page, in_order, last_texts
from tests.worktrees.repositories import make_repository

REVIEW = {
    "description": "review parser bug",
    "prompt": "Review the parser changes and identify correctness risks.",
    "subagent_type": "code-reviewer",
}
REGRESSION = {
    "description": "run regression suite",
    "prompt": "Run the regression tests and summarize failures.",
    "subagent_type": "general-purpose",
    "run_in_background": True,
}
FLAKY = {
    "description": "investigate flaky tests",
    "prompt": "Investigate flaky tests without editing files yet.",
    "subagent_type": "general-purpose",
    "name": "flaky-investigator",
    "run_in_background": True,
}
FOCUS = {
    "to": "flaky-investigator",
    "message": "Focus on the Windows-only failures and compare the last two runs.",
    "summary": "focus Windows failures",
}
PROTOTYPE = {
    "description": "prototype parser fix",
    "prompt": "Implement a candidate fix in isolation and report the changed files.",
    "subagent_type": "general-purpose",
    "isolation": "worktree",
}
SCAN = {
    "description": "scan auth paths",
    "prompt": "Analyze the auth flow and report likely race conditions.",
}
REVIEWER = {"code-reviewer": {"description": "Reviews.", "prompt": "You review."}}
GATE_OPEN: dict[str, Any] = {"fork": "when_type_omitted", "interactive": True}


def statuses(crew: Crew) -> list[str]:
    """Return how main's calls went, as programs read it, in order."""
    return [result.get("status", "") for result in structured(crew)]


async def test_a_review_is_waited_for(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 1, the first call."""
    main = in_order(Call("Agent", REVIEW))
    pages: dict[str, Page] = {"code-reviewer": in_order("One risk: an unbounded loop.")}
    async with open_crew(tmp_path, main, pages=pages, agents=REVIEWER) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert statuses(crew) == ["completed"]
    assert main_messages(crew)[2].startswith("One risk: an unbounded loop.")
    assert notices(crew) == []
    assert violations(crew) == []


async def test_a_regression_run_goes_on_in_the_background(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 1, the second call."""
    main = in_order(Call("Agent", REGRESSION), "It runs.")
    async with open_crew(tmp_path, main, pages={"general-purpose": in_order("Two failures.")}) as crew:
        assert (await crew.run("go")).text == "It runs."
        await crew.wait_quiet()

    assert statuses(crew) == ["async_launched"]
    (notice,) = notices(crew)
    assert '<summary>Agent "run regression suite" completed' in notice
    assert "<result>Two failures.</result>" in notice
    assert violations(crew) == []


async def test_a_named_agent_is_told_what_to_focus_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 1, the third call."""

    def investigator(request: ModelRequest) -> AnswerLike:
        if FOCUS["message"] in last_texts(request):
            return "Only Windows fails."
        return Call("Glob", {"pattern": "*"}) if len(request.messages) < 20 else "Nobody told me."

    main = in_order(Call("Agent", FLAKY), Call("SendMessage", FOCUS))
    async with open_crew(tmp_path, main, pages={"general-purpose": investigator}) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert statuses(crew)[0] == "async_launched"
    assert "<result>Only Windows fails.</result>" in notices(crew)[0]
    assert violations(crew) == []


async def test_a_prototype_is_made_in_a_worktree(tmp_path: Path) -> None:
    """Behaviours (20), line 1, the fourth call."""
    project = tmp_path / "project"
    make_repository(project)
    pages = {"general-purpose": in_order(Call("Write", {"file_path": "fix.py", "content": "x"}), "fix.py")}
    async with open_crew(tmp_path, in_order(Call("Agent", PROTOTYPE)), pages=pages, wait_s=0.0) as crew:
        await crew.run("go")
        text = main_messages(crew)[2]

    worktree = Path(text.split("worktreePath: ")[1].split(" (kept")[0])
    assert (worktree / "fix.py").exists()
    assert not (project / "fix.py").exists()
    assert statuses(crew) == ["completed"]
    assert violations(crew) == []


@pytest.mark.parametrize("is_open", [True, False], ids=["gate-open", "gate-closed"])
async def test_a_call_without_a_type_forks_where_the_gate_is_open(
    tmp_path: Path, autojump_clock: MockClock, *, is_open: bool
) -> None:
    """Behaviours (20), line 1, the fifth call; line 4."""
    pages: dict[str, Page] = {
        FORK: in_order(otherwise="No races, says the fork."),
        "general-purpose": in_order("None."),
    }
    delegation = GATE_OPEN if is_open else None
    async with open_crew(tmp_path, in_order(Call("Agent", SCAN)), pages=pages, delegation=delegation) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert statuses(crew) == (["async_launched"] if is_open else ["completed"])
    assert len(notices(crew)) == is_open
    assert violations(crew) == []


async def test_where_the_gate_is_open_all_run_in_the_background(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 3: what has no effect is not in the schema, and a fork keeps its parent's model."""
    requests: dict[str, list[ModelRequest]] = {"main": [], FORK: [], "general-purpose": []}

    def page(request: ModelRequest) -> AnswerLike:
        requests[request.definition].append(request)
        if request.definition != "main":
            return "Done."
        named = {**REGRESSION, "run_in_background": False, "model": "haiku"}
        return in_order([Call("Agent", named), Call("Agent", {**SCAN, "model": "haiku"})])(request)

    async with open_crew(tmp_path, page, pages={FORK: page, "general-purpose": page}, delegation=GATE_OPEN) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    (tool,) = (tool for tool in requests["main"][0].tools if tool.name == "Agent")
    assert "run_in_background" not in tool.input_schema["properties"]
    assert main_messages(crew)[2].count("Async agent launched successfully") == 2
    assert "haiku" in requests["general-purpose"][0].model
    assert requests[FORK][0].model == requests["main"][0].model
    assert len(notices(crew)) == 2
