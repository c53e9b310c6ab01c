"""Holds: the users of a worktree within one process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import final

import attrs

from greenroom.core import UsageError
from greenroom.worktrees._caretaker import Release
from greenroom.worktrees._claims import Claim, Worktree


@attrs.define(eq=False)
class HeldWorktree:
    worktree: Worktree
    claim: Claim
    holds: int = 0
    is_kept: bool = False
    """True if a user that released it wanted to keep it."""


@final
class Hold:
    """One user's hold on a worktree. Pass it on to transfer the duty of releasing it."""

    __slots__ = ("_held", "_release", "worktree")

    def __init__(self, held: HeldWorktree, release: Callable[[HeldWorktree, bool], Awaitable[Release]]) -> None:
        self._held: HeldWorktree | None = held
        self._release = release
        self.worktree = held.worktree
        held.holds += 1

    def __repr__(self) -> str:
        return f"<Hold of {self.worktree.name}{'' if self._held else ', released'}>"

    @property
    def is_released(self) -> bool:
        """True if it was released."""
        return self._held is None

    def share(self) -> Hold:
        """Return a hold for another user, such as a nested child or a background task.

        Raises:
            UsageError: This one was released.
        """
        if self._held is None:
            raise UsageError(f"cannot share the hold of worktree {self.worktree.name!r}: it was released")
        return Hold(self._held, self._release)

    async def release(self, *, keep: bool = False) -> Release:
        """Release the hold, once; the last one removes the worktree if nothing would be lost. Cancellation waits up to
        30 s.

        Args:
            keep: True to keep it unexamined; for a session that may return to it.

        Raises:
            UsageError: It was already released.
        """
        held, self._held = self._held, None
        if held is None:
            raise UsageError(f"the hold of worktree {self.worktree.name!r} was already released")
        return await self._release(held, keep)
