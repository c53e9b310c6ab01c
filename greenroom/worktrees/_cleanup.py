"""Decision whether a worktree may be removed: only if it is proven that nothing would be lost.

Anything unknown keeps the tree. Examining and deciding are separate; the decision is pure. Files that the repository
ignores are not work; everything else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.worktrees._claims import Worktree
from greenroom.worktrees._git_runner import GitRunner, list_worktrees
from greenroom.worktrees._worktree_errors import WorktreeError

LOCK_REASON: Final = "greenroom"
"""Prefix of the reason of greenroom's locks."""

_OPERATIONS: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}


@final
class Commits(Enum):
    """Commits beyond the base that count as work."""

    ALL = "all"
    UNPUSHED = "unpushed"
    """Commits that no remote branch has."""
    UNIQUE = "unique"
    """Commits that no other branch, tag or remote branch has: they would be lost with the worktree and its branch."""


@final
@attrs.frozen(kw_only=True)
class WorktreeState:
    """Contents of a worktree."""

    branch: str
    """The branch that is checked out; empty for none."""
    tip: str = ""
    """The commit of the branch that was created for it; empty if the branch is gone."""
    changed: tuple[str, ...] = ()
    """Files that are modified, staged, in conflict or untracked."""
    hidden: tuple[str, ...] = ()
    """Files whose changes git was told to ignore."""
    commits: int = 0
    """Commits beyond the base, on its head or its branch."""
    operation: str = ""
    """An unfinished operation, such as a rebase."""
    repositories: tuple[str, ...] = ()
    """Repositories within ignored folders."""
    lock: str = ""
    """Reason of another program's lock."""


def why_kept(worktree: Worktree, standing: WorktreeState | None) -> str:
    """Return the reason for keeping a worktree; empty if it may be removed.

    Args:
        worktree: Its description at its creation.
        standing: Its contents; None if unknown.
    """
    if standing is None or not worktree.base or not worktree.branch:
        return "its changes cannot be determined"
    if standing.lock:
        return f"it is locked: {standing.lock}"
    if standing.changed:
        return f"uncommitted changes: {_shown(standing.changed)}"
    if standing.commits:
        return "1 new commit" if standing.commits == 1 else f"{standing.commits} new commits"
    if standing.operation:
        return f"{standing.operation} is not finished"
    if standing.hidden:
        return f"files whose changes git does not look at: {_shown(standing.hidden)}"
    if standing.repositories:
        return f"other repositories in it: {_shown(standing.repositories)}"
    if standing.branch not in ("", worktree.branch):
        return f"it is on another branch, {standing.branch!r}"
    return ""


def losses(standing: WorktreeState | None) -> tuple[str, ...]:
    """Return everything that would be lost with a worktree and its branch, a phrase each.

    Args:
        standing: Its contents, with `Commits.UNIQUE`; None if unknown.
    """
    if standing is None:
        return ("changes that cannot be determined",)
    lost = []
    if standing.changed:
        lost.append(f"{_counted(standing.changed, 'uncommitted file')} ({_shown(standing.changed)})")
    if standing.commits:
        lost.append("1 commit that is" if standing.commits == 1 else f"{standing.commits} commits that are")
        lost[-1] += " on no other branch"
    if standing.operation:
        lost.append(f"{standing.operation} that is not finished")
    if standing.hidden:
        files = _counted(standing.hidden, "file")
        lost.append(f"{files} whose changes git does not look at ({_shown(standing.hidden)})")
    if standing.repositories:
        others = "another repository" if len(standing.repositories) == 1 else "other repositories"
        lost.append(f"{others} in it ({_shown(standing.repositories)})")
    return tuple(lost)


def _counted(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}" if len(names) == 1 else f"{len(names)} {what}s"


def _shown(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


async def look(git: GitRunner, worktree: Worktree, *, counting: Commits = Commits.ALL) -> WorktreeState | None:
    """Return the contents of a worktree; None if git cannot tell.

    Args:
        git: Runs git.
        worktree: The worktree.
        counting: The commits that count.
    """
    try:
        listed = [
            registered for registered in await list_worktrees(git, worktree.root) if registered.path == worktree.path
        ]
        if not listed or not worktree.base:
            return None
        path = worktree.path
        status = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames")
        lock = listed[0].lock
        return WorktreeState(
            branch=listed[0].branch,
            changed=tuple(line[3:] for line in await git.items_of(path, *status)),
            hidden=await _hidden(git, path),
            tip=(tip := await _tip(git, worktree)),
            commits=await _commits(git, worktree, tip, counting=counting),
            operation=await _operation(git, path),
            repositories=await _repositories(git, path),
            lock=lock or "without a reason" if lock is not None and not lock.startswith(LOCK_REASON) else "",
        )
    except WorktreeError:
        return None


async def _hidden(git: GitRunner, path: Path) -> tuple[str, ...]:
    # Lower case: assume-unchanged. `S`: outside a sparse checkout, so the file should not exist.
    lines = await git.items_of(path, "ls-files", "-v", "-z")
    return tuple(line[2:] for line in lines if line[0].islower() or (line[0] == "S" and (path / line[2:]).exists()))


async def _tip(git: GitRunner, worktree: Worktree) -> str:
    branch = f"refs/heads/{worktree.branch}"
    return await git.text_of(worktree.root, "for-each-ref", "--format=%(objectname)", branch) if worktree.branch else ""


async def _commits(git: GitRunner, worktree: Worktree, tip: str, *, counting: Commits) -> int:
    others = {
        Commits.ALL: [],
        Commits.UNPUSHED: ["--not", "--remotes"],
        Commits.UNIQUE: ["--not", f"--exclude={worktree.branch}", "--branches", "--tags", "--remotes"],
    }
    heads = ["HEAD", tip] if tip else ["HEAD"]
    return int(await git.text_of(worktree.path, "rev-list", "--count", *heads, f"^{worktree.base}", *others[counting]))


async def _operation(git: GitRunner, path: Path) -> str:
    own = Path(await git.text_of(path, "rev-parse", "--absolute-git-dir"))
    return next((words for name, words in _OPERATIONS.items() if (own / name).exists()), "")


async def _repositories(git: GitRunner, path: Path) -> tuple[str, ...]:
    listing = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    folders = [item for item in await git.items_of(path, *listing) if item.endswith("/")]
    return tuple(folder for folder in folders if (path / folder / ".git").exists())
