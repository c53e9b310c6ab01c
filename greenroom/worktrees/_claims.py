"""Claims on worktrees across processes: one file per worktree, locked by the system while it is used.

The file exists before the worktree does, so that a crash in between leaves a trace. The system releases the lock when
its holder ends, however it ends; no process id has to be trusted. The file holds what the clean-up needs: the commit
that the worktree was created from.
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
from greenroom.worktrees._worktree_errors import WorktreeError

CLAIMS: Final = ".claims"
_SUFFIX: Final = ".json"


class WorktreeKind(StrEnum):
    """Purpose of a worktree."""

    AGENT = "agent"
    """For an agent: removed at its end if nothing in it would be lost."""
    SESSION = "session"
    """For a session or a user: kept until it is removed on request."""


@final
@attrs.frozen(kw_only=True)
class Worktree:
    """A separate checkout."""

    name: str
    path: Path
    branch: str
    """Empty if a hook made it, or if it is foreign with a detached head."""
    base: str
    """The commit that it was created from; empty if unknown."""
    root: Path
    """The main checkout, which users of the worktree must not touch."""
    kind: WorktreeKind
    owner: str = ""
    """Id of the agent that it was created for."""
    is_hook_based: bool = False
    """True if a hook made it: git is not used for it."""
    used_sparse_paths: bool = False
    """True if only some folders were checked out."""
    made_at_s: float = 0.0
    """Seconds since 1970."""
    notes: tuple[str, ...] = ()
    """Notes for the requester, one line each."""


@final
class Claim:
    """The claim file of one worktree, locked by this process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @staticmethod
    def take(folder: Path, name: str) -> Claim | None:
        """Lock the claim file of a name, created if missing; return None if another holder has it.

        Raises:
            OSError: The folder cannot be written.
        """
        import fcntl  # missing on some systems

        path = folder / (name + _SUFFIX)
        while True:
            descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return None
            # The last holder may have removed the file between opening and locking: then this lock is on a file without
            # a name.
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(descriptor).st_ino == path.stat().st_ino:
                    return Claim(path, descriptor)
            os.close(descriptor)

    def write(self, worktree: Worktree) -> None:
        """Write the worktree's description durably."""
        values = attrs.asdict(worktree) | {"path": str(worktree.path), "root": str(worktree.root)}
        content = json.dumps(values, indent=1).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, content, 0)
        os.fsync(self._descriptor)

    def read(self) -> Worktree | None:
        """Return the worktree's description; None if the file has none."""
        try:
            values = json.loads(os.pread(self._descriptor, 1 << 20, 0))
            values |= {"path": Path(values["path"]), "root": Path(values["root"]), "kind": WorktreeKind(values["kind"])}
            return Worktree(**values | {"notes": tuple(values["notes"])})
        except (OSError, ValueError, KeyError, TypeError):  # OSError: it is not a regular file
            return None

    def close(self) -> None:
        """Release the lock; the file stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def forget(self) -> None:
        """Remove the file and release the lock: the worktree no longer exists."""
        self.path.unlink(missing_ok=True)
        self.close()


def claimed_names(folder: Path) -> list[str]:
    """Return the claimed names, in order."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob("*" + _SUFFIX))


def make_folders(folder: Path) -> Path:
    """Create the folder of the worktrees with its own ignore file, and return the folder of the claims.

    Raises:
        WorktreeError: A link stands in place of a folder.
    """
    claims = folder / CLAIMS
    for each in (folder.parent, folder, claims):
        if each.is_symlink():
            raise WorktreeError(f"cannot create worktrees: {each} is a link; remove it")
        try:
            make_private_folder(each)
        except OSError as error:
            raise WorktreeError(f"cannot create {each}: {error.strerror or error}") from error
    ignore = folder / ".gitignore"
    if not ignore.exists():
        # Hides the worktrees from the main checkout's status.
        with os.fdopen(open_private(ignore, os.O_WRONLY | os.O_CREAT), "w", encoding="utf-8") as file:
            file.write("*\n")
    return claims
