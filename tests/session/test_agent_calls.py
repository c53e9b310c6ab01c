"""What decides about a call of the tool Agent, and where the cause can be read when something else happened than expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents import Question
from greenroom.agents.definitions import find_manual
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.permissions import Allow
from greenroom.session import Session
from tests.session.teamwork import agent, in_order, main_messages, open_teamwork


def structured(session: Session) -> list[dict[str, Any]]:
    """Return what programs read of main's calls, in order."""
    home = session.delegation.crew.main_home
    assert home is not None
    return [dict(one) for one in home.workspace.attachments.values()]


# --- built-in agents -------------------------------------------------------------------------------------------------


async def test_the_guide_reads_the_documentation_and_nothing_else_outside(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Agents 20.28: it is usable by a call. Mechanism: `more_roots` of its definition."""
    manual = find_manual()
    assert manual is not None
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    seen: list[str] = []

    def guide(request: ModelRequest) -> AnswerLike:
        assert str(manual) in request.system
        seen.extend(block.content for block in request.messages[-1].content if hasattr(block, "content"))
        return in_order(
            Call("Read", {"file_path": str(manual / "docs" / "README.md")}),
            Call("Grep", {"pattern": "one prompt, one answer", "path": str(manual / "docs")}),
            Call("Read", {"file_path": str(secret)}),
            "It is on the page how-to/run.md.",
        )(request)

    call = agent("how do I run one?", subagent_type="claude-code-guide")
    async with open_teamwork(tmp_path, in_order(call), pages={"claude-code-guide": guide}, mode=None) as session:
        await session.run("go")

    page, hits, refused = seen
    assert "# Documentation" in page
    assert "README.md" in hits
    assert "hidden" not in refused
    assert "It is on the page" in main_messages(session)[2]


async def test_the_helper_for_the_status_line_asks_before_it_changes_the_users_settings(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents 20.28. Mechanism: the one file is in reach, and protected as all of that folder is."""
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    questions: list[str] = []

    async def allow(question: Question) -> Allow:
        questions.append(question.tool)
        return Allow()

    line = '{"statusLine": {"type": "command", "command": "date"}}'
    page = in_order(
        Call("Read", {"file_path": str(settings)}),
        Call("Edit", {"file_path": str(settings), "old_string": "{}", "new_string": line}),
        "It shows the date.",
    )
    call = agent("show the date", subagent_type="statusline-setup")
    async with open_teamwork(
        tmp_path, in_order(call), pages={"statusline-setup": page}, mode=None, can_use_tool=allow
    ) as session:
        await session.run("go")

    assert settings.read_text() == line
    assert questions == ["Edit"]


async def test_variables_take_built_in_agents_away(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents 1.81; 1.21: without the general agent a type is needed."""
    env = {"GREENROOM_DISABLE_EXPLORE_PLAN_AGENTS": "1"}
    call = agent("look", subagent_type="Explore")
    async with open_teamwork(tmp_path, in_order(call), settings={"env": env}) as session:
        await session.run("go")
        assert "no agent is called 'Explore'" in main_messages(session)[2]
        assert "general-purpose" in session.definitions

    monkeypatch.setenv("GREENROOM_DISABLE_BUILTIN_AGENTS", "1")
    async with open_teamwork(tmp_path, in_order(agent("look"))) as session:
        await session.run("go")
        assert "subagent_type is required" in main_messages(session)[2]
        assert list(session.definitions) == []

    person = {"delegation": {"interactive": True}}
    async with open_teamwork(tmp_path, in_order(agent("look")), settings=person) as session:
        await session.run("go")
        assert "Report on: look" in main_messages(session)[2]
