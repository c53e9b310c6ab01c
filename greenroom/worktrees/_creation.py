"""Creation of worktrees, by git or by a user's hook.

An incomplete creation is undone as far as nothing can be lost. The result is verified to be a separate checkout. Links
are never followed.
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
from greenroom.worktrees._git_runner import GitRunner, Repository, last_line
from greenroom.worktrees._worktree_errors import UnsafeWorktree, WorktreeError
from greenroom.worktrees._worktree_settings import (
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
        """Create a worktree and return its path; None if no such hook is configured and git should do it.

        Raises:
            WorktreeError: The hook failed, and so the creation.
        """
        ...

    async def remove(self, path: Path) -> bool:
        """Remove a worktree that `create` made; False if no such hook is configured.

        Raises:
            WorktreeError: The hook failed; the worktree is kept.
        """
        ...


class NoHooks:
    """No hooks configured."""

    async def create(self, name: str, *, cwd: Path) -> str | None:
        """Return None, so that git does it."""
        return None

    async def remove(self, path: Path) -> bool:
        """Return False."""
        return False


async def base_commit(git: GitRunner, repository: Repository, settings: WorktreeSettings, now: datetime) -> str:
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
        with trio.move_on_after(FETCH_TIMEOUT_S):  # if the remote cannot be reached now, the known state is used
            await git.end_of(repository.here, "fetch", "--quiet", "--no-recurse-submodules", "origin")
    commit = await git.end_of(repository.here, "rev-parse", "--verify", "--quiet", ref + "^{commit}")
    return os.fsdecode(commit.stdout).strip() or repository.head


async def pull_commit(git: GitRunner, repository: Repository, number: int) -> str:
    """Return the commit at the head of a pull request, fetched from the remote `origin` within 60 s.

    Raises:
        WorktreeError: The remote or the pull request does not exist, or cannot be reached.
    """
    where, name = repository.here, f"#{number}"
    remote = await git.end_of(where, "remote", "get-url", "origin")
    if remote.returncode:
        raise WorktreeError(f"{where} has no remote origin to fetch the pull request {name} from")
    if not git.asks_remotes:
        raise WorktreeError(f"cannot fetch pull request {name}: the folder is not trusted (--trust)")
    ref = f"refs/greenroom/pull-{number}"
    fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin", f"+refs/pull/{number}/head:{ref}")
    end = None
    with trio.move_on_after(PULL_TIMEOUT_S):
        end = await git.end_of(where, *fetch)
    if end is None:
        raise WorktreeError(f"cannot fetch pull request {name}: no answer from origin within {PULL_TIMEOUT_S:g} s")
    if end.returncode:
        why = "it does not exist, or the server has no pull requests"
        said = last_line(end.stderr)
        if "couldn't find remote ref" not in said:
            why = said or f"exit status {end.returncode}"
        raise WorktreeError(f"cannot fetch pull request {name} from origin: {why}")
    try:
        return await git.text_of(where, "rev-parse", "--verify", ref + "^{commit}")
    finally:
        with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
            await git.end_of(where, "update-ref", "-d", ref)  # the worktree's branch holds it from now on


async def add_by_git(git: GitRunner, worktree: Worktree, settings: WorktreeSettings) -> None:
    """Create the checkout and its branch, locked.

    Raises:
        WorktreeError: Git refused, or the result would not isolate its user.
    """
    lock = ["--lock", "--reason", f"{LOCK_REASON}: in use by process {os.getpid()}"]
    path = str(worktree.path)
    try:
        add = ("worktree", "add", "--quiet", "--no-track", "--no-checkout", *lock)
        await git.bytes_of(worktree.root, *add, "-b", worktree.branch, path, worktree.base)
        if settings.sparse_paths:
            await git.bytes_of(worktree.path, "sparse-checkout", "set", "--cone", *settings.sparse_paths)
        # A separate step: settings may apply to this worktree alone (`includeIf`), and their contents must be known by
        # now.
        await git.bytes_of(worktree.path, "checkout", "--quiet")
        await check_identity(git, worktree)
    except BaseException:
        with trio.move_on_after(CLEANUP_TIMEOUT_S, shield=True):
            await undo(git, worktree)
        raise


async def undo(git: GitRunner, worktree: Worktree) -> None:
    """Undo an incomplete creation: a checkout that git finds clean, and a branch that is still at its base."""
    await git.end_of(worktree.root, "worktree", "unlock", str(worktree.path))
    if worktree.path.exists():
        await git.end_of(worktree.root, "worktree", "remove", str(worktree.path), visited=(worktree.path,))
    else:
        await git.end_of(worktree.root, "worktree", "prune")
    if not worktree.path.exists():
        await git.end_of(worktree.root, "update-ref", "-d", f"refs/heads/{worktree.branch}", worktree.base)


async def check_identity(git: GitRunner, worktree: Worktree) -> None:
    """Check that git, run in the worktree, refers to the worktree.

    Raises:
        UnsafeWorktree: It refers to another checkout.
    """
    asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
    end = await git.end_of(worktree.path, *asked)
    if end.returncode:
        raise UnsafeWorktree(worktree.path, last_line(end.stderr))
    top, own, common = os.fsdecode(end.stdout).splitlines()
    if Path(top) != worktree.path.resolve() or own == common:
        raise UnsafeWorktree(worktree.path, f"git considers it to be {top}")


def check_hook_path(said: str, *, name: str, root: Path) -> Path:
    """Return the folder that a hook printed.

    Raises:
        WorktreeError: It printed none.
        UnsafeWorktree: It leads elsewhere, or to the main checkout.
    """
    if not said.strip():
        raise WorktreeError(f"the WorktreeCreate hook created no worktree {name!r}: it printed no path")
    path = root / said.strip()
    if ".." in path.parts:
        raise UnsafeWorktree(path, "it goes through '..'")
    if not path.is_dir():
        raise UnsafeWorktree(path, "it is not a directory")
    below = [path, *path.parents]
    if root in below:
        for each in below[: below.index(root)]:
            if each.is_symlink():
                raise UnsafeWorktree(path, f"{each} is a link")
    real, real_root = path.resolve(), root.resolve()
    if real_root.is_relative_to(real):
        raise UnsafeWorktree(path, "it contains the main checkout")
    return real


async def included(git: GitRunner, repository: Repository) -> list[str]:
    """Return the files that `.worktreeinclude` lists and the repository ignores, relative to the checkout."""
    if not (repository.here / INCLUDE).is_file():
        return []
    listing = ("ls-files", "--others", "--ignored", f"--exclude-from={INCLUDE}", "-z")
    named = await git.items_of(repository.here, *listing)
    if not named:
        return []
    asked = b"".join(os.fsencode(name) + b"\0" for name in named)
    end = await git.end_of(repository.here, "check-ignore", "-z", "--stdin", stdin=asked)  # status 1: none of them
    ignored = [os.fsdecode(name) for name in end.stdout.split(b"\0") if name]
    return [name for name in ignored if Path(name).parts[0] != ".greenroom"]


def copy_files(names: Iterable[str], source: Path, target: Path) -> None:
    """Copy files into a new checkout; links stay links, and existing files are kept.

    Raises:
        OSError: For example, the disk is full.
    """
    for name in names:
        new = target / name
        if new.exists() or new.is_symlink() or not new.parent.resolve().is_relative_to(target.resolve()):
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, new, follow_symlinks=False)
