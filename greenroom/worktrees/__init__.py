"""Git worktrees: a separate checkout for an agent, locked while it is used, removed if nothing would be lost."""

from greenroom.worktrees._caretaker import Fate, Release
from greenroom.worktrees._claims import Worktree, WorktreeKind
from greenroom.worktrees._confinement import confine_path, why_refused
from greenroom.worktrees._creation import WorktreeHooks
from greenroom.worktrees._holds import Hold
from greenroom.worktrees._run_process import run_process
from greenroom.worktrees._worktree_errors import (
    GitFailed,
    NoRepository,
    UnsafeWorktree,
    WorktreeBusy,
    WorktreeError,
    WouldLoseWork,
)
from greenroom.worktrees._worktree_events import (
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
from greenroom.worktrees._worktree_names import check_name
from greenroom.worktrees._worktree_settings import BaseRef, WorktreeSettings
from greenroom.worktrees._worktrees import Worktrees

__all__ = [
    "EVENTS",
    "BaseRef",
    "Fate",
    "GitFailed",
    "Hold",
    "NoRepository",
    "Release",
    "UnsafeWorktree",
    "Worktree",
    "WorktreeAdopted",
    "WorktreeBusy",
    "WorktreeEntered",
    "WorktreeError",
    "WorktreeHooks",
    "WorktreeIntended",
    "WorktreeKept",
    "WorktreeKind",
    "WorktreeLeft",
    "WorktreeMade",
    "WorktreeNotMade",
    "WorktreeRemovalIntended",
    "WorktreeRemoved",
    "WorktreeSettings",
    "Worktrees",
    "WouldLoseWork",
    "check_name",
    "confine_path",
    "run_process",
    "why_refused",
]
