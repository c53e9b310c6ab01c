"""The text for agents about the repository in which they work."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.cli._run_command import _CHANGES
from greenroom.containment import GitCalls
from greenroom.models import Call, ScriptedModel
from greenroom.session.equipment._environment_text import MAX_LINES, branch_in, git_status
from greenroom.store._transcript_reader import read_transcript
from tests.agents.pages import agent, in_order
from tests.session.scripted import opened
from tests.session.teamwork import open_teamwork
from tests.worktrees.repositories import NEEDS_GIT, commit, git, make_repository

pytestmark = NEEDS_GIT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


def test_it_says_branch_changes_and_commits(project: Path) -> None:
    (project / "file.txt").write_text("two\n")
    (project / "new file.txt").write_text("new\n")

    text = git_status(project, GitCalls(environ=os.environ))

    assert re.fullmatch(
        rf"# Git\n\nWhen the session began, in {project}; it is not kept up to date.\nBranch: main\n"
        r"Changed files:\n M file.txt\n\?\? \"new file.txt\"\nLatest commits:\n[0-9a-f]+ first",
        text,
    )
    assert _CHANGES.sub("", f"a\n\n{text}\n\n# Next") == "a\n\n\n# Next"


@pytest.mark.parametrize(
    ("said", "branch"),
    [
        ("main", "main"),
        ("No commits yet on main", "main"),
        ("fix/a-b...origin/fix/a-b [ahead 1, behind 2]", "fix/a-b"),
        ("main...origin/main [gone]", "main"),
        ("HEAD (no branch)", ""),
    ],
)
def test_the_branch_is_read_from_what_git_says(said: str, branch: str) -> None:
    assert branch_in(f"# Git\n\nWhen the session began\nBranch: {said}\nNo changed files.") == branch
    assert branch_in("") == ""


async def test_lines_of_the_main_agent_name_the_branch(project: Path, home: Path, autojump_clock: MockClock) -> None:
    """Those of a child do not: it may be in a checkout of its own."""
    git(project, "checkout", "-q", "-b", "fix/it")
    calls = [Call("Agent", {"description": "d", "prompt": "Do it."}), "child"]
    async with opened(project, calls, tools=AGENT_TOOLS, sources=["user"]) as session:
        await session.run("Go.")
    folder = session.run_folder / "transcripts"
    (child,) = folder.glob("agent-*.jsonl")
    assert {entry.get("gitBranch") for entry in read_transcript(folder / "main.jsonl")} == {"fix/it"}
    assert {entry.get("gitBranch") for entry in read_transcript(child)} == {None}


def test_it_is_short_and_runs_nothing_of_the_repository(project: Path, tmp_path: Path) -> None:
    for number in range(MAX_LINES + 5):
        (project / f"{number:03}.txt").touch()
    git(project, "config", "core.fsmonitor", f"touch {tmp_path}/ran;")
    git(project, "config", "core.pager", f"touch {tmp_path}/ran;")

    text = git_status(project, GitCalls(environ=os.environ))

    assert "and 5 more" in text
    assert "035.txt" not in text
    assert not (tmp_path / "ran").exists()


def test_where_there_is_no_repository_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    assert git_status(tmp_path / "plain", GitCalls(environ=os.environ)) == ""
    monkeypatch.setenv("PATH", "")
    assert git_status(tmp_path, GitCalls(environ=os.environ)) == ""


async def test_a_fresh_child_reads_how_it_stood_when_the_session_began_and_searchers_do_not(
    tmp_path: Path, project: Path, home: Path, autojump_clock: MockClock
) -> None:
    """As main does; a commit that comes later changes nothing of it."""
    main = in_order([agent("a"), agent("b", subagent_type="Explore")])
    async with open_teamwork(tmp_path, main, sources=["project"]) as session:
        (project / "later.txt").touch()
        commit(project, "later")
        await session.run("go")
        systems = {
            member.definition.name: member.home.profile.definition.system_prompt
            for member in session.agents.pool.subagents.values()
        }
        lead = session.agents.pool.main_home
        assert lead is not None
        leading = lead.profile.definition.system_prompt

    assert "Branch: main\nNo changed files." in leading
    assert "later" not in leading
    assert leading[leading.index("# Git") :].split("\n\n")[1] in systems["general-purpose"]
    assert "# Git" not in systems["Explore"]


async def test_without_files_of_the_project_nothing_is_asked(
    project: Path, home: Path, autojump_clock: MockClock
) -> None:
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model) as session:
        await session.run("Go.")

    assert "# Git" not in model.requests[0].system
