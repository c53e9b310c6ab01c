"""Removal of unused worktrees: they are examined, then removed or kept.

A worktree is removed only if it is proven that nothing is lost, and never by force unless requested. The intent is
recorded durably before the act.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import Event
from greenroom.core.ports import Clock
from greenroom.worktrees._claims import Claim, Worktree, WorktreeKind
from greenroom.worktrees._cleanup import LOCK_REASON, Commits, WorktreeState, look, why_kept
from greenroom.worktrees._creation import WorktreeHooks, undo
from greenroom.worktrees._git_runner import GitRunner, list_worktrees
from greenroom.worktrees._worktree_errors import WorktreeError
from greenroom.worktrees._worktree_events import WorktreeKept, WorktreeRemovalIntended, WorktreeRemoved, about
from greenroom.worktrees._worktree_settings import WorktreeSettings

_DAY_S: Final = 24 * 3600.0


class Fate(StrEnum):
    """Outcome for a released worktree."""

    IN_USE = "in_use"
    """It has other users."""
    KEPT = "kept"
    REMOVED = "removed"
    """Removed with its branch."""


@final
@attrs.frozen(kw_only=True)
class Release:
    """Result of a release."""

    worktree: Worktree
    fate: Fate
    why: str = ""
    """Reason for keeping it."""
    standing: WorktreeState | None = None
    """Its contents when it was removed on request; None if they were not examined, or git could not tell."""


@final
@attrs.frozen(eq=False)
class Caretaker:
    """Removes worktrees, or returns the reason for keeping them."""

    _git: GitRunner
    _hooks: WorktreeHooks
    _record: Callable[[Event], Awaitable[None]]
    _clock: Clock
    _settings: WorktreeSettings

    async def clean_up(
        self, worktree: Worktree, claim: Claim, *, keep: bool = False, counting: Commits = Commits.ALL
    ) -> Release:
        if keep or worktree.kind is WorktreeKind.SESSION:
            why = "it belongs to a session"
        elif worktree.is_hook_based:
            return await self.remove_by_hook(worktree, claim)
        else:
            standing = await look(self._git, worktree, counting=counting)
            why = why_kept(worktree, standing)
            if standing is not None and not why:
                why = await self.remove(worktree, claim, tip=standing.tip)
        if not why:
            return Release(worktree=worktree, fate=Fate.REMOVED)
        return await self._kept(worktree, why)

    async def remove_by_hook(self, worktree: Worktree, claim: Claim) -> Release:
        """Remove a worktree made by a hook through a hook, whatever it contains."""
        why = "a hook made it, and there is no hook WorktreeRemove"
        await self._record(about(WorktreeRemovalIntended, worktree))
        try:
            if await self._hooks.remove(worktree.path):
                await self._record(about(WorktreeRemoved, worktree))
                claim.forget()
                return Release(worktree=worktree, fate=Fate.REMOVED)
        except WorktreeError as error:
            why = str(error)
        return await self._kept(worktree, why)

    async def remove(self, worktree: Worktree, claim: Claim, *, tip: str, force: bool = False) -> str:
        """Remove a worktree and its branch; return git's reason for refusing, or an empty text.

        Args:
            worktree: The worktree.
            claim: Its claim file, which is removed too.
            tip: The commit of its branch when it was examined; if the branch has moved since, it is kept.
            force: True if the requester accepts that work is lost.
        """
        await self._record(about(WorktreeRemovalIntended, worktree))
        await self._unlock(worktree)
        forced = ["--force"] if force else []
        try:
            path = worktree.path
            await self._git.bytes_of(worktree.root, "worktree", "remove", *forced, str(path), visited=(path,))
        except WorktreeError as error:
            return str(error)
        if tip:
            await self._git.end_of(worktree.root, "update-ref", "-d", f"refs/heads/{worktree.branch}", tip)
        await self._record(about(WorktreeRemoved, worktree))
        claim.forget()
        return ""

    async def _kept(self, worktree: Worktree, why: str) -> Release:
        if not worktree.is_hook_based:
            await self._unlock(worktree)
        await self._record(about(WorktreeKept, worktree, why=why))
        return Release(worktree=worktree, fate=Fate.KEPT, why=why)

    async def lock(self, worktree: Worktree) -> None:
        """Lock it in git; another program's lock stays."""
        reason = f"{LOCK_REASON}: in use by process {os.getpid()}"
        await self._git.end_of(worktree.root, "worktree", "lock", "--reason", reason, str(worktree.path))

    async def _unlock(self, worktree: Worktree) -> None:
        """Remove greenroom's lock; another program's lock stays."""
        for registered in await list_worktrees(self._git, worktree.root):
            if (
                registered.path == worktree.path
                and registered.lock is not None
                and registered.lock.startswith(LOCK_REASON)
            ):
                await self._git.end_of(worktree.root, "worktree", "unlock", str(worktree.path))

    async def sweep_one(self, claim: Claim) -> Release | None:
        worktree = claim.read()
        if worktree is None:
            claim.forget()  # its creator ended before writing its contents, so nothing was created
            return None
        if not worktree.path.exists() and not worktree.is_hook_based:
            if worktree.base:  # otherwise it was foreign: its branch and registration are not greenroom's
                await undo(self._git, worktree)
            claim.forget()
            return Release(worktree=worktree, fate=Fate.REMOVED)
        age_s = self._clock.wall().timestamp() - worktree.made_at_s
        if worktree.is_hook_based:
            return None
        if worktree.kind is WorktreeKind.SESSION:
            await self._unlock(worktree)  # the process that locked it has ended
            return None
        if age_s < self._settings.cleanup_period_days * _DAY_S:
            await self._unlock(worktree)
            return None
        return await self.clean_up(worktree, claim, counting=Commits.UNPUSHED)
