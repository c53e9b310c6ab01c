"""The tools EnterWorktree and ExitWorktree: places, losses, permissions, and who else works there; with real git."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.agents import PermissionQuestion
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.permissions import Allow, Deny
from greenroom.tasks import KeptWorktree
from greenroom.tools import ToolContext, tool
from greenroom.worktrees import WorktreeBusy, Worktrees
from tests.agents.crews import Crew, main_messages, open_crew, structured, violations
from tests.agents.pages import agent, in_order, last_texts
from tests.worktrees.calls import PWD, bash, enter, leave, place_of, write
from tests.worktrees.repositories import NEEDS_GIT, branches, git, listed, make_repository

pytestmark = NEEDS_GIT
FREE: dict[str, Any] = {"child_permission": "inherit"}
COMMIT = "git add -A && git -c user.name=a -c user.email=a@example.com commit -q -m work"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


async def play(folder: Path, *calls: AnswerLike, **more: Any) -> tuple[list[str], Crew]:
    """Run a crew whose main agent makes these calls, one a round; return the results and the crew."""
    read: list[str] = []
    page = in_order(*calls, otherwise="Done.")

    def main(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return page(request)

    async with open_crew(folder, main, wait_s=0, **more) as crew:
        with trio.fail_after(60):
            await crew.run("go")
            await crew.wait_quiet()
    assert violations(crew) == []
    return read[1:], crew


def moves(crew: Crew) -> list[dict[str, Any]]:
    """Return what programs read of the calls of both tools that did something, in order."""
    return [result for result in structured(crew) if "worktreePath" in result]


# --- the tools ----------------------------------------------------------------------------------------------------------


async def test_a_session_goes_into_a_worktree_and_comes_back(tmp_path: Path, project: Path) -> None:
    """Results have exactly these fields; files and commands are those of the worktree, in the same turn."""
    calls = [enter(name="feature"), PWD, write("new.txt"), leave("keep"), PWD, bash("ls")]

    said, crew = await play(tmp_path, *calls)

    tree = place_of(project, "feature")
    assert (said[1], said[4]) == (str(tree), str(project))
    assert (tree / "new.txt").read_text() == "new\n"
    assert "new.txt" not in said[5]
    assert git(tree, "rev-parse", "--abbrev-ref", "HEAD") == "worktree-feature"
    entered, left = moves(crew)
    where = {"worktreePath": str(tree), "worktreeBranch": "worktree-feature"}
    assert entered == {**where, "message": said[0]}
    assert left == {"action": "keep", "originalCwd": str(project), **where, "message": said[3]}
    assert "greenroom" not in listed(project).split("worktree-feature")[1]  # it is not locked any more
    lines = [json.loads(line) for line in (crew.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()]
    places = [line["cwd"] for line in lines if "message" in line]  # each line names the folder of its time
    assert list(dict.fromkeys(places)) == [str(project), str(tree)]
    assert places[-1] == str(project)


async def test_what_would_be_lost_is_said_and_kept(tmp_path: Path, project: Path) -> None:
    """Removing work needs `discard_changes: true`. Mechanism: `losses`, asked before anything is touched."""
    work = bash(f"echo 1 > one.txt; {COMMIT}; echo 2 > two.txt")
    calls = [enter(name="feature"), work, leave("remove"), PWD, leave("remove", discard_changes=True), PWD]

    said, crew = await play(tmp_path, *calls)

    tree = place_of(project, "feature")
    for part in ("nothing was removed", "1 uncommitted file (two.txt)", "1 commit", "`discard_changes: true`"):
        assert part in said[2]
    assert said[3] == str(tree)  # refused, it stays where it is
    assert said[5] == str(project)
    assert not tree.exists()
    assert branches(project) == ["main"]
    left = moves(crew)[-1]
    assert left == {
        "action": "remove",
        "originalCwd": str(project),
        "worktreePath": str(tree),
        "worktreeBranch": "worktree-feature",
        "discardedFiles": 1,
        "discardedCommits": 1,
        "message": said[4],
    }


@pytest.mark.parametrize("how", ["nothing", "merged", "pushed"])
async def test_what_is_elsewhere_is_not_lost(how: str, tmp_path: Path, project: Path) -> None:
    """A clean tree goes without a word, and so do commits that another branch, here or at the remote, holds."""
    git(tmp_path, "clone", "--quiet", "--bare", str(project), "remote.git")
    git(project, "remote", "add", "origin", str(tmp_path / "remote.git"))
    work = {
        "nothing": "true",
        "merged": f"echo 1 > one.txt; {COMMIT}; git -C {project} merge -q --ff-only worktree-feature",
        "pushed": f"echo 1 > one.txt; {COMMIT}; git push -q origin worktree-feature",
    }
    said, _ = await play(tmp_path, enter(name="feature"), bash(work[how]), leave("remove"))

    assert "removed" in said[2], said
    assert branches(project) == ["main"]
    assert not place_of(project, "feature").exists()


async def test_a_name_is_made_up_and_taken_up_again(tmp_path: Path, project: Path) -> None:
    """Two words; a name that is there is that worktree again."""
    _, crew = await play(tmp_path, enter(), write("new.txt"), leave("keep"))
    path = Path(moves(crew)[0]["worktreePath"])
    assert path.parent == place_of(project, "")
    assert path.name.count("-") == 1

    said, _ = await play(tmp_path, enter(name=path.name), bash("cat new.txt"))

    assert said[1] == "new"


async def test_a_worktree_that_was_there_is_entered_and_never_removed(tmp_path: Path, project: Path) -> None:
    """`path`; its base is not known, so nothing about it is proven."""
    mine = tmp_path / "mine"
    git(project, "worktree", "add", "--quiet", "-b", "mine", str(mine))
    calls = [enter(path=str(mine)), PWD, leave("remove", discard_changes=True), PWD, leave("keep"), PWD]

    said, crew = await play(tmp_path, *calls)

    assert (said[1], said[3], said[5]) == (str(mine), str(mine), str(project))
    assert "it existed before this agent entered it" in said[2]
    assert moves(crew)[0]["worktreeBranch"] == "mine"
    assert mine.exists()
    assert branches(project) == ["main", "mine"]


async def test_a_worktree_of_somebody_else_is_not_forgotten_with_its_branch(tmp_path: Path, project: Path) -> None:
    """A foreign worktree whose folder is away, as on a disk that is not there, is none of a sweep's business."""
    mine = tmp_path / "mine"
    git(project, "worktree", "add", "--quiet", "-b", "mine", str(mine))
    git(project, "worktree", "lock", str(mine))
    await play(tmp_path, enter(path=str(mine)), leave("keep"))
    shutil.move(mine, tmp_path / "away")

    await Worktrees().sweep(cwd=project)

    assert branches(project) == ["main", "mine"]
    assert "branch refs/heads/mine\nlocked" in listed(project)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (enter(name="a b"), "cannot name a worktree 'a b'"),
        (enter(name="x", path="y"), "leave out `name`, or `path`"),
        (enter(path="nowhere"), "the folder does not exist"),
        (enter(path="."), "is not a worktree"),
        (enter(path="sub"), "is not a worktree"),
        (enter(nme="x"), "nme"),
        (leave("keep"), "has not entered a worktree"),
        (leave("drop"), "action"),
        (leave("keep", discard_changes=True), "is for `remove`"),
    ],
)
async def test_what_cannot_be_is_said_and_changes_nothing(call: Call, why: str, tmp_path: Path, project: Path) -> None:
    said, _ = await play(tmp_path, call, PWD)

    assert why in said[0]
    assert said[1] == str(project)
    assert branches(project) == ["main"]


async def test_one_at_a_time(tmp_path: Path, project: Path) -> None:
    said, _ = await play(tmp_path, enter(name="one"), enter(name="two"), PWD)

    assert "leave it with ExitWorktree" in said[1]
    assert said[2] == str(place_of(project, "one"))
    assert branches(project) == ["main", "worktree-one"]


async def test_a_worktree_of_another_repository_is_refused(tmp_path: Path, project: Path) -> None:
    other = make_repository(tmp_path / "other")
    git(other, "worktree", "add", "--quiet", "-b", "its", str(tmp_path / "its"))

    said, _ = await play(tmp_path, enter(path=str(tmp_path / "its")), PWD)

    assert f"is not a worktree of {project}" in said[0]
    assert not (other / ".greenroom").exists()


async def test_entering_a_worktree_without_a_repository_says_so(tmp_path: Path) -> None:
    """Behaviours (11), line 6."""
    said, _ = await play(tmp_path, enter())

    assert "is not in a git repository" in said[0]


async def test_it_comes_back_to_the_folder_where_its_shell_stood(tmp_path: Path, project: Path) -> None:
    said, crew = await play(tmp_path, bash("cd sub"), enter(name="x"), PWD, leave("remove"), PWD)

    assert said[2] == str(place_of(project, "x"))
    assert said[4] == str(project / "sub")
    assert moves(crew)[-1]["originalCwd"] == str(project / "sub")


@pytest.mark.parametrize("how", ["keep", "remove"])
async def test_a_worktree_that_was_deleted_under_it_can_be_left(how: str, tmp_path: Path, project: Path) -> None:
    tree = place_of(project, "x")
    calls = [
        enter(name="x"),
        bash(f"find {tree} -delete"),
        bash("ls"),
        leave("remove"),
        leave(how, **({"discard_changes": True} if how == "remove" else {})),
        PWD,
    ]

    said, _ = await play(tmp_path, *calls)

    assert "is gone" in said[2]
    assert "changes that cannot be determined" in said[3]
    assert said[5] == str(project)


# --- permissions --------------------------------------------------------------------------------------------------------


async def ask_about(
    folder: Path, calls: Iterable[Call], *, allow: Iterable[str] = (), mode: str = "default", answer: bool = True
) -> tuple[list[str], list[str]]:
    """Return what somebody was asked about, and what the calls said."""
    asked: list[str] = []

    async def decide(question: PermissionQuestion) -> Allow | Deny:
        await trio.lowlevel.checkpoint()
        asked.append(question.tool)
        return Allow() if answer else Deny(message="not now")

    said, _ = await play(folder, *calls, mode=mode, rules={"allow": list(allow)}, can_use_tool=decide)
    return asked, said


async def test_the_tools_ask_unless_a_rule_allows(tmp_path: Path, project: Path) -> None:
    calls = [enter(name="x"), leave("keep")]

    assert (await ask_about(tmp_path, calls))[0] == ["EnterWorktree", "ExitWorktree"]
    assert (await ask_about(tmp_path, calls, mode="acceptEdits"))[0] == ["EnterWorktree", "ExitWorktree"]
    assert (await ask_about(tmp_path, calls, allow=["EnterWorktree", "ExitWorktree"]))[0] == []
    asked, said = await ask_about(tmp_path, [enter(name="y"), PWD], allow=["Bash"], answer=False)
    assert asked == ["EnterWorktree"]
    assert said[1] == str(project)
    assert branches(project) == ["main", "worktree-x"]


async def test_going_elsewhere_is_asked_about_whatever_is_allowed(tmp_path: Path, project: Path) -> None:
    """Entering outside of the folder of worktrees asks the user; a rule that names the path is their word."""
    git(project, "worktree", "add", "--quiet", "-b", "mine", str(tmp_path / "mine"))
    git(project, "worktree", "add", "--quiet", "-b", "in", str(place_of(project, "in")))
    both = ["EnterWorktree", "ExitWorktree"]
    away = [enter(path=str(tmp_path / "mine")), leave("keep")]
    hidden = [enter(path=f"{place_of(project, 'in')}/../../../../mine"), leave("keep")]

    assert (await ask_about(tmp_path, away, allow=both))[0] == ["EnterWorktree"]
    assert (await ask_about(tmp_path, hidden, allow=both))[0] == ["EnterWorktree"]
    (place_of(project, "link")).symlink_to(tmp_path / "mine")
    linked = [enter(path=str(place_of(project, "link"))), leave("keep")]
    assert (await ask_about(tmp_path, linked, allow=both))[0] == ["EnterWorktree"]
    assert (await ask_about(tmp_path, away, allow=[*both, f"EnterWorktree({tmp_path / 'mine'})"]))[0] == []
    assert (await ask_about(tmp_path, [enter(path=str(place_of(project, "in"))), leave("keep")], allow=both))[0] == []


async def test_edits_in_the_worktree_are_edits_at_home(tmp_path: Path, project: Path) -> None:
    """The worktree is the working directory then, and the main checkout is outside."""
    calls = [enter(name="x"), write("new.txt"), write(str(project / "new.txt")), bash("ls")]
    allow = ["EnterWorktree", "Bash(ls)"]

    asked, said = await ask_about(tmp_path, calls, allow=allow, mode="acceptEdits", answer=False)

    assert (place_of(project, "x") / "new.txt").exists()
    assert not (project / "new.txt").exists()
    assert asked == ["Write"]
    assert "not now" in said[2]


# --- who else works there -----------------------------------------------------------------------------------------------


async def test_an_agent_that_works_there_holds_it(tmp_path: Path, project: Path) -> None:
    """RC-77: it is not removed under an agent that main has started, and it is when that one has ended."""
    where: list[str] = []
    may_end = trio.Event()

    @tool(name="HoldOn")
    async def hold_on() -> str:
        """Wait until it is let go."""
        await may_end.wait()
        return "go"

    def child(request: ModelRequest) -> AnswerLike:
        where.append(last_texts(request))
        return [PWD, Call("HoldOn")][len(where) - 1] if len(where) < 3 else "Done."

    def main(request: ModelRequest) -> AnswerLike:
        heard = last_texts(request)
        if "remove" in heard.splitlines():
            return leave("remove", discard_changes=True)
        return in_order(enter(name="x"), agent("look", run_in_background=True))(request)

    tools = (hold_on,)
    pages = {"general-purpose": child}
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, tools=tools, **FREE) as crew:
        with trio.fail_after(60):
            await crew.run("go")
            await crew.run("remove")
            is_there = place_of(project, "x").exists()
            may_end.set()
            await crew.wait_quiet()
            await crew.run("remove")
    (refused,) = [message for message in main_messages(crew) if "nothing was removed" in message]
    assert "wait for their end" in refused
    assert is_there
    assert where[1] == str(place_of(project, "x"))
    assert not place_of(project, "x").exists()
    assert violations(crew) == []


async def test_it_stays_locked_while_somebody_works_there(tmp_path: Path, project: Path) -> None:
    """RC-77: main leaves, its agent works on; git's lock, and ours, go with the last one."""
    may_end = trio.Event()

    @tool(name="HoldOn")
    async def hold_on() -> str:
        """Wait until it is let go."""
        await may_end.wait()
        return "go"

    main = in_order(enter(name="x"), agent("look", run_in_background=True), leave("keep"), otherwise="Done.")
    pages = {"general-purpose": in_order(Call("HoldOn"), "Done.")}
    tools = (hold_on,)
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, tools=tools, **FREE) as crew:
        with trio.fail_after(60):
            await crew.run("go")
            assert "locked greenroom" in listed(project)
            with pytest.raises(WorktreeBusy):
                await Worktrees().open_for_session("x", cwd=project)
            may_end.set()
            await crew.wait_quiet()
        assert "locked greenroom" not in listed(project)
    assert place_of(project, "x").exists()


async def test_a_command_in_the_background_holds_it(tmp_path: Path, project: Path) -> None:
    calls = [enter(name="x"), Call("Bash", {"command": "sleep 600", "run_in_background": True}), leave("remove"), PWD]

    read: list[str] = []
    page = in_order(*calls, otherwise="Done.")

    def main(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return page(request)

    async with open_crew(tmp_path, main, wait_s=0) as crew:
        with trio.fail_after(60):
            await crew.run("go")

    assert "commands that still run" in read[3]
    assert read[4] == str(place_of(project, "x"))


async def test_a_sub_agent_goes_in_by_itself_and_its_worktree_stays(tmp_path: Path, project: Path) -> None:
    """Children in the background have the tools; what they went into is no agent's worktree, and is kept."""
    read: list[str] = []
    steps: list[AnswerLike] = [enter(name="its"), PWD, "Done."]

    def child(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return steps[len(read) - 1] if len(read) <= len(steps) else "Again."

    def main(request: ModelRequest) -> AnswerLike:
        first = agent("go", run_in_background=True, name="helper")
        return in_order(first, "Waiting.", bash("pwd"), otherwise="Noted.")(request)

    pages = {"general-purpose": child}
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, **FREE) as crew:
        with trio.fail_after(60):
            await crew.run("go")
            await crew.wait_quiet()
            (member,) = crew.pool.subagents.values()
            task = member.task
            assert crew.home.worktree is None
            await crew.post.send(member.id, "again", sender=crew.main.ref.id)
            await crew.wait_quiet()
            assert member.home.cwd == place_of(project, "its")
    assert read[2] == str(place_of(project, "its"))
    assert task.worktree == KeptWorktree(str(place_of(project, "its")), "worktree-its")
    assert place_of(project, "its").exists()
    assert violations(crew) == []


async def test_an_agent_in_a_worktree_of_its_own_stays_there(tmp_path: Path, project: Path) -> None:
    """An agent's worktree is cleaned up at its end, and never by ExitWorktree."""
    read: list[str] = []
    steps: list[AnswerLike] = [enter(name="x"), leave("remove", discard_changes=True), write("new.txt")]

    def child(request: ModelRequest) -> AnswerLike:
        read.append(last_texts(request))
        return steps[len(read) - 1] if len(read) <= len(steps) else "Done."

    main = in_order(agent("go", isolation="worktree"))
    pages = {"general-purpose": child}
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, **FREE) as crew:
        with trio.fail_after(60):
            await crew.run("go")
        (member,) = crew.pool.subagents.values()

    assert "a worktree of its own" in read[1]
    assert "has not entered a worktree" in read[2]
    assert branches(project) == ["main", f"worktree-agent-{member.id[:8]}"]


async def test_where_a_sub_agent_is_can_be_read_while_it_runs(tmp_path: Path, project: Path) -> None:
    """CL-32: whoever goes on with it after a crash finds it there. Mechanism: `Stays.on_move` writes its record."""
    records: list[dict[str, Any]] = []

    @tool(name="Look")
    async def look(ctx: ToolContext) -> str:
        """Look at what is kept of the caller."""
        await trio.lowlevel.checkpoint()
        record = crew.pool.subagents[ctx.actor].kept_record
        assert record is not None
        records.append(dict(record))
        return "seen"

    pages = {"general-purpose": in_order(enter(name="its"), Call("Look"), leave("keep"), Call("Look"), "Done.")}
    main = in_order(agent("go"))
    tools = (look,)
    async with open_crew(tmp_path, main, pages=pages, wait_s=0, tools=tools, **FREE) as crew:
        with trio.fail_after(60):
            await crew.run("go")

    tree = str(place_of(project, "its"))
    assert [record["worktree"] for record in records] == [tree, ""]
    assert [record["cwd"] for record in records] == [tree, str(project)]
    assert [record["roots"] for record in records] == [[tree], None]


# --- from the beginning, and again ---------------------------------------------------------------------------------------


# --- hooks --------------------------------------------------------------------------------------------------------------


def hooks(**commands: str) -> Mapping[str, Any]:
    return {"hooks": {name: [{"hooks": [{"type": "command", "command": one}]}] for name, one in commands.items()}}
