"""Git worktrees: a separate checkout for an agent, locked while it is used, removed if nothing would be lost."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.worktrees._caretaker": ("Fate", "Release"),
            "greenroom.worktrees._claims": ("Worktree", "WorktreeKind"),
            "greenroom.worktrees._confinement": ("confine_path", "why_refused"),
            "greenroom.worktrees._creation": ("WorktreeHooks",),
            "greenroom.worktrees._holds": ("Hold",),
            "greenroom.worktrees._run_process": ("run_process",),
            "greenroom.worktrees._worktree_errors": (
                "GitFailed",
                "NoRepository",
                "UnsafeWorktree",
                "WorktreeBusy",
                "WorktreeError",
                "WouldLoseWork",
            ),
            "greenroom.worktrees._worktree_events": (
                "EVENTS",
                "WorktreeAdopted",
                "WorktreeEntered",
                "WorktreeIntended",
                "WorktreeKept",
                "WorktreeLeft",
                "WorktreeMade",
                "WorktreeNotMade",
                "WorktreeRemovalIntended",
                "WorktreeRemoved",
            ),
            "greenroom.worktrees._worktree_names": ("check_name",),
            "greenroom.worktrees._worktree_settings": ("BaseRef", "WorktreeSettings"),
            "greenroom.worktrees._worktrees": ("Worktrees",),
        },
    )

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
