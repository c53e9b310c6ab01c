"""Real repositories of git in a folder of the test."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from greenroom.containment._git_calls import clean_environment

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *arguments]
    environment = clean_environment(os.environ) | WHO
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    shutil.copytree(_first_repository(), folder, symlinks=True)
    git(folder, "update-index", "-q", "--refresh")  # it holds when and where each file was written
    return folder.resolve()


@functools.cache
def _first_repository() -> Path:
    """Return a repository that the others are copies of: to copy it is cheaper than three commands of git."""
    place = tempfile.mkdtemp(prefix="greenroom-repository-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    folder = Path(place) / "first"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "file.txt").write_text("one\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "other.txt").write_text("two\n")
    (folder / ".gitignore").write_text("*.log\n.env\nvendor/\n.greenroom/\n")
    commit(folder, "first")
    for sample in (folder / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    return folder


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def branches(folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()


def listed(folder: Path) -> str:
    return git(folder, "worktree", "list", "--porcelain")
