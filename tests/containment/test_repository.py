"""Programs that a repository names and git may run for a command that only reads, held against what git does run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

from greenroom.containment import repository_programs
from tests.containment.planted import SETTINGS, make_planted, mark, ran
from tests.worktrees.repositories import NEEDS_GIT, commit, git, make_repository

pytestmark = NEEDS_GIT
READS: Final = (
    *("status", "diff --submodule=diff", "diff --cached", "log -p --remerge-diff", "show", "blame a.txt", "grep other"),
    *("describe --always --dirty", "branch -av", "rev-list --objects HEAD"),
)
ORDINARY: Final = {
    "user.name": "a",
    "remote.origin.url": "https://example.com/a.git",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
    "branch.main.remote": "origin",
    "branch.main.merge": "refs/heads/main",
    "core.hooksPath": ".husky/_",
    "core.fsmonitor": "true",
    "core.autocrlf": "input",
    "core.sshCommand": "ssh -i key",
    "pull.rebase": "true",
    "lfs.repositoryformatversion": "0",
    "http.https://example.com/.extraheader": "AUTHORIZATION: basic x",
    "submodule.active": ".",
    "diff.algorithm": "histogram",
    "diff.lock.xfuncname": "^x",
    "alias.st": "status",
}


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with changed files, and attributes that name drivers and filters that are set nowhere."""
    made = make_repository(tmp_path / "mine")
    (made / ".gitattributes").write_text("*.txt filter=plain diff=evil merge=evil\n*.md filter=evil\n")
    for name in ("a.txt", "b.md"):
        (made / name).write_text("first\n")
    git(made, "add", "--all")
    commit(made, "second")
    for name in ("a.txt", "b.md"):
        (made / name).write_text("other\n")
    return made


def read_everything(folder: Path) -> None:
    script = "\n".join(f"git {command}" for command in READS)
    subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, check=False, timeout=60)


def test_setting_that_git_runs_is_named(repository: Path, marks: Path) -> None:
    names = (*SETTINGS, "diff.evil.textconv", "mergetool.x.cmd", "hook.x.command", "pretty.x", "later.new")
    unnamed, unheld, effective = [], [], set()
    for name in names:
        git(repository, "config", name, SETTINGS.get(name, "{}; cat").format(mark(marks, name)))
        named = {program.lower() for program in repository_programs(repository)}
        unheld += ran(marks)
        read_everything(repository)
        if ran(marks):
            effective.add(name)
            unnamed += [name] if name.lower() not in named else []
        for left in ran(marks):
            (marks / left).unlink()
        git(repository, "config", "--unset", name)

    assert (unnamed, unheld) == ([], [])
    assert {"core.fsmonitor", "diff.external", "diff.evil.textconv", "filter.plain.clean"} <= effective


def test_settings_of_ordinary_repositories_are_not_named(repository: Path) -> None:
    for name, value in ORDINARY.items():
        git(repository, "config", name, value)

    assert repository_programs(repository) == ()
    assert repository_programs(repository / ".git") == ()


def test_settings_that_are_included_or_of_a_worktree_are_named(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("[diff]\n\texternal = touch x\n")
    git(repository, "config", "includeIf.onbranch:**.path", str(tmp_path / "more"))
    git(repository, "config", "extensions.worktreeConfig", "true")
    git(repository, "config", "--worktree", "core.pager", "touch x")

    assert {"diff.external", "core.pager"} <= set(repository_programs(repository))


def test_hook_of_the_index_is_named_wherever_it_lies(repository: Path, tmp_path: Path, marks: Path) -> None:
    hook = tmp_path / "hooks" / "post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\n{mark(marks, 'hook')}\n")
    hook.chmod(0o755)
    git(repository, "config", "core.hooksPath", str(hook.parent))

    (repository / "file.txt").touch()  # `git status` then writes the index anew

    assert repository_programs(repository) == ("hooks/post-index-change",)
    read_everything(repository)
    assert ran(marks) == ["hook"]


@pytest.mark.parametrize("name", ["core.fsmonitor", "filter.plain.clean", "core.worktree"])
def test_submodules_are_looked_at_with_their_own_settings(name: str, repository: Path, marks: Path) -> None:
    inner = make_repository(repository / "deep" / "inner")
    (inner / ".gitattributes").write_text("* filter=plain\n")
    commit(inner, "attributes")
    git(repository, "add", "deep")
    commit(repository, "a submodule")
    assert repository_programs(repository) == ()

    git(inner, "config", name, "/" if name == "core.worktree" else f"{mark(marks, name)}; cat")
    (inner / "file.txt").write_text("two\n")

    assert repository_programs(repository / "deep") == (name,)
    assert ran(marks) == []
    if name != "core.worktree":
        read_everything(repository)
        assert len(ran(marks)) == 1


def test_repository_that_cannot_be_read_is_not_known(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "config").write_text("[core\n")

    assert repository_programs(repository) == ("settings that cannot be read",)
    assert repository_programs(tmp_path) == ()


def test_looking_runs_nothing_of_a_repository(tmp_path: Path) -> None:
    marks = tmp_path / "planted-marks"
    planted = make_planted(tmp_path / "planted", marks)
    for name in ran(marks):  # what the test's own git ran
        (marks / name).unlink()

    named = repository_programs(planted)

    assert ran(marks) == []
    assert {"core.fsmonitor", "diff.external", "filter.evil.process", "hooks/post-index-change"} <= set(named)
