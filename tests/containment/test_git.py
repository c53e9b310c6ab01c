"""Git in a repository that names programs wherever it can."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from greenroom.containment import GitCalls, GitTooOld, run_git
from greenroom.session.equipment._environment_text import git_status
from greenroom.swarm.survey._changes import look_at_changes
from greenroom.worktrees import Worktrees, WorktreeSettings, run_process
from greenroom.worktrees._run_process import ProgramResult
from greenroom.worktrees._worktree_settings import BaseRef
from tests.containment.planted import FILTER, make_planted, ran
from tests.worktrees.repositories import NEEDS_GIT, commit, git, make_repository

pytestmark = NEEDS_GIT
WHO = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
UNTRUSTED = GitCalls(environ=os.environ)
TRUSTED = GitCalls(environ=os.environ, is_trusted=True)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


@pytest.fixture
def planted(tmp_path: Path, marks: Path) -> Path:
    repository = make_planted(tmp_path / "planted", marks)
    for name in ran(marks):  # what the test's own git ran
        (marks / name).unlink()
    return repository


def test_planted_programs_run_when_nothing_holds_them(planted: Path, marks: Path) -> None:
    """The other tests here would show nothing if git did not run them."""
    done = subprocess.run(["git", "-C", planted, "status"], capture_output=True, check=False, timeout=30)
    subprocess.run(["git", "-C", planted, "log", "-p"], capture_output=True, check=False, timeout=30)

    assert done.returncode in {0, 128}
    found = set(ran(marks))
    assert {"core-fsmonitor", "filter-plain-clean", "inner-fsmonitor"} & found
    assert len(found) >= 5, found


def test_status_and_review_of_an_untrusted_folder_run_nothing(planted: Path, marks: Path) -> None:
    status = git_status(planted, UNTRUSTED)
    review = look_at_changes(planted)

    assert ran(marks) == []
    assert " M a.txt" in status
    assert "- a.txt: 1" in review


async def test_worktrees_of_an_untrusted_folder_run_nothing(planted: Path, marks: Path) -> None:
    worktrees = Worktrees(WorktreeSettings(base_ref=BaseRef.FRESH))
    hold = await worktrees.open_for_agent("a0123456789abcdef", cwd=planted)
    (hold.worktree.path / "new.txt").write_text("new\n")
    text = git_status(hold.worktree.path, UNTRUSTED)
    kept = await hold.release()
    (hold.worktree.path / "new.txt").unlink()
    await worktrees.sweep(cwd=planted)

    assert ran(marks) == []
    assert "new.txt" in text
    assert (hold.worktree.path / "a.txt").read_text() == "first\n"
    assert kept.fate.value == "kept"


async def test_filters_and_hooks_of_a_trusted_folder_run_in_worktrees(tmp_path: Path) -> None:
    """What is kept in another form, such as by Git LFS, is what the files say there."""
    repository = make_repository(tmp_path / "mine")
    git(repository, "config", "filter.loud.smudge", "tr a-z A-Z")
    git(repository, "config", "filter.loud.clean", "cat")
    (repository / ".gitattributes").write_text("*.txt filter=loud\n")
    commit(repository, "loud")
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)

    quiet = await Worktrees().open_for_agent("a1", cwd=repository)
    assert (quiet.worktree.path / "file.txt").read_text() == "one\n"
    assert not (tmp_path / "hooked").exists()

    loud = await Worktrees(calls=TRUSTED).open_for_agent("a2", cwd=repository)
    assert (loud.worktree.path / "file.txt").read_text() == "ONE\n"
    assert (tmp_path / "hooked").exists()


def test_every_setting_that_names_a_program_is_overridden(planted: Path) -> None:
    listed = run_git(UNTRUSTED, planted, "config", "--list", "-z", timeout_s=10)
    last: dict[str, str] = {}
    for entry in listed.stdout.decode().split("\0"):
        name, _, value = entry.partition("\n")
        last[name] = value

    harmless = {"remote.origin.url", "remote.origin.uploadpack", "core.gitproxy", "diff.external"}
    named = {name for name, value in last.items() if "touch" in value and not name.startswith(("alias.", "include"))}
    # No protocol is allowed, and no external difference is asked for: these are never looked at.
    assert named - harmless <= {"uploadpack.packobjectshook", "interactive.difffilter"}
    assert last[f"filter.{FILTER}.clean"] == ""
    assert last[f"filter.{FILTER}.required"] == "false"


def test_variables_of_the_caller_reach_git_only_where_they_redirect_nothing(tmp_path: Path) -> None:
    environ = {
        **dict.fromkeys(("GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_PARAMETERS", "GIT_EXTERNAL_DIFF", "GIT_TRACE"), "x"),
        **dict.fromkeys(("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_KEY_0", "GIT_PROXY_COMMAND"), "x"),
        "ANTHROPIC_API_KEY": "sk-1",
        "PATH": "/bin",
    }

    environment = GitCalls(environ=environ).listing(tmp_path).environment

    assert "x" not in environment.values()
    assert "sk-1" not in environment.values()
    assert environment["PATH"] == "/bin"
    assert (environment["GIT_OPTIONAL_LOCKS"], environment["GIT_TERMINAL_PROMPT"]) == ("0", "0")


async def test_a_git_that_ignores_overrides_is_not_used(tmp_path: Path) -> None:
    """Before 2.31 git does not know `GIT_CONFIG_COUNT`: all of the repository's programs would run."""
    repository = make_repository(tmp_path / "r")

    async def old(command: Sequence[str], *, environment: Mapping[str, str], **options: Any) -> ProgramResult:
        kept = {name: value for name, value in environment.items() if not name.startswith("GIT_CONFIG_")}
        return await run_process(command, environment=kept, **options)

    with pytest.raises(GitTooOld):
        UNTRUSTED.call(repository, "status", settings=b"core.bare\0")
    with pytest.raises(Exception, match=r"git must be 2\.31 or later"):
        await Worktrees(run=old).check_repository(repository)
