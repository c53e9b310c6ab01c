"""Worktrees of sub-agents: created, shared, reopened, released.

An agent that is started in the worktree of its caller holds it too; a worktree is released with its last user. An agent
in a worktree is kept out of the main checkout, except in its own folders. A resumed agent gets the worktree that was
kept, or a new one like it.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

import attrs

from greenroom.agents._state import AgentState
from greenroom.agents.subagents._entered_worktrees import EnteredWorktrees
from greenroom.agents.subagents._subagent import Subagent
from greenroom.tasks import KeptWorktree, Task
from greenroom.tools import ToolError
from greenroom.worktrees import Fate, Hold, WorktreeError, WorktreeKind, Worktrees


@final
@attrs.frozen
class SubagentWorktrees:
    """The worktrees of sub-agents."""

    worktrees: Worktrees | None
    """Makes them; None where the session starts no programs."""
    entered: EnteredWorktrees
    """Those that agents have gone into by themselves."""

    def share(self, home: AgentState, caller: AgentState | None, above: Subagent | None) -> Hold | None:
        """Return a hold on the worktree in which the caller works, for an agent that is started there; None if there is none.

        Args:
            home: The new agent's.
            caller: Who starts it; the main agent for the host.
            above: The same, if that is a sub-agent.
        """
        entered = None if caller is None else caller.worktree
        held = entered.hold if entered is not None else None if above is None else above.hold
        return None if held is None or held.is_released else confined(home, held.share())

    async def open(self, agent_id: str, home: AgentState) -> Hold:
        """Create a worktree for an agent, and move the agent into it.

        Raises:
            ToolError: It cannot be created.
        """
        if self.worktrees is None:
            raise ToolError("no worktree can be made: this session starts no programs; leave out `isolation`")
        try:
            hold = await self.worktrees.open_for_agent(agent_id, cwd=home.cwd)
        except WorktreeError as error:
            raise ToolError(f"no worktree could be made: {error}") from error
        home.move(hold.worktree.path, (hold.worktree.path,))
        return confined(home, hold)

    async def reopen(self, subagent: Subagent) -> None:
        """Reopen the worktree that was kept at the end of an agent's last run; if it was removed, create another.

        Raises:
            ToolError: It is gone or used by others, or none can be created.
        """
        home = subagent.home
        if subagent.hold is not None or self.worktrees is None:
            return
        if subagent.kept_path:
            try:
                hold = await self.worktrees.adopt(Path(subagent.kept_path), cwd=home.services.cwd)
                subagent.hold_worktree(confined(home, hold))
            except WorktreeError as error:
                raise ToolError(f"its worktree cannot be used any more: {error}") from error
        elif subagent.order.in_worktree:
            home.move(None, None)
            subagent.hold_worktree(await self.open(subagent.id, home))

    async def release(self, subagent: Subagent, task: Task) -> None:
        """Release an agent's worktree at the end of a run, and record what is kept."""
        hold = subagent.take_hold()
        release = None if hold is None else await hold.release()
        release = await self.entered.release(subagent.home) or release  # what it went into is where it worked last
        if release is None:
            return
        tree = release.worktree
        is_there = release.fate is not Fate.REMOVED
        subagent.keep_worktree(*((str(tree.path), tree.branch) if is_there else ("", "")))
        # What others still use is theirs to tell of, unless it was made for this one.
        if is_there and (release.fate is not Fate.IN_USE or subagent.order.in_worktree):
            task.worktree = KeptWorktree(subagent.kept_path, subagent.kept_branch)


def confined(home: AgentState, hold: Hold) -> Hold:
    """Confine an agent to the worktree that it holds, unless that is the session's; return the hold."""
    if hold.worktree.kind is not WorktreeKind.SESSION:
        home.replace(checkout=hold.worktree)
    return hold
