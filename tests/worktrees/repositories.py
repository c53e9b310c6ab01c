"""Real repositories of git in a folder of the test."""

from __future__ import annotations

import os
import shutil
import subprocess
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
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "file.txt").write_text("one\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "other.txt").write_text("two\n")
    (folder / ".gitignore").write_text("*.log\n.env\nvendor/\n.greenroom/\n")
    commit(folder, "first")
    return folder.resolve()


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def branches(folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()


def listed(folder: Path) -> str:
    return git(folder, "worktree", "list", "--porcelain")
