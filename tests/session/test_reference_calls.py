"""The call of the reference documents that takes a session: a skill with its own context."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.models import AnswerLike, ModelRequest
from greenroom.session import Session
from tests.agents.pages import asked, in_order
from tests.session.teamwork import AUDIT_AUTH, open_teamwork, structured


def statuses(session: Session) -> list[str]:
    """Return how main's calls went, as programs read it, in order."""
    return [result.get("status", "") for result in structured(session)]


async def test_a_skill_with_its_own_context_answers_the_user(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behaviours (20), line 1, the sixth call: no tool takes part in it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / "project" / ".claude" / "skills" / "audit-auth" / "SKILL.md"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    file.parent.mkdir(parents=True)
    file.write_text(AUDIT_AUTH)
    heard: list[str] = []

    def auditor(request: ModelRequest) -> AnswerLike:
        heard.append(asked(request))
        return "No risks."

    async with open_teamwork(
        tmp_path, in_order("I was asked."), pages={"general-purpose": auditor}, sources=["project"], is_trusted=True
    ) as session:
        answer = await session.run("/audit-auth")

    assert answer.text == "No risks."
    assert "return only correctness risks" in heard[0]
    assert statuses(session) == []
