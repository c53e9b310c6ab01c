"""Worktrees of git: a checkout of its own for an agent, locked while it is used, removed when nothing would be lost."""

from greenroom.worktrees._caretaker import Fate, Release
from greenroom.worktrees._claims import Kind, Worktree
from greenroom.worktrees._cleanup import Commits, Standing, losses, why_kept
from greenroom.worktrees._confinement import confine_path, why_refused
from greenroom.worktrees._errors import (
    GitFailed,
    NoRepository,
    UnsafeWorktree,
    WorktreeBusy,
    WorktreeError,
    WouldLoseWork,
)
from greenroom.worktrees._events import (
    EVENTS,
    WorktreeAdopted,
    WorktreeEntered,
    WorktreeIntended,
    WorktreeKept,
    WorktreeLeft,
    WorktreeMade,
    WorktreeNotMade,
    WorktreeRemovalIntended,
    WorktreeRemoved,
)
from greenroom.worktrees._making import WorktreeHooks
from greenroom.worktrees._names import agent_name, check_name, slug_of
from greenroom.worktrees._processes import ProcessEnd, RunProcess, run_process
from greenroom.worktrees._settings import BaseRef, WorktreeSettings
from greenroom.worktrees._worktrees import Hold, Worktrees

__all__ = [
    "EVENTS",
    "BaseRef",
    "Commits",
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
    "WorktreeEntered",
    "WorktreeError",
    "WorktreeHooks",
    "WorktreeIntended",
    "WorktreeKept",
    "WorktreeLeft",
    "WorktreeMade",
    "WorktreeNotMade",
    "WorktreeRemovalIntended",
    "WorktreeRemoved",
    "WorktreeSettings",
    "Worktrees",
    "WouldLoseWork",
    "agent_name",
    "check_name",
    "confine_path",
    "losses",
    "run_process",
    "slug_of",
    "why_kept",
    "why_refused",
]
