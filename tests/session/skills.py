"""Skills in the files of a project, and sessions with one that forks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from greenroom.agents.subagents import AGENT_TOOLS, Subagent
from greenroom.models import ModelRequest, ScriptedModel
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.testing import virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.scripted import write
from tests.worktrees.repositories import make_repository


def skill(project: Path, name: str, head: str, body: str = "Do it.") -> None:
    write(project / f".claude/skills/{name}/SKILL.md", f"---\ndescription: {name}.\n{head}---\n{body}\n")


@asynccontextmanager
async def opened(
    project: Path,
    script: Mapping[str, Any],
    *,
    head: str = "",
    body: str = "Audit $ARGUMENTS.",
    delegation: Mapping[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Session, ScriptedModel]]:
    """Open a session with a skill `audit-auth` that forks."""
    skill(project, "audit-auth", f"context: fork\n{head}", body)
    model = ScriptedModel(script, keeps_requests=True)
    settings = {"permissions": {"allow": ["Skill"]}, "delegation": delegation or {}, **more}
    async with open_session(
        model=model,
        cwd=project,
        runs=project.parent / "runs",
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
        sources=["project"],
        is_trusted=True,
        settings=settings,
        ports=virtual_ports(),
    ) as session:
        yield session, model
    assert check_journal(read_journal(session.run_folder / JOURNAL, EVENTS).entries, folds=FOLDS) == []


def asked(model: ScriptedModel, definition: str) -> list[ModelRequest]:
    return [request for request in model.requests if request.definition == definition]


def members(session: Session) -> list[Subagent]:
    return list(session.agents.pool.subagents.values())


def events(session: Session, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (session.run_folder / JOURNAL).read_text().splitlines())
    return [line for line in lines if line.get("ev") == kind]


def as_repository(project: Path) -> None:
    (project / ".git").rmdir()
    project.rmdir()
    make_repository(project)
