"""Making a worktree: by git, or by whatever hook the user put in its place.

Rule 1: what was not made whole is undone, as far as nothing can be lost by that. Rule 2: what comes back is known to be
a checkout of its own. Rule 3: nothing is followed through a link.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import trio

from greenroom.worktrees._claims import Worktree
from greenroom.worktrees._cleanup import LOCK_REASON
from greenroom.worktrees._errors import UnsafeWorktree, WorktreeError
from greenroom.worktrees._git import Git, Repository, last_line
from greenroom.worktrees._settings import (
    CLEANUP_TIMEOUT_S,
    FETCH_AGE_S,
    FETCH_TIMEOUT_S,
    PULL_TIMEOUT_S,
    BaseRef,
    WorktreeSettings,
)

INCLUDE: Final = ".worktreeinclude"


class WorktreeHooks(Protocol):
    """The hooks `WorktreeCreate` and `WorktreeRemove`."""

    async def create(self, name: str, *, cwd: Path) -> str | None:
        """Make a worktree and return its path; None where no such hook is configured, and git is to do it.

        Raises:
            WorktreeError: The hook failed. That fails the creation.
        """
        ...

    async def remove(self, path: Path) -> bool:
        """Remove a worktree that `create` made; False where no such hook is configured.

        Raises:
            WorktreeError: The hook failed; the worktree counts as kept.
        """
        ...


class NoHooks:
    """No hook is configured."""

    async def create(self, name: str, *, cwd: Path) -> str | None:
        """Leave it to git."""
        return None

    async def remove(self, path: Path) -> bool:
        """Do nothing."""
        return False


async def base_commit(git: Git, repository: Repository, settings: WorktreeSettings, now: datetime) -> str:
    """Return the commit that a worktree starts from."""
    if settings.base_ref is BaseRef.HEAD:
        return repository.head
    default = await git.end_of(repository.here, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
    ref = os.fsdecode(default.stdout).strip()
    if default.returncode or not ref:
        return repository.head
    common = Path(await git.text_of(repository.here, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    fetched = common / "FETCH_HEAD"
    is_old = not fetched.exists() or now.timestamp() - fetched.stat().st_mtime > FETCH_AGE_S
    if git.asks_remotes and is_old:
        with trio.move_on_after(FETCH_TIMEOUT_S):  # a remote that cannot be reached now: what is known of it will do
            await git.end_of(repository.here, "fetch", "--quiet", "--no-recurse-submodules", "origin")
    commit = await git.end_of(repository.here, "rev-parse", "--verify", "--quiet", ref + "^{commit}")
    return os.fsdecode(commit.stdout).strip() or repository.head


async def pull_commit(git: Git, repository: Repository, number: int) -> str:
    """Return the commit at the head of a pull request, fetched from the remote `origin`; at most 60 s.

    Raises:
        WorktreeError: There is no such remote, it has no such request, or it cannot be reached.
    """
    where, name = repository.here, f"#{number}"
    remote = await git.end_of(where, "remote", "get-url", "origin")
    if remote.returncode:
        raise WorktreeError(f"{where} has no remote origin to fetch the pull request {name} from")
    if not git.asks_remotes:
        raise WorktreeError(f"the pull request {name} cannot be fetched: the folder is not trusted (--trust)")
    ref = f"refs/greenroom/pull-{number}"
    fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin", f"+refs/pull/{number}/head:{ref}")
    end = None
    with trio.move_on_after(PULL_TIMEOUT_S):
        end = await git.end_of(where, *fetch)
    if end is None:
        raise WorktreeError(f"origin did not give the pull request {name} within {PULL_TIMEOUT_S:g} s")
    if end.returncode:
        why = "it has none of that number, or knows no pull requests"
        said = last_line(end.stderr)
        if "couldn't find remote ref" not in said:
            why = said or f"exit status {end.returncode}"
        raise WorktreeError(f"the pull request {name} cannot be fetched from origin: {why}")
    try:
        return await git.text_of(where, "rev-parse", "--verify", ref + "^{commit}")
    finally:
        with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
            await git.end_of(where, "update-ref", "-d", ref)  # the branch of the worktree holds it from now on


async def add_by_git(git: Git, worktree: Worktree, settings: WorktreeSettings) -> None:
    """Make the checkout and its branch, locked.

    Raises:
        WorktreeError: Git refused, or what it made isolates nobody.
    """
    lock = ["--lock", "--reason", f"{LOCK_REASON}: in use by process {os.getpid()}"]
    path = str(worktree.path)
    try:
        add = ("worktree", "add", "--quiet", "--no-track", "--no-checkout", *lock)
        await git.bytes_of(worktree.root, *add, "-b", worktree.branch, path, worktree.base)
        if settings.sparse_paths:
            await git.bytes_of(worktree.path, "sparse-checkout", "set", "--cone", *settings.sparse_paths)
        # On its own: settings may count in this worktree alone (`includeIf`), and what they name must be known by now.
        await git.bytes_of(worktree.path, "checkout", "--quiet")
        await check_identity(git, worktree)
    except BaseException:
        with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
            await undo(git, worktree)
        raise


async def undo(git: Git, worktree: Worktree) -> None:
    """Take back a creation that did not end: a checkout that git finds clean, and a branch that still is at its base."""
    await git.end_of(worktree.root, "worktree", "unlock", str(worktree.path))
    if worktree.path.exists():
        await git.end_of(worktree.root, "worktree", "remove", str(worktree.path), visited=(worktree.path,))
    else:
        await git.end_of(worktree.root, "worktree", "prune")
    if not worktree.path.exists():
        await git.end_of(worktree.root, "update-ref", "-d", f"refs/heads/{worktree.branch}", worktree.base)


async def check_identity(git: Git, worktree: Worktree) -> None:
    """Check that git, asked in the worktree, speaks of the worktree.

    Raises:
        UnsafeWorktree: It speaks of another checkout.
    """
    asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
    end = await git.end_of(worktree.path, *asked)
    if end.returncode:
        raise UnsafeWorktree(worktree.path, last_line(end.stderr))
    top, own, common = os.fsdecode(end.stdout).splitlines()
    if Path(top) != worktree.path.resolve() or own == common:
        raise UnsafeWorktree(worktree.path, f"git takes it for {top}")


def check_hook_path(said: str, *, name: str, root: Path) -> Path:
    """Return the folder that a hook names.

    Raises:
        WorktreeError: It names none.
        UnsafeWorktree: It leads somewhere else, or to the main checkout.
    """
    if not said.strip():
        raise WorktreeError(f"the WorktreeCreate hook made no worktree {name!r}: it printed no path")
    path = root / said.strip()
    if ".." in path.parts:
        raise UnsafeWorktree(path, "it goes through '..'")
    if not path.is_dir():
        raise UnsafeWorktree(path, "it is no folder")
    below = [path, *path.parents]
    if root in below:
        for each in below[: below.index(root)]:
            if each.is_symlink():
                raise UnsafeWorktree(path, f"{each} is a link")
    real, real_root = path.resolve(), root.resolve()
    if real_root.is_relative_to(real):
        raise UnsafeWorktree(path, "it holds the main checkout")
    return real


async def included(git: Git, repository: Repository) -> list[str]:
    """Return the files that `.worktreeinclude` names and the repository ignores, relative to the checkout."""
    if not (repository.here / INCLUDE).is_file():
        return []
    listing = ("ls-files", "--others", "--ignored", f"--exclude-from={INCLUDE}", "-z")
    named = await git.items_of(repository.here, *listing)
    if not named:
        return []
    asked = b"".join(os.fsencode(name) + b"\0" for name in named)
    end = await git.end_of(repository.here, "check-ignore", "-z", "--stdin", stdin=asked)  # 1: none of them
    ignored = [os.fsdecode(name) for name in end.stdout.split(b"\0") if name]
    return [name for name in ignored if Path(name).parts[0] != ".greenroom"]


def copy_files(names: Iterable[str], source: Path, target: Path) -> None:
    """Copy files into a fresh checkout; links stay links, and what is there stays.

    Raises:
        OSError: The disk is full, or the like.
    """
    for name in names:
        new = target / name
        if new.exists() or new.is_symlink() or not new.parent.resolve().is_relative_to(target.resolve()):
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, new, follow_symlinks=False)
