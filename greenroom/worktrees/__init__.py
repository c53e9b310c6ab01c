"""Worktrees of git: a checkout of its own for an agent, locked while it is used, removed when nothing would be lost."""

from greenroom.worktrees._caretaker import Fate, Release
from greenroom.worktrees._claims import Kind, Worktree
from greenroom.worktrees._cleanup import Standing, why_kept
from greenroom.worktrees._confinement import confine_path, why_refused
from greenroom.worktrees._errors import GitFailed, NoRepository, UnsafeWorktree, WorktreeBusy, WorktreeError
from greenroom.worktrees._events import (
    EVENTS,
    WorktreeAdopted,
    WorktreeIntended,
    WorktreeKept,
    WorktreeMade,
    WorktreeNotMade,
    WorktreeRemovalIntended,
    WorktreeRemoved,
)
from greenroom.worktrees._git import clean_environment
from greenroom.worktrees._making import WorktreeHooks
from greenroom.worktrees._names import agent_name, check_name, slug_of
from greenroom.worktrees._processes import ProcessEnd, RunProcess, run_process
from greenroom.worktrees._settings import BaseRef, WorktreeSettings
from greenroom.worktrees._worktrees import Hold, Worktrees

__all__ = [
    "EVENTS",
    "BaseRef",
    "Fate",
    "GitFailed",
    "Hold",
    "Kind",
    "NoRepository",
    "ProcessEnd",
    "Release",
    "RunProcess",
    "Standing",
    "UnsafeWorktree",
    "Worktree",
    "WorktreeAdopted",
    "WorktreeBusy",
    "WorktreeError",
    "WorktreeHooks",
    "WorktreeIntended",
    "WorktreeKept",
    "WorktreeMade",
    "WorktreeNotMade",
    "WorktreeRemovalIntended",
    "WorktreeRemoved",
    "WorktreeSettings",
    "Worktrees",
    "agent_name",
    "check_name",
    "clean_environment",
    "confine_path",
    "run_process",
    "slug_of",
    "why_kept",
    "why_refused",
]
