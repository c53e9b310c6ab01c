"""What becomes of a worktree that nobody uses: looked at, then removed or kept.

Rule 1: it goes only when it is proven that nothing is lost, and never by force; whoever wants to lose something says so.
Rule 2: the intent is on record, durably, before the act. Must not know: who uses what; it is told that nobody does.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import Clock, Event
from greenroom.worktrees._claims import Claim, Kind, Worktree
from greenroom.worktrees._cleanup import LOCK_REASON, Commits, Standing, look, why_kept
from greenroom.worktrees._errors import WorktreeError
from greenroom.worktrees._events import WorktreeKept, WorktreeRemovalIntended, WorktreeRemoved, about
from greenroom.worktrees._git import Git, list_worktrees
from greenroom.worktrees._making import WorktreeHooks, undo
from greenroom.worktrees._settings import WorktreeSettings

_DAY_S: Final = 24 * 3600.0


class Fate(StrEnum):
    """What became of a worktree that was released."""

    IN_USE = "in_use"
    """Others use it."""
    KEPT = "kept"
    REMOVED = "removed"
    """With its branch."""


@final
@attrs.frozen(kw_only=True)
class Release:
    """What a release came to."""

    worktree: Worktree
    fate: Fate
    why: str = ""
    """Why it was kept."""
    standing: Standing | None = None
    """What was in it when it was removed on request; None where nobody looked, or git could not tell."""


@final
@attrs.frozen(eq=False)
class Caretaker:
    """Removes worktrees, or says why they stay."""

    _git: Git
    _hooks: WorktreeHooks
    _record: Callable[[Event], Awaitable[None]]
    _clock: Clock
    _settings: WorktreeSettings

    async def clean_up(
        self, worktree: Worktree, claim: Claim, *, keep: bool = False, counting: Commits = Commits.ALL
    ) -> Release:
        if keep or worktree.kind is Kind.SESSION:
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
        """Let a hook remove what a hook made, whatever is in it."""
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
        """Remove a worktree and its branch; return why git refused, empty if it did not.

        Args:
            worktree: Which one.
            claim: Its file, which goes too.
            tip: Where its branch was when it was looked at; moved since, it stays.
            force: Whoever asked knows that work is lost.
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
        """Say to git that it is used; a lock of somebody else's stays."""
        reason = f"{LOCK_REASON}: in use by process {os.getpid()}"
        await self._git.end_of(worktree.root, "worktree", "lock", "--reason", reason, str(worktree.path))

    async def _unlock(self, worktree: Worktree) -> None:
        """Undo a lock of ours; somebody else's stays."""
        for one in await list_worktrees(self._git, worktree.root):
            if one.path == worktree.path and one.lock is not None and one.lock.startswith(LOCK_REASON):
                await self._git.end_of(worktree.root, "worktree", "unlock", str(worktree.path))

    async def sweep_one(self, claim: Claim) -> Release | None:
        worktree = claim.read()
        if worktree is None:
            claim.forget()  # its maker ended before it said what it would make, so it made nothing
            return None
        if not worktree.path.exists() and not worktree.is_hook_based:
            if worktree.base:  # else it was never ours: neither its branch nor what git knows of it is
                await undo(self._git, worktree)
            claim.forget()
            return Release(worktree=worktree, fate=Fate.REMOVED)
        age_s = self._clock.wall().timestamp() - worktree.made_at_s
        if worktree.is_hook_based:
            return None
        if worktree.kind is Kind.SESSION:
            await self._unlock(worktree)  # whoever locked it is no more
            return None
        if age_s < self._settings.cleanup_period_days * _DAY_S:
            await self._unlock(worktree)
            return None
        return await self.clean_up(worktree, claim, counting=Commits.UNPUSHED)
