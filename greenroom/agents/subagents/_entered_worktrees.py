"""Worktrees that agents enter and leave on request, or in which a session begins.

Such a worktree is removed on request only, and the request fails if work would be lost. Every agent that works in it
holds it, so it is not removed before the last one has left. Entering changes the agent's folders: files outside are out
of bounds for its file tools, and permissions are decided as in any other folder. Each move is recorded before it is
reported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias, final

import attrs
import trio

from greenroom.agents._state import AgentState
from greenroom.agents._worktree_session import WorktreeSession
from greenroom.core import Event, JournalError, UsageError
from greenroom.tasks import COMMANDS, Tasks
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
class EnteredWorktreeRecord:
    """The record on disk of a worktree that an agent has entered and not left."""

    path: Path
    branch: str
    original_cwd: Path
    was_there: bool


@final
@attrs.frozen(kw_only=True)
class Departure:
    """The result of leaving a worktree."""

    worktree: Worktree
    original_cwd: Path
    """The folder in which the agent works now."""
    release: Release


@final
@attrs.define(kw_only=True, eq=False)
class EnteredWorktrees:
    """The worktrees that agents of one session have entered.

    Args:
        worktrees: Creates and removes worktrees; None if the session starts no programs.
        tasks: The table of background tasks.
        record: Records an event and returns when it is durable.
        others: Returns the states of the living agents of the session.
        on_move: Called with each agent in the step in which it moves.
    """

    worktrees: Worktrees | None
    tasks: Tasks
    record: Callable[[Event], Awaitable[None]]
    others: Callable[[], Iterable[AgentState]] = tuple
    on_move: Callable[[AgentState], object] = lambda _: None

    async def enter(
        self, home: AgentState, *, name: str = "", path: Path | None = None, pull: int | None = None
    ) -> WorktreeSession:
        """Move an agent into a worktree: a new one, the one of that name, or an existing one.

        If cancelled, the agent stays where it is; a worktree that was already created is kept.

        Args:
            home: State of the agent.
            name: Name of the worktree; empty for a generated name of two words.
            path: An existing worktree of the repository, instead of a name.
            pull: Number of a pull request at `origin` to start from, instead of a name.

        Raises:
            UsageError: The agent is in a worktree already, there is no repository, or the name or path is invalid.
            WorktreeError: The worktree cannot be created, or is in use.
            JournalError: The move cannot be recorded.
        """
        worktrees = self._free_to_move(home)
        if path is not None:
            hold = await worktrees.open_existing(path, cwd=home.cwd)
        else:
            hold = await worktrees.open_for_session(name, cwd=home.cwd, pull=pull)
        return await self._move_in(home, hold, original_cwd=home.cwd, was_there=path is not None)

    async def reenter(self, home: AgentState, stay: EnteredWorktreeRecord) -> str:
        """Move the main agent of a resumed run back into the worktree of its record.

        Returns:
            The reason why the agent stays in the folder of its session; empty if it was moved.
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

    async def leave(self, home: AgentState, action: Action, *, discard_changes: bool = False) -> Departure:
        """Move an agent back to where it came from; if that is refused, it stays where it is.

        Args:
            home: State of the agent.
            action: Whether to keep or remove the worktree and its branch.
            discard_changes: True to remove it even if work is lost.

        Raises:
            UsageError: The agent has not entered a worktree, or this one must not be removed.
            WouldLoseWork: Work would be lost; the message lists it.
            WorktreeBusy: Other agents or commands use it.
            WorktreeError: Git refused.
            JournalError: The agent has left, but that cannot be recorded.
        """
        stay = home.worktree
        if stay is None or self.worktrees is None:
            raise UsageError("cannot leave: this agent has not entered a worktree with EnterWorktree")
        has_origin = await home.services.blocking.run(stay.original_cwd.is_dir)
        if action == "remove":
            self._check_removable(home, stay)
            release = await self.worktrees.remove(stay.hold, discard_changes=discard_changes)
        else:
            try:
                release = await stay.hold.release(keep=True)
            except JournalError:  # the worktree has been released all the same
                home.leave_worktree(stay, has_origin=has_origin)
                self.on_move(home)
                raise
        back = home.leave_worktree(stay, has_origin=has_origin)
        self.on_move(home)
        did = "remove" if release.fate is Fate.REMOVED else "keep"
        with trio.CancelScope(shield=True):  # the journal's own deadline
            await self.record(_left(home, stay.worktree, did))
        return Departure(worktree=stay.worktree, original_cwd=back, release=release)

    async def release(self, home: AgentState) -> Release | None:
        """Release the worktree of an agent whose run has ended; it is kept. Return None if it is in none."""
        stay = home.release_worktree()
        return None if stay is None else await stay.hold.release(keep=True)

    async def release_quietly(self, home: AgentState) -> None:
        """Release the worktree of an agent whose run has ended; failures to record it are ignored."""
        with suppress(JournalError):
            await self.release(home)

    async def close(self) -> None:
        """Release the worktrees of all agents at the end of the session: they stay, locked, until a sweep.

        Cancellation waits, at most 30 s.
        """
        if self.worktrees is not None:
            with suppress(JournalError):  # a full disk must not delay the end of the session
                await self.worktrees.leave()

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _free_to_move(self, home: AgentState) -> Worktrees:
        if self.worktrees is None:
            raise UsageError("this session starts no programs, so it has no worktrees")
        if home.worktree is not None:
            raise UsageError(
                f"this agent is already in the worktree {home.worktree.worktree.path}; leave it with ExitWorktree"
            )
        if home.profile.checkout is not None:
            raise UsageError("this agent was started in a worktree of its own, and cannot leave it")
        return self.worktrees

    async def _move_in(self, home: AgentState, hold: Hold, *, original_cwd: Path, was_there: bool) -> WorktreeSession:
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
                await self.record(_left(home, tree, "keep"))  # recorded even if cancelled
            raise
        stay = WorktreeSession(
            hold=hold,
            original_cwd=original_cwd,
            place=home.profile.place,
            own_roots=home.profile.own_roots,
            was_there=was_there,
            began_s=trio.current_time(),
        )
        home.enter_worktree(stay)
        self.on_move(home)
        return stay

    def _check_removable(self, home: AgentState, stay: WorktreeSession) -> None:
        path = stay.worktree.path
        if stay.was_there:
            raise UsageError(f"cannot remove {path}: it existed before this agent entered it; leave it with `keep`")
        there = [
            other.profile.label or other.profile.id
            for other in self.others()
            if other is not home and other.cwd.is_relative_to(path)
        ]
        if there:
            raise WorktreeBusy(path, f"{', '.join(there)}: wait for their end, or leave it with `keep`")
        shells = [
            task.info.id
            for task in self.tasks.running(home.profile.id)
            if task.info.kind in COMMANDS and task.is_background and (task.began_s or 0) >= stay.began_s
        ]
        if shells:
            raise WorktreeBusy(
                path, f"commands that still run ({', '.join(shells)}): stop them, or leave it with `keep`"
            )

    async def _note_gone(self, stay: EnteredWorktreeRecord) -> None:
        await self.record(WorktreeLeft(name=stay.path.name, path=str(stay.path), branch=stay.branch, action="gone"))


def _whose(home: AgentState) -> str:
    """Return the `actor` of an event: empty for the main agent, whose worktree is the session's."""
    return home.profile.id if home.profile.is_child else ""


def _left(home: AgentState, tree: Worktree, action: str) -> WorktreeLeft:
    return WorktreeLeft(actor=_whose(home), name=tree.name, path=str(tree.path), branch=tree.branch, action=action)
