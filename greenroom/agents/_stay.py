"""What is kept of an agent as long as it works in a worktree that it went into, to bring it back where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import final

import attrs

from greenroom.worktrees import Hold, Worktree


@final
@attrs.frozen(kw_only=True, eq=False)
class Stay:
    """An agent's stay in a worktree of the session (agents 11.14, 20.55); not that of one that was made for it."""

    hold: Hold
    original_cwd: Path
    """Where it stood when it went in."""
    place: Path | None
    """The folder in which it began before; None for the session's."""
    own_roots: tuple[Path, ...] | None
    """The folders that it was confined to before; None for the session's."""
    was_there: bool
    """Whether the worktree was named by its path: then it is not removed on leaving."""
    began_s: float
    """When it went in, on Trio's clock; commands that it started later may work there."""

    @property
    def worktree(self) -> Worktree:
        """Where it works."""
        return self.hold.worktree
