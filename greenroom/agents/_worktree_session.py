"""The way back of an agent that has entered a worktree."""

from __future__ import annotations

from pathlib import Path
from typing import final

import attrs

from greenroom.worktrees import Hold, Worktree


@final
@attrs.frozen(kw_only=True, eq=False)
class WorktreeSession:
    """The time that an agent spends in a worktree of the session; not in one that was made for it."""

    hold: Hold
    original_cwd: Path
    """The folder in which it worked when it entered."""
    place: Path | None
    """The folder in which it began; None for the session's."""
    own_roots: tuple[Path, ...] | None
    """The folders that it was confined to; None for the session's."""
    was_there: bool
    """True if the worktree was named by its path: then it is not removed on leaving."""
    began_s: float
    """When it entered, on Trio's clock; commands that it started later may work there."""

    @property
    def worktree(self) -> Worktree:
        """The worktree."""
        return self.hold.worktree
