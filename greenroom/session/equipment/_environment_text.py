"""The description of the place where an agent works: the folder, the machine, the day, and how the repository stood at first.

Rule 1: git is only asked, for a moment, and runs no program of the repository's. Rule 2: what cannot be found out is left out.
"""

from __future__ import annotations

import platform
import re
import subprocess
from datetime import date
from pathlib import Path
from typing import Final

from greenroom.containment import GitCalls, GitTooOld, run_git
from greenroom.core.texts import escape_text

GIT: Final = "# Git"
"""Opening of the part about the repository."""
TIMEOUT_S: Final = 2.0
MAX_LINES: Final = 30
MAX_COMMITS: Final = 5
_BRANCH: Final = re.compile(
    r"^Branch: (?:No commits yet on )?(?P<name>(?!HEAD \()\S+?)(?:\.\.\.\S+)?(?: \[[^]]*\])?$", re.MULTILINE
)


def environment_text(folder: Path, day: date, git: str = "") -> str:
    """Return it as a part of a system prompt.

    Args:
        folder: Where the agent works.
        day: Today.
        git: What `git_status` said; empty for nothing of it.
    """
    said = f"# Environment\n\nWorking directory: {folder}\nPlatform: {platform.system()}\nToday: {day.isoformat()}"
    return f"{said}\n\n{git}" if git else said


def git_status(folder: Path, git: GitCalls) -> str:
    """Return how the repository around a folder stands; empty where there is none. Looks at the disk; blocks."""
    status = _ask(git, folder, "status", "--short", "--branch", "--untracked-files=normal")
    if not status:
        return ""
    branch, *changes = status.splitlines()
    shown = changes[:MAX_LINES]
    if len(changes) > MAX_LINES:
        shown.append(f"and {len(changes) - MAX_LINES} more")
    parts = [
        f"{GIT}\n\nWhen the session began, in {folder}; it is not kept up to date.\nBranch: {branch.removeprefix('## ')}"
    ]
    parts.append("\n".join(["Changed files:", *shown]) if changes else "No changed files.")
    commits = _ask(git, folder, "log", "--oneline", "--no-decorate", f"-{MAX_COMMITS}")
    if commits:
        parts.append(f"Latest commits:\n{commits.rstrip()}")
    return escape_text("\n".join(parts))  # names of files and subjects of commits are anybody's


def branch_in(git: str) -> str:
    """Return the branch that `git_status` told of; empty where it told of none: outside of a repository, or between branches."""
    found = _BRANCH.search(git)
    return "" if found is None else found["name"]


def _ask(git: GitCalls, folder: Path, *arguments: str) -> str:
    try:
        done = run_git(git, folder, *arguments, timeout_s=TIMEOUT_S)
    except (OSError, GitTooOld, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout.decode(errors="replace")
