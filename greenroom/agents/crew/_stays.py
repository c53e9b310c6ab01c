"""Worktrees of the session: gone into and left by agents that ask for it, or from the beginning (agents 11.14, 11.15, 20.55).

Rule 1: such a worktree is nobody's to clean up: it goes only when it is asked for, and what would be lost is said first.
Rule 2: who works in it holds it, whoever else does; it is not removed under anybody. Rule 3: an agent that goes in takes its
folders along: what lies outside is outside for its file tools, and its commands are decided about as in any other folder.
Rule 4: what the record says has happened. Must not know: how models call it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias, final

import attrs
import trio

from greenroom.agents._services import AgentHome
from greenroom.agents._stay import Stay
from greenroom.core import Event, JournalError, UsageError
from greenroom.tasks import SHELL, Tasks
from greenroom.worktrees import (
    Fate,
    Hold,
    Release,
    Worktree,
    WorktreeBusy,
    WorktreeEntered,
    WorktreeError,
    WorktreeLeft,
    Worktrees,
)

Action: TypeAlias = Literal["keep", "remove"]


@final
@attrs.frozen(kw_only=True)
class StayRecord:
    """What is known on disk of a stay that has not ended."""

    path: Path
    branch: str
    original_cwd: Path
    was_there: bool


@final
@attrs.frozen(kw_only=True)
class Departure:
    """What leaving a worktree came to."""

    worktree: Worktree
    original_cwd: Path
    """Where the agent works now."""
    release: Release


@final
@attrs.define(kw_only=True, eq=False)
class Stays:
    """The worktrees that agents of one session have gone into.

    Args:
        worktrees: Makes and removes them; None where the session starts no programs.
        tasks: The table of what runs in the background.
        record: Puts an event on record and returns when that is durable.
        others: Returns what belongs to the agents of the session that live.
        on_move: Told of each agent that works elsewhere from now on, in that step.
    """

    worktrees: Worktrees | None
    tasks: Tasks
    record: Callable[[Event], Awaitable[None]]
    others: Callable[[], Iterable[AgentHome]] = tuple
    on_move: Callable[[AgentHome], object] = lambda _: None

    async def enter(
        self, home: AgentHome, *, name: str = "", path: Path | None = None, pull: int | None = None
    ) -> Stay:
        """Let an agent work in a worktree from now on: a new one, the one of that name, or one that is there.

        Cancelled, it stays where it is; a worktree that was made then is kept.

        Args:
            home: The agent's.
            name: What it is called; empty for one of two words.
            path: One of the repository's that is there, in the place of a name.
            pull: Number of a pull request at `origin` to start from, in the place of a name.

        Raises:
            UsageError: It works in one already; there is no repository; name or path cannot be used.
            WorktreeError: It cannot be made, or is used by others.
            JournalError: It cannot be put on record.
        """
        worktrees = self._free_to_move(home)
        if path is not None:
            hold = await worktrees.open_existing(path, cwd=home.cwd)
        else:
            hold = await worktrees.open_for_session(name, cwd=home.cwd, pull=pull)
        return await self._move_in(home, hold, original_cwd=home.cwd, was_there=path is not None)

    async def go_back_in(self, home: AgentHome, stay: StayRecord) -> str:
        """Let the main agent of a run that is gone on with work again where its record says.

        Returns:
            Why it cannot, in words; empty if it does. Then it works in the folder of its session.
        """
        try:
            hold = await self._free_to_move(home).adopt(stay.path, cwd=stay.original_cwd)
        except (WorktreeError, UsageError) as error:
            if await home.services.blocking.run(stay.path.is_dir):
                return f"the worktree {stay.path} of this session cannot be used: {error}"
            await self._note_gone(stay)
            branch = f"; its branch was {stay.branch}" if stay.branch else ""
            return f"the worktree {stay.path} of this session is gone{branch}"
        await self._move_in(home, hold, original_cwd=stay.original_cwd, was_there=stay.was_there)
        return ""

    async def leave(self, home: AgentHome, action: Action, *, discard_changes: bool = False) -> Departure:
        """Let an agent work again where it came from; where that is refused, it stays where it is.

        Args:
            home: The agent's.
            action: What is to become of the worktree and its branch.
            discard_changes: Whoever asks knows that work is lost.

        Raises:
            UsageError: It is in none that it went into, or this one is not removed.
            WouldLoseWork: Something would be lost; the message says what.
            WorktreeBusy: Others work in it.
            WorktreeError: Git refused.
            JournalError: It has left, and that cannot be put on record.
        """
        stay = home.stay
        if stay is None or self.worktrees is None:
            raise UsageError(
                "this agent is in no worktree that it went into with EnterWorktree; there is nothing to leave"
            )
        has_origin = await home.services.blocking.run(stay.original_cwd.is_dir)
        if action == "remove":
            self._check_removable(home, stay)
            release = await self.worktrees.remove(stay.hold, discard_changes=discard_changes)
        else:
            try:
                release = await stay.hold.release(keep=True)
            except JournalError:  # it holds nothing any more
                _move_back(home, stay, has_origin=has_origin)
                self.on_move(home)
                raise
        back = _move_back(home, stay, has_origin=has_origin)
        self.on_move(home)
        did = "remove" if release.fate is Fate.REMOVED else "keep"
        with trio.CancelScope(shield=True):  # the journal's own deadline
            await self.record(_left(home, stay.worktree, did))
        return Departure(worktree=stay.worktree, original_cwd=back, release=release)

    async def let_go(self, home: AgentHome) -> Release | None:
        """Let go of what an agent is in whose run has ended; its worktree is kept. None where it is in none."""
        stay, home.stay = home.stay, None
        return None if stay is None else await stay.hold.release(keep=True)

    async def let_go_beside(self, home: AgentHome) -> None:
        """Do the same where nobody is told what came of it."""
        with suppress(JournalError):
            await self.let_go(home)

    async def close(self) -> None:
        """Let go of the worktrees that agents are in still, at the end of the session: they stay, locked, until a sweep.

        Cancellation waits, at most 30 s.
        """
        if self.worktrees is not None:
            with suppress(JournalError):  # what ends is not held up by a disk on which nothing new begins
                await self.worktrees.leave()

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _free_to_move(self, home: AgentHome) -> Worktrees:
        if self.worktrees is None:
            raise UsageError("this session starts no programs, so it has no worktrees")
        if home.stay is not None:
            raise UsageError(
                f"this agent is in the worktree {home.stay.worktree.path} already; leave it with ExitWorktree"
            )
        if home.checkout is not None:
            raise UsageError("this agent works in a worktree of its own, and stays there until its end")
        return self.worktrees

    async def _move_in(self, home: AgentHome, hold: Hold, *, original_cwd: Path, was_there: bool) -> Stay:
        tree = hold.worktree
        entered = WorktreeEntered(
            actor=_whose(home),
            name=tree.name,
            path=str(tree.path),
            branch=tree.branch,
            original_cwd=str(original_cwd),
            base=tree.base,
            was_there=was_there,
            is_hook_based=tree.is_hook_based,
            used_sparse_paths=tree.used_sparse_paths,
        )
        try:
            await self.record(entered)
        except BaseException:
            with trio.CancelScope(shield=True), suppress(JournalError):  # bounded by git's own limit, and the journal's
                await hold.release(keep=True)
                await self.record(_left(home, tree, "keep"))  # cancelled, it is on record all the same
            raise
        stay = Stay(
            hold=hold,
            original_cwd=original_cwd,
            place=home.place,
            own_roots=home.own_roots,
            was_there=was_there,
            began_s=trio.current_time(),
        )
        home.stay = stay
        home.move(tree.path, (tree.path,))
        self.on_move(home)
        return stay

    def _check_removable(self, home: AgentHome, stay: Stay) -> None:
        path = stay.worktree.path
        if stay.was_there:
            raise UsageError(f"{path} was there before this agent went in, so it is not removed; leave it with `keep`")
        there = [one.label or one.id for one in self.others() if one is not home and one.cwd.is_relative_to(path)]
        if there:
            raise WorktreeBusy(path, f"{', '.join(there)}: wait for their end, or leave it with `keep`")
        shells = [
            one.info.id
            for one in self.tasks.running(home.id)
            if one.info.kind == SHELL and one.is_background and one.began_s >= stay.began_s
        ]
        if shells:
            raise WorktreeBusy(
                path, f"commands that still run ({', '.join(shells)}): stop them, or leave it with `keep`"
            )

    async def _note_gone(self, stay: StayRecord) -> None:
        await self.record(WorktreeLeft(name=stay.path.name, path=str(stay.path), branch=stay.branch, action="gone"))


def _whose(home: AgentHome) -> str:
    """Return the actor that a record is about: none for the main agent, whose stay is the session's."""
    return home.id if home.is_child else ""


def _left(home: AgentHome, tree: Worktree, action: str) -> WorktreeLeft:
    return WorktreeLeft(actor=_whose(home), name=tree.name, path=str(tree.path), branch=tree.branch, action=action)


def _move_back(home: AgentHome, stay: Stay, *, has_origin: bool) -> Path:
    """Return where an agent works again: where it stood, or, where that is gone, where it began."""
    home.stay = None
    home.move(stay.place, stay.own_roots)
    if stay.original_cwd != home.cwd and has_origin:
        home.workspace.cwd = stay.original_cwd
    return home.cwd
