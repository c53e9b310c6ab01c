"""Errors of worktrees."""

from __future__ import annotations

from pathlib import Path
from typing import final

from greenroom.core import PeerError, UsageError


class WorktreeError(PeerError):
    """Git or the file system refused; the message says what, and where."""


@final
class NoRepository(UsageError):
    """A worktree cannot be created: no git, repository, checkout or commit."""


@final
class UnsafeWorktree(WorktreeError):
    """The folder would not isolate its user: it is, or leads to, something else.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"Refusing to use {path} as an isolation worktree: {why}")
        self.path = path


@final
class WorktreeBusy(WorktreeError):
    """The worktree is used by another agent or process.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path, who: str) -> None:
        super().__init__(f"the worktree {path} is in use by {who}")
        self.path = path


@final
class WouldLoseWork(UsageError):
    """A worktree is not removed because unsaved work would be lost, and discarding it was not requested.

    Attributes:
        path: The folder.
        lost: The work, a phrase each.
    """

    def __init__(self, path: Path, lost: tuple[str, ...]) -> None:
        super().__init__(f"{path} holds work that would be lost: {'; '.join(lost)}")
        self.path = path
        self.lost = lost


@final
class GitFailed(WorktreeError):
    """A git command ended with an error.

    Attributes:
        command: The arguments.
        returncode: Its exit status.
        said: The last line of its error stream.
    """

    def __init__(self, command: tuple[str, ...], returncode: int, said: str) -> None:
        super().__init__(f"git {' '.join(command)}: {said or f'exit status {returncode}'}")
        self.command = command
        self.returncode = returncode
        self.said = said
