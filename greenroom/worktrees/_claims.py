"""Who uses a worktree, across processes: one file per worktree, held by a lock of the system while somebody does.

Rule 1: the file is there before the worktree is, so that a crash in between leaves a trace. Rule 2: the system lets go
of the lock when its holder ends, however it ends; no process id has to be believed. Rule 3: the file holds what the
clean-up has to know: the commit that the worktree was made from.
"""

from __future__ import annotations

import contextlib
import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import make_private_folder, open_private
from greenroom.worktrees._errors import WorktreeError

CLAIMS: Final = ".claims"
_SUFFIX: Final = ".json"


class Kind(StrEnum):
    """For whom a worktree was made."""

    AGENT = "agent"
    """An agent: removed at its end, if nothing in it would be lost."""
    SESSION = "session"
    """A session, or a user: stays until it is removed on request."""


@final
@attrs.frozen(kw_only=True)
class Worktree:
    """A checkout of its own."""

    name: str
    path: Path
    branch: str
    """Empty for one that a hook made, and for a foreign one with a detached head."""
    base: str
    """The commit that it was made from; empty where that is not known."""
    root: Path
    """The main checkout, which whoever works in the worktree must not touch."""
    kind: Kind
    owner: str = ""
    """Id of the agent that it was made for."""
    is_hook_based: bool = False
    """Whether a hook made it: git is not asked about it."""
    used_sparse_paths: bool = False
    """Whether only some folders were checked out."""
    made_at_s: float = 0.0
    """Seconds since 1970."""
    notes: tuple[str, ...] = ()
    """What whoever asked for it may want to know, a line each."""


@final
class Claim:
    """The file of one worktree, locked by us."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @staticmethod
    def take(folder: Path, name: str) -> Claim | None:
        """Lock the file of a name, made if it is not there; None if somebody holds it.

        Raises:
            OSError: The folder cannot be written.
        """
        import fcntl  # not on every system

        path = folder / (name + _SUFFIX)
        while True:
            descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return None
            # Its last holder may have removed the file between our two steps: then we locked what nobody will find.
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(descriptor).st_ino == path.stat().st_ino:
                    return Claim(path, descriptor)
            os.close(descriptor)

    def write(self, worktree: Worktree) -> None:
        """Say what the worktree is, durably."""
        values = attrs.asdict(worktree) | {"path": str(worktree.path), "root": str(worktree.root)}
        content = json.dumps(values, indent=1).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, content, 0)
        os.fsync(self._descriptor)

    def read(self) -> Worktree | None:
        """Return what the worktree is; None if the file does not say."""
        try:
            values = json.loads(os.pread(self._descriptor, 1 << 20, 0))
            values |= {"path": Path(values["path"]), "root": Path(values["root"]), "kind": Kind(values["kind"])}
            return Worktree(**values | {"notes": tuple(values["notes"])})
        except (OSError, ValueError, KeyError, TypeError):  # of the system: it is not a regular file
            return None

    def close(self) -> None:
        """Let go; the file stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def forget(self) -> None:
        """Let go and remove the file: the worktree is no more."""
        self.path.unlink(missing_ok=True)
        self.close()


def claimed_names(folder: Path) -> list[str]:
    """Return the names that have a file, in order."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob("*" + _SUFFIX))


def make_folders(folder: Path) -> Path:
    """Make the folder of the worktrees with its own ignore file, and return the folder of the claims.

    Raises:
        WorktreeError: A link stands where a folder belongs.
    """
    claims = folder / CLAIMS
    for each in (folder.parent, folder, claims):
        if each.is_symlink():
            raise WorktreeError(f"{each} is a link; worktrees are made in folders only: remove it")
        try:
            make_private_folder(each)
        except OSError as error:
            raise WorktreeError(f"{each} cannot be made: {error.strerror or error}") from error
    ignore = folder / ".gitignore"
    if not ignore.exists():
        # The main checkout is not to see its worktrees as changes.
        with os.fdopen(open_private(ignore, os.O_WRONLY | os.O_CREAT), "w", encoding="utf-8") as file:
            file.write("*\n")
    return claims
