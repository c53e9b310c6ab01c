"""Parts of a session that reach outside by ways other than a tool's result: a re-run takes none of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom import rerun
from greenroom.agents import AgentDefinition, AgentMcpServer, PermissionQuestion
from greenroom.agents._effect_calls import is_from_outside
from greenroom.agents.subagents import WORKTREE_TOOLS
from greenroom.models import AnswerLike, Call, Model, ModelRequest, PlaybookModel
from greenroom.permissions import Allow, read_update
from greenroom.session import MAIN, Session, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.reruns.recorded_team import asking
from tests.worktrees.repositories import make_repository

pytestmark = pytest.mark.promise("RR-1")


def calling(call: Call) -> Model:
    """Return a model that makes one call and ends."""

    def answer(request: ModelRequest) -> AnswerLike:
        return call if len(request.messages) == 1 else "Done."

    return PlaybookModel({"main": answer})


def record(model: Model, folder: Path, **opening: Any) -> Path:
    """Record a session in real time, because its processes are real, and return its run folder."""

    async def run() -> Path:
        with trio.fail_after(60):
            async with open_session(
                model=model,
                cwd=folder,
                runs=folder.parent / "runs",
                settings={"record": "effects"},
                is_trusted=True,
                **{"tools": STANDARD_TOOLS, **opening},
            ) as session:
                await session.run("Begin.")
        return session.run_folder

    return trio.run(run)


def allowing(answer: Allow) -> Callable[[PermissionQuestion], Awaitable[Allow]]:
    async def can_use_tool(_: PermissionQuestion) -> Allow:
        return answer

    return can_use_tool


def test_commands_of_skills_are_not_run(tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    skill = project / ".claude/skills/note/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\ndescription: Notes.\nallowed-tools: Bash(touch *)\n---\nOn !`touch {mark}`: note it.\n")
    opening: Mapping[str, Any] = {"sources": ("project",), "can_use_tool": allowing(Allow())}
    run = record(calling(Call("Skill", {"skill": "note"})), project, **opening)
    mark.unlink()

    again = rerun(run, asking("Begin."), tools=STANDARD_TOOLS, is_trusted=True, **opening)

    assert again.difference is None
    assert not mark.exists()


def test_worktrees_are_not_made(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    tools = WORKTREE_TOOLS
    run = record(calling(Call("EnterWorktree", {"name": "side"})), project, tools=tools, can_use_tool=allowing(Allow()))
    assert len(list((project / ".git" / "worktrees").iterdir())) == 1
    elsewhere = make_repository(tmp_path / "elsewhere")

    again = rerun(run, asking("Begin."), cwd=elsewhere, tools=tools, is_trusted=True)

    assert not (elsewhere / ".git" / "worktrees").exists()
    assert again.difference is not None
    assert again.difference.cause == "tool result"


def test_servers_of_definitions_are_not_started(tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    project.mkdir()
    server = AgentMcpServer("own", {"command": "touch", "args": [str(mark)]})
    main = AgentDefinition(name="main", system_prompt="You look.", mcp_servers=(server,))
    run = record(calling(Call("Glob", {"pattern": "*"})), project, main=main)
    mark.unlink()

    rerun(run, asking("Begin."), tools=STANDARD_TOOLS, is_trusted=True, main=main)

    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "to", "is_outside"),
    [
        ("SendMessage", "uds:/run/other", True),
        ("SendMessage", " session:20261120-225103-k3f9qz", True),
        ("SendMessage", "main", False),
        ("ListAgents", "", True),
        ("Agent", "", False),
        ("Read", "", True),
    ],
)
def test_messages_to_other_sessions_are_served_from_the_record(name: str, to: str, is_outside: bool) -> None:
    (tool,) = (each for each in STANDARD_TOOLS if each.name == "Read")
    assert is_from_outside(name, tool, {"to": to}) == is_outside


def test_lasting_answers_are_not_written_to_settings(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    update = {
        "type": "addRules",
        "destination": "localSettings",
        "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
        "behavior": "allow",
    }
    opening: Mapping[str, Any] = {"sources": ("project", "local"), "main": MAIN}
    answer = allowing(Allow(updates=(read_update(update),)))
    run = record(calling(Call("Bash", {"command": "touch one"})), project, can_use_tool=answer, **opening)
    (written,) = project.rglob("settings.local.json")
    assert json.loads(written.read_text())
    written.unlink()

    again = rerun(run, asking("Begin."), tools=STANDARD_TOOLS, is_trusted=True, **opening)

    assert again.difference is None
    assert not written.exists()


def test_no_letters_from_other_sessions_are_taken(tmp_path: Path) -> None:
    """The socket of the settings may be that of a session that runs."""
    project = tmp_path / "project"
    project.mkdir()
    run = record(calling(Call("Glob", {"pattern": "*"})), project)
    with tempfile.TemporaryDirectory(prefix="gr-") as short:  # paths of sockets are short
        socket = Path(short) / "s"
        seen: list[bool] = []

        async def program(session: Session) -> None:
            seen.append(socket.exists())
            await session.run("Begin.")

        peers = {"inbound": "accept", "socket": str(socket)}
        rerun(run, program, tools=STANDARD_TOOLS, is_trusted=True, settings={"peers": peers})

    assert seen == [False]
