"""Worktrees of a session: gone into from the beginning, gone back to, made by hooks; with real git."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.agents.subagents import WORKTREE_TOOLS
from greenroom.core import UsageError
from greenroom.models import AnswerLike, ModelRequest
from greenroom.session import Fork, Session
from greenroom.testing import virtual_ports
from greenroom.worktrees import WorktreeBusy, WorktreeError, Worktrees
from tests.agents.pages import Page, agent, in_order, last_texts
from tests.session.teamwork import main_messages, open_teamwork, structured, violations
from tests.worktrees.calls import PWD, bash, enter, leave, place_of, write
from tests.worktrees.repositories import NEEDS_GIT, branches, commit, git, listed, make_repository

pytestmark = NEEDS_GIT
HELLO = in_order("Hello.")
FREE = {"child_permission": "inherit"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


async def play(folder: Path, *calls: AnswerLike, **more: Any) -> tuple[list[str], Session]:
    """Run a session whose main agent makes these calls, one a round; return the results and the session."""
    read: list[str] = []
    page = in_order(*calls, otherwise="Done.")

    def main(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return page(request)

    async with open_teamwork(folder, main, wait_s=0, tools=WORKTREE_TOOLS, **more) as session:
        with trio.fail_after(60):
            await session.run("go")
            await session.wait_quiet()
    assert violations(session) == []
    return read[1:], session


def moves(session: Session) -> list[dict[str, Any]]:
    """Return what programs read of the calls of both tools that did something, in order."""
    return [result for result in structured(session) if "worktreePath" in result]


# --- permissions --------------------------------------------------------------------------------------------------------


async def test_a_teammate_joins_in_the_worktree_and_holds_it(tmp_path: Path, project: Path) -> None:
    where: list[str] = []

    def mate(request: ModelRequest) -> AnswerLike:
        where.append(last_texts(request))
        return PWD if len(where) == 1 else "Done."

    def main(request: ModelRequest) -> AnswerLike:
        return leave("remove") if "remove" in last_texts(request).splitlines() else "Done."

    async with opening(tmp_path, main, worktree="x", pages={"general-purpose": mate}, settings=FREE) as session:
        with trio.fail_after(60):
            async with session.open_team("crew") as team:
                ann = await team.spawn("ann", definition="general-purpose", prompt="Look.")
                await session.wait_quiet()
                await session.run("remove")
                ann.kill("enough")
                await ann.wait_ended()
                await session.run("remove")

    assert where[1] == str(place_of(project, "x"))
    (refused,) = [message for message in main_messages(session) if "nothing was removed" in message]
    assert "in use by ann" in refused
    assert not place_of(project, "x").exists()


async def test_the_worktree_of_a_teammate_that_ends_is_kept_and_free(tmp_path: Path, project: Path) -> None:
    pages = {"general-purpose": in_order(enter(name="its"), "Done.")}
    async with opening(tmp_path, pages=pages, settings=FREE) as session:
        with trio.fail_after(60):
            async with session.open_team("crew") as team:
                ann = await team.spawn("ann", definition="general-purpose", prompt="Look.")
                await session.wait_quiet()
                assert "locked greenroom" in listed(project)
                ann.kill("enough")
                await ann.wait_ended()
                while "locked greenroom" in listed(project):
                    await trio.lowlevel.checkpoint()
    assert place_of(project, "its").exists()


# --- from the beginning, and again ---------------------------------------------------------------------------------------


def opening(folder: Path, main: Page = HELLO, *, seed: int = 1, **more: Any) -> Any:
    return open_teamwork(folder, main, wait_s=0, ports=virtual_ports(seed), tools=WORKTREE_TOOLS, **more)


async def test_a_session_begins_in_a_worktree_that_is_still_there_at_its_end(tmp_path: Path, project: Path) -> None:
    """Left behind, and locked until a sweep, which lets go of the lock and never removes it."""
    said, session = await play(
        tmp_path, PWD, agent("look"), worktree="feature", pages={"general-purpose": in_order(PWD)}
    )

    tree = place_of(project, "feature")
    assert said[0] == str(tree)
    assert session.files.cwd == tree
    assert session.files.worktree == tree
    assert "locked greenroom" in listed(project)

    assert await Worktrees().sweep(cwd=project) == []
    assert tree.exists()
    assert "locked greenroom" not in listed(project)


async def test_what_the_host_spawns_works_there_too(tmp_path: Path, project: Path) -> None:
    """Its commands are decided about by rules, as main's are: in a worktree of the session nobody is confined."""
    where: list[str] = []

    def child(request: ModelRequest) -> AnswerLike:
        where.append(last_texts(request))
        return bash(f"pwd; git -C {project} branch --show-current") if len(where) == 1 else "Done."

    async with opening(tmp_path, worktree="x", pages={"general-purpose": child}, settings=FREE) as session:
        with trio.fail_after(60):
            await session.spawn("general-purpose", "look")

    assert where[1].splitlines() == [str(place_of(project, "x")), "main"]


async def test_a_pull_request_is_fetched(tmp_path: Path, project: Path) -> None:
    """`#N` is `pull/N/head` of origin."""
    origin = make_repository(tmp_path / "origin")
    git(origin, "checkout", "--quiet", "-b", "theirs")
    (origin / "theirs.txt").write_text("theirs")
    head = commit(origin, "theirs")
    git(origin, "update-ref", "refs/pull/12/head", head)
    git(project, "remote", "add", "origin", str(origin))

    said, _ = await play(
        tmp_path, bash("cat theirs.txt; git rev-parse HEAD"), leave("remove"), worktree="#12", is_trusted=True
    )

    assert said[0].split() == ["theirs" + head]
    assert "removed" in said[1]
    assert git(project, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize(
    ("worktree", "has_origin", "kind", "why"),
    [
        ("#12", False, WorktreeError, "no remote origin"),
        ("#12", True, WorktreeError, "cannot fetch pull request #12 from origin: it does not exist"),
        ("#x", True, UsageError, "such as '#12'"),
        ("a/b", True, UsageError, "for example 'a-b'"),
    ],
)
async def test_what_cannot_be_fetched_is_said(
    worktree: str, *, has_origin: bool, kind: type[Exception], why: str, tmp_path: Path, project: Path
) -> None:
    if has_origin:
        git(project, "remote", "add", "origin", str(make_repository(tmp_path / "origin")))

    with pytest.raises(kind, match=why):
        async with opening(tmp_path, worktree=worktree, is_trusted=True):
            pass

    assert branches(project) == ["main"]


async def test_a_pull_request_is_not_fetched_in_an_untrusted_folder(tmp_path: Path, project: Path) -> None:
    """A remote is an address that the folder names, and asking it runs what the folder says."""
    git(project, "remote", "add", "origin", str(make_repository(tmp_path / "origin")))

    with pytest.raises(WorktreeError, match="not trusted"):
        async with opening(tmp_path, worktree="#12"):
            pass


async def test_without_a_repository_no_run_begins(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not in a git repository"):
        async with opening(tmp_path, worktree=""):
            pass

    assert not (tmp_path / "runs").exists()


async def test_two_sessions_are_not_in_the_same_worktree(tmp_path: Path, project: Path) -> None:
    async with opening(tmp_path, worktree="x"):
        with pytest.raises(WorktreeBusy):
            async with opening(tmp_path, seed=2, worktree="x"):
                pass


@pytest.mark.parametrize("is_fork", [False, True])
async def test_a_resumed_session_is_in_its_worktree_again(*, is_fork: bool, tmp_path: Path, project: Path) -> None:
    """Mechanism: `worktree.entered` without an actor, in the journal."""
    _, first = await play(tmp_path, bash("cd sub"), enter(name="x"), write("new.txt"))

    def main(request: ModelRequest) -> AnswerLike:
        asked = request.messages[-1].text
        return {"where?": PWD, "leave": leave("keep"), "and now?": PWD}.get(asked.strip(), "Done.")

    resume = Fork(first.run_folder) if is_fork else first.run_folder
    async with opening(tmp_path, main, resume=resume) as session:
        with trio.fail_after(60):
            assert session.files.worktree == place_of(project, "x")
            for text in ("where?", "leave", "and now?"):
                await session.run(text)
    messages = main_messages(session)
    assert str(place_of(project, "x")) in messages
    assert str(project / "sub") in messages  # where it had come from
    assert session.problems == ()

    async with opening(tmp_path, resume=session.run_folder) as again:
        assert again.files.worktree is None


async def test_where_a_sub_agent_was_is_not_where_the_session_was(tmp_path: Path, project: Path) -> None:
    """The record of a sub-agent's stay names it; that of the main agent's is the session's."""
    pages = {"general-purpose": in_order(enter(name="its"), "Done.")}
    async with opening(tmp_path, in_order(agent("go")), pages=pages, settings=FREE) as first:
        with trio.fail_after(60):
            await first.run("go")

    async with opening(tmp_path, seed=2, resume=first.run_folder) as session:
        assert (session.files.worktree, session.problems) == (None, ())
    assert place_of(project, "its").exists()


async def test_a_hook_makes_it_for_a_session_that_begins_there(tmp_path: Path) -> None:
    """No repository is needed."""
    made = tmp_path / "made"

    said, session = await play(tmp_path, PWD, worktree="x", settings=hooks(WorktreeCreate=f"mkdir {made}; echo {made}"))

    assert said == [str(made)]
    assert session.files.worktree == made


@pytest.mark.parametrize("is_clone", [False, True])
async def test_what_a_hook_made_is_gone_back_to(*, is_clone: bool, tmp_path: Path) -> None:
    """It need not be in a repository, and may be one of its own."""
    made = make_repository(tmp_path / "made") if is_clone else tmp_path / "made"
    settings = hooks(WorktreeCreate=f"mkdir -p {made}; echo {made}")
    _, first = await play(tmp_path, enter(name="x"), settings=settings)

    async with opening(tmp_path, resume=first.run_folder, settings=settings) as again:
        assert again.problems == ()
        assert again.files.worktree == made


async def test_a_sub_agent_goes_on_in_what_a_hook_made_for_it(tmp_path: Path) -> None:
    """Without a hook that removes it, it is kept, and is where the next run of the agent works."""
    made, read = tmp_path / "made", list[str]()
    settings = hooks(WorktreeCreate=f"mkdir {made}; echo {made}")

    def child(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return PWD if len(read) == 3 else "Done."

    first = in_order(agent("go", isolation="worktree", run_in_background=True), otherwise="Noted.")
    pages = {"general-purpose": child}
    async with open_teamwork(
        tmp_path, first, pages=pages, wait_s=0, tools=WORKTREE_TOOLS, settings={**FREE, **settings}
    ) as session:
        with trio.fail_after(60):
            await session.run("go")
            await session.wait_quiet()
            (member,) = session.agents.pool.subagents.values()
            for _ in range(2):
                await session.agents.post.send(member.id, "again", sender=session.main.id)
                await session.wait_quiet()
    assert read[3] == str(made)
    assert violations(session) == []


async def test_a_worktree_that_is_gone_is_said(tmp_path: Path, project: Path) -> None:
    """The session goes on in its folder; its model reads so with the next message, and people as a problem."""
    _, first = await play(tmp_path, enter(name="x"))
    git(project, "worktree", "unlock", str(place_of(project, "x")))
    git(project, "worktree", "remove", "--force", str(place_of(project, "x")))
    read: list[str] = []

    def main(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return PWD if len(read) == 1 else "Done."

    async with opening(tmp_path, main, resume=first.run_folder) as session:
        with trio.fail_after(60):
            await session.run("where?")
            assert session.files.worktree is None
        (problem,) = session.problems

    assert "x of this session is gone; its branch was worktree-x" in problem
    assert f"it goes on in {project}" in problem
    assert f"You work in {project} again" in read[0]
    assert read[1] == str(project)
    async with opening(tmp_path, resume=first.run_folder) as again:  # it is said once
        assert again.problems == ()


async def test_a_worktree_that_is_another_sessions_now_is_said(tmp_path: Path, project: Path) -> None:
    _, first = await play(tmp_path, enter(name="x"))

    async with opening(tmp_path, worktree="x"), opening(tmp_path, seed=2, resume=first.run_folder) as session:
        assert session.files.worktree is None
        assert "is in use by another process" in session.problems[0]


CHILD = """
import sys
import trio
from greenroom.agents.subagents import WORKTREE_TOOLS
from greenroom.models import Call, ScriptedModel
from greenroom.session import open_session
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS

@tool(name="Wait")
async def wait() -> str:
    "Wait forever."
    print("waits", flush=True)
    await trio.sleep_forever()
    return ""

async def begin():
    model = ScriptedModel([Call("EnterWorktree", {"name": "x"}), Call("Wait"), "Done."])
    async with open_session(
        model=model, cwd=sys.argv[1], runs=sys.argv[2], tools=(*STANDARD_TOOLS, *WORKTREE_TOOLS, wait),
        permission_mode="bypassPermissions",
    ) as session:
        await session.run("go")

trio.run(begin)
"""


def begin_and_kill(cwd: Path, runs: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(cwd), str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waits\n"
        child.kill()


async def test_what_a_killed_process_was_in_is_gone_back_to(tmp_path: Path, project: Path) -> None:
    """The record is durable before the tool answers; the system lets go of what the process held."""
    begin_and_kill(project, tmp_path / "runs")

    async with opening(tmp_path, resume="last") as session:
        assert session.files.worktree == place_of(project, "x")
        assert session.problems == ()


async def test_the_agent_reads_how_its_own_checkout_stands(tmp_path: Path, project: Path) -> None:
    (project / "file.txt").write_text("changed")

    async with opening(tmp_path, worktree="x", sources=["project"]) as session:
        with trio.fail_after(60):
            await session.run("go")
        home = session.agents.pool.main_home
        assert home is not None
        prompt = home.profile.definition.system_prompt

    assert str(place_of(project, "x")) in prompt
    assert "worktree-x" in prompt
    assert "file.txt" not in prompt


# --- hooks --------------------------------------------------------------------------------------------------------------


def hooks(**commands: str) -> Mapping[str, Any]:
    return {"hooks": {name: [{"hooks": [{"type": "command", "command": one}]}] for name, one in commands.items()}}


@pytest.mark.parametrize("is_removed", [False, True])
async def test_hooks_make_and_remove_it_in_gits_place(*, is_removed: bool, tmp_path: Path) -> None:
    """No repository is needed; what a hook made may hold anything, so it is only removed on demand."""
    made, told = tmp_path / "made", tmp_path / "told"
    create = f"cat > {told}; mkdir {made} && echo {made}"
    remove = {"WorktreeRemove": f"rm -r {made}"} if is_removed else {}
    settings = hooks(WorktreeCreate=create, PostToolUse=f"cat > {tmp_path}/after; env > {tmp_path}/env", **remove)
    calls = [enter(name="x"), PWD, leave("remove"), leave("remove", discard_changes=True), PWD]

    said, session = await play(tmp_path, *calls, settings=settings)

    assert said[1] == str(made)
    assert json.loads(told.read_text())["name"] == "x"
    assert "cannot be determined" in said[2]
    assert made.exists() is not is_removed
    assert said[4] == str(tmp_path / "project" if is_removed else made)
    if is_removed:
        left = moves(session)[-1]
        assert left.keys() == {"action", "originalCwd", "worktreePath", "message"}
    else:
        assert "no hook WorktreeRemove" in said[3]


async def test_hooks_are_told_where_it_works_and_which_project_it_is(tmp_path: Path, project: Path) -> None:
    """`CLAUDE_PROJECT_DIR` stays the original root; `cwd` is the worktree."""
    out = tmp_path / "told"
    command = f"""{{ cat; echo; echo "$CLAUDE_PROJECT_DIR"; }} > {out}"""
    await play(tmp_path, enter(name="x"), PWD, settings=hooks(PostToolUse=command))

    told, root = out.read_text().strip().rsplit("\n", 1)
    assert json.loads(told)["cwd"] == str(place_of(project, "x"))
    assert root == str(project)
