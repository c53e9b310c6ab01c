"""`greenroom run --worktree`: in a real repository, against a Messages server on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.cli._run_flags import with_values
from greenroom.models import Call, WrittenAnswer
from tests.cli.place import Place
from tests.worktrees.repositories import NEEDS_GIT, branches, commit, git, listed

pytestmark = NEEDS_GIT
WRITE = WrittenAnswer([Call("Write", {"file_path": "new.txt", "content": "new\n"}, id="toolu_w")])
AS_EDITOR = ("--permission-mode", "acceptEdits")


@pytest.fixture
def project(place: Place) -> Path:
    git(place.folder, "init", "--quiet", "--initial-branch=main")
    (place.folder / ".gitignore").write_text(".greenroom/\n")
    commit(place.folder, "first")
    return place.folder


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["run", "-w"], ["run", "--worktree="]),
        (["run", "p", "--worktree"], ["run", "p", "--worktree="]),
        (["run", "-w", "--json", "p"], ["run", "--worktree=", "--json", "p"]),
        (["run", "-w", "name", "p"], ["run", "-w", "name", "p"]),
        (["run", "--worktree=name"], ["run", "--worktree=name"]),
        (["run", "-w", "--", "p"], ["run", "--worktree=", "--", "p"]),
        (["run", "--", "-w"], ["run", "--", "-w"]),
    ],
)
def test_the_name_may_be_left_out(said: list[str], read: list[str]) -> None:
    assert with_values(said) == read


def test_the_run_works_in_its_worktree_and_leaves_it_there_locked(place: Place, project: Path) -> None:
    done, requests = place.run(
        [WRITE, "Done."], "-w", "feature", "Write it.", *AS_EDITOR, "--output-format", "stream-json"
    )

    tree = project / ".greenroom" / "worktrees" / "feature"
    assert done.code == 0, done.err
    assert done.lines[0]["cwd"] == str(tree)
    assert {"EnterWorktree", "ExitWorktree"} <= set(done.lines[0]["tools"])
    assert (tree / "new.txt").read_text() == "new\n"
    assert not (project / "new.txt").exists()
    assert "locked greenroom" in listed(project)
    assert "works in the worktree .greenroom/worktrees/feature;" in done.err
    assert str(tree) in str(requests[0].body["system"])

    done, requests = place.run(["Still here."], "--resume", "last", "Where are you?")
    assert done == type(done)(0, "Still here.\n", done.err)
    assert "works in the worktree .greenroom/worktrees/feature;" in done.err


def test_a_bare_flag_makes_up_a_name(place: Place, project: Path) -> None:
    done, _ = place.run(["Hello."], "Hello?", "-w")

    assert done.code == 0, done.err
    (branch,) = [branch for branch in branches(project) if branch != "main"]
    assert branch.startswith("worktree-")


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("-w", "Fix the bug."), 2, "put the prompt before it"),
        (("-w", "a/b", "Fix it."), 2, "for example 'a-b'"),
        (("-w", "#12", "Look."), 1, "no remote origin to fetch the pull request #12 from"),
        (("-w", "#x", "Look."), 2, "such as '#12'"),
    ],
)
def test_a_mistake_is_one_clear_line(
    place: Place, project: Path, arguments: tuple[str, ...], code: int, why: str
) -> None:
    done, requests = place.run([], *arguments)

    assert (done.code, done.out, requests) == (code, "", [])
    assert why in done.err
    assert len(done.err.splitlines()) == 1
    assert branches(project) == ["main"]


def test_without_a_repository_nothing_begins(place: Place) -> None:
    done, requests = place.run([], "Fix it.", "-w")

    assert (done.code, done.out, requests) == (2, "", [])
    assert "is not in a git repository" in done.err
    assert list((place.root / "runs").glob("2*")) == []
