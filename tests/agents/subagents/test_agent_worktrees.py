"""Agents in worktrees of their own: made for them, kept within them, removed or kept at their end; with real git."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.tasks import KeptWorktree
from greenroom.tools import tool
from tests.agents.crews import Crew, ended, main_messages, notices, open_crew, violations
from tests.agents.pages import agent, answers_in, asked, in_order, last_texts
from tests.worktrees.repositories import NEEDS_GIT, branches, git, make_repository

pytestmark = NEEDS_GIT
FREE: dict[str, Any] = {"child_permission": "inherit"}
COMMIT = "git add -A && git -c user.name=a -c user.email=a@example.com commit -q -m work"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


def bash(command: str) -> Call:
    return Call("Bash", {"command": command})


def trees(project: Path) -> list[Path]:
    folder = project / ".greenroom" / "worktrees"
    return [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []


def folders(crew: Crew, name: str) -> set[str]:
    """Return the folders that the lines of a transcript name."""
    lines = (crew.run_folder / "transcripts" / f"{name}.jsonl").read_text().splitlines()
    return {line["cwd"] for line in map(json.loads, lines) if "cwd" in line}


async def test_a_clean_worktree_goes_with_its_agent(tmp_path: Path, project: Path) -> None:
    """RC-79; Behaviours (11), line 1; Behaviours (20), line 1: nothing is left, nothing is reported."""
    where: list[str] = []

    def child(request: ModelRequest) -> AnswerLike:
        where.append(last_texts(request))
        return bash("pwd; git rev-parse --abbrev-ref HEAD") if len(request.messages) == 1 else "I only looked."

    async with open_crew(
        tmp_path, in_order(agent("look", isolation="worktree")), pages={"general-purpose": child}, wait_s=0
    ) as crew:
        with trio.fail_after(30):
            await crew.run("go")
        (member,) = crew.pool.subagents.values()

    place, branch = where[1].split()[:2]
    assert Path(place).parent == project / ".greenroom" / "worktrees"
    assert Path(place).name == f"agent-{member.id[:8]}"  # the id is made before the worktree, and is the run's
    assert branch == f"worktree-agent-{member.id[:8]}"
    assert trees(project) == []
    assert branches(project) == ["main"]
    assert "worktreePath" not in main_messages(crew)[2]
    assert folders(crew, f"agent-{member.id}") == {place}
    assert folders(crew, "main") == {str(project)}
    assert member.task.worktree is None
    assert violations(crew) == []


@pytest.mark.parametrize("in_background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("command", ["echo new > new.txt", f"echo new > new.txt && {COMMIT}"], ids=["dirty", "commit"])
async def test_what_was_changed_is_kept_and_told(
    command: str, in_background: bool, tmp_path: Path, project: Path
) -> None:
    """Behaviours (11), line 2: path and branch, in the result or the notice."""
    main = in_order(agent("change", isolation="worktree", run_in_background=in_background))
    pages = {"general-purpose": in_order(bash(command), "Changed.")}
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, **FREE) as crew:
        with trio.fail_after(30):
            await crew.run("go")
            await crew.wait_quiet()
        (member,) = crew.pool.subagents.values()

    (tree,) = trees(project)
    assert (tree / "new.txt").read_text() == "new\n"
    assert not (project / "new.txt").exists()
    assert git(project, "status", "--porcelain") == ""
    assert member.task.worktree == KeptWorktree(str(tree), f"worktree-{tree.name}")
    told = notices(crew)[0] if in_background else main_messages(crew)[2]
    assert str(tree) in told
    assert f"worktree-{tree.name}" in told
    if in_background:
        assert f"<worktree>{tree}</worktree>" in told


async def test_an_agent_is_kept_out_of_the_main_checkout(tmp_path: Path, project: Path) -> None:
    """Behaviours (11), line 3: whatever the mode allows; in its own tree it works as it likes."""
    read: list[str] = []
    calls = [
        bash(f"cd {project} && git reset --hard"),
        bash(f"git -C {project} status"),
        bash(f"echo x > {project}/file.txt"),
        Call("Write", {"file_path": str(project / "file.txt"), "content": "x"}),
        Call("Write", {"file_path": "mine.txt", "content": "mine"}),
    ]

    def child(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        said = answers_in(request)
        return calls[said] if said < len(calls) else "Tried."

    main = in_order(agent("try", isolation="worktree"))
    async with open_crew(tmp_path, main, pages={"general-purpose": child}, wait_s=0, **FREE) as crew:
        with trio.fail_after(30):
            await crew.run("go")

    assert all("main checkout" in one or "outside" in one for one in read[1:5]), read[1:5]
    assert (project / "file.txt").read_text() == "one\n"
    (tree,) = trees(project)
    assert (tree / "mine.txt").read_text() == "mine"
    assert "calls of this agent were refused: Bash (3 times)" in main_messages(crew)[2]


async def test_the_record_of_an_agent_has_the_names_that_others_read(tmp_path: Path, project: Path) -> None:
    """What kind it is, what for, which call started it, and the worktree that was kept."""

    def child(request: ModelRequest) -> AnswerLike:
        return bash("echo new > new.txt") if len(request.messages) == 1 else "Done."

    main = in_order(agent("try", isolation="worktree"), agent("look"))
    pages = {"general-purpose": child}
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, **FREE) as crew:
        with trio.fail_after(30):
            await crew.run("go")
        members = list(crew.pool.subagents.values())

    (tree,) = trees(project)
    records = []
    for member in members:
        path = crew.run_folder / f"transcripts/agent-{member.id}.meta.json"
        records.append(json.loads((await trio.Path(path).read_text()).splitlines()[-1]))
    assert [record.get("worktreePath") for record in records] == [str(tree), None]
    assert all(record["agentType"] == "general-purpose" and record["description"] for record in records)
    assert [record["toolUseId"] for record in records] == [member.task.info.tool_use_id for member in members]
    assert all(record["toolUseId"] for record in records)


async def test_two_at_once_edit_the_same_file(tmp_path: Path, project: Path) -> None:
    """Behaviours (11), line 7."""

    def child(request: ModelRequest) -> AnswerLike:
        if len(request.messages) > 1:
            return "Written."
        return Call("Write", {"file_path": "new.txt", "content": asked(request)})

    calls = [agent(name, isolation="worktree") for name in ("left", "right")]
    async with open_crew(tmp_path, in_order(calls), pages={"general-purpose": child}, wait_s=0) as crew:
        with trio.fail_after(30):
            await crew.run("go")

    assert sorted((tree / "new.txt").read_text() for tree in trees(project)) == ["left", "right"]
    assert not (project / "new.txt").exists()


async def test_a_nested_child_holds_the_worktree_while_its_parent_ends(tmp_path: Path, project: Path) -> None:
    """RC-77: the tree goes with its last user, and is told of by whoever leaves something in it."""

    may_go_on = trio.Event()

    @tool
    async def hold_on() -> str:
        """Wait for the parent's end."""
        await may_go_on.wait()
        return "go"

    def child(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if asked(request) == "outer":
            return agent("inner", run_in_background=True) if said == 0 else "I leave it to another one."
        return [Call("HoldOn"), bash("pwd && ls file.txt")][said] if said < 2 else "Inner: " + last_texts(request)

    main = in_order(agent("outer", isolation="worktree"), "Noted.")
    pages = {"general-purpose": child}
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, tools=(hold_on,)) as crew:
        with trio.fail_after(30):
            await crew.run("go")
            outer, inner = crew.pool.subagents.values()
            worktrees = crew.pool.worktrees.worktrees
            assert worktrees is not None
            assert outer.task.is_settled
            assert trees(project) == [outer.home.cwd]
            may_go_on.set()
            await inner.task.wait_settled()
            await crew.wait_quiet()
            assert worktrees.in_use == {}

    assert outer.home.cwd == inner.home.cwd
    assert "ls: " not in notices(crew)[0]
    assert "file.txt" in notices(crew)[0]
    assert trees(project) == []
    assert branches(project) == ["main"]
    assert violations(crew) == []


async def test_a_fork_in_a_worktree_is_told_to_translate_paths(tmp_path: Path, project: Path) -> None:
    told: list[str] = []

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        if "<fork-boilerplate>" in text:
            told.append(text)
            return "Done as a fork."
        said = answers_in(request)
        return agent("try it", subagent_type="fork", isolation="worktree") if said == 0 else "Noted."

    delegation = {"fork": "explicit"}
    async with open_crew(tmp_path, main, pages={"fork": main}, wait_s=0, delegation=delegation) as crew:
        with trio.fail_after(30):
            await crew.run("go")
            await crew.wait_quiet()
        (member,) = crew.pool.subagents.values()

    place = project / ".greenroom" / "worktrees" / f"agent-{member.id[:8]}"
    assert f"You work in a worktree of your own, {place}" in told[0]
    assert f"belong to the parent's folder, {project}; translate them" in told[0]
    assert "read a file again before you change it" in told[0]
    assert trees(project) == []


async def test_agent_does_not_start_without_a_repository(tmp_path: Path) -> None:
    """Behaviours (11), line 6: one clear line."""
    async with open_crew(tmp_path, in_order(agent("go", isolation="worktree")), wait_s=0) as crew:
        with trio.fail_after(30):
            await crew.run("go")
        assert crew.pool.spawned == 0

    text = main_messages(crew)[2]
    assert "is not in a git repository" in text
    assert len(text.splitlines()) == 1


async def test_who_goes_on_after_its_clean_worktree_went_gets_another_one(tmp_path: Path, project: Path) -> None:
    """The same place, and what it changes there is kept and told."""

    def child(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        if "again" in text:
            return bash("echo new > new.txt")
        return "Looked." if len(request.messages) == 1 else "Changed."

    async with open_crew(tmp_path, in_order("Hm."), pages={"general-purpose": child}, wait_s=0) as crew:
        with trio.fail_after(30):
            handle = await crew.spawn("general-purpose", "look", in_worktree=True)
            assert (await ended(handle)).worktree is None
            assert trees(project) == []
            result = await crew.resume(handle.id, "again")

    (tree,) = trees(project)
    assert result.worktree is not None
    assert result.worktree.path == str(tree)
    assert (tree / "new.txt").exists()
    assert not (project / "new.txt").exists()


async def test_a_start_that_is_refused_at_the_last_moment_leaves_no_worktree(tmp_path: Path, project: Path) -> None:
    """Behaviours (20), line 5: two calls of one message with the same name, each with a worktree of its own."""
    named = {"isolation": "worktree", "run_in_background": True, "name": "ann"}
    are_started = trio.Event()

    @tool(name="Hold", read_only=True)
    async def hold() -> str:
        """Wait until both calls have an answer."""
        await are_started.wait()
        return "held"

    def main(request: ModelRequest) -> AnswerLike:
        if len(request.messages) > 1:
            are_started.set()
        return in_order([agent("one", **named), agent("two", **named)], "They run.")(request)

    pages = {"general-purpose": in_order(Call("Hold"), "Done.")}
    async with open_crew(tmp_path, main, pages=pages, tools=(hold,), wait_s=0) as crew:
        with trio.fail_after(30):
            await crew.run("go")
            await crew.wait_quiet()
            refused = main_messages(crew)[2]

    assert "is called 'ann' and runs" in refused
    assert trees(project) == []
    assert not [branch for branch in branches(project) if "agent" in branch]
