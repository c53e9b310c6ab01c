"""Tasks of earlier processes of a run: entered into the table of tasks; ends that nobody was told of are told, or made good."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import final

import attrs

from greenroom.agents.definitions import Definitions
from greenroom.agents.subagents import Post, SendRefused, SubagentPool, is_one_shot, report_after_crash
from greenroom.core import Cause
from greenroom.session.record._recovery import WHY_LOST, Due, Left
from greenroom.session.record._recovery_plan import EndPlan, LeftEnd, plan_ends
from greenroom.session.settings._recovery_settings import RecoverySettings
from greenroom.tasks import AGENT, MCP_CALL, REMOTE_AGENT, KeptWorktree, TaskInfo, TaskNotice
from greenroom.tools import ToolError


@final
@attrs.frozen(kw_only=True)
class RecoveredTasks:
    """Carries out what is planned about the tasks of earlier processes."""

    left: Left
    """The record of the earlier processes."""
    post: Post
    """Resumes agents."""
    definitions: Definitions
    """The definitions as they are now; agents that run once cannot be resumed."""
    run_folder: Path
    """The folder with the outputs of tasks."""
    settings: RecoverySettings
    prompt: str
    """The prompt with which agents are resumed."""

    @property
    def _pool(self) -> SubagentPool:
        return self.post.pool

    async def carry_out(self, *, away: Collection[str], wakes: bool) -> tuple[bool, tuple[TaskNotice, ...]]:
        """Resume lost agents, and notify others of the ends that nobody was told of.

        Args:
            away: Ids of the agents of teammates whose team is not open yet.
            wakes: False if the notices begin no turn: a turn would drop the calls that a person may still answer.

        Returns:
            True if something was resumed or told; and the notices for those that are away.
        """
        pool = self._pool
        pool.spawned += self.left.agents
        for name, agent_id in self.left.names:
            pool.names.add(name, agent_id)
        ends = [self._facts(due, away) for due in self.left.due]
        steps = [*zip(self.left.due, plan_ends(self.settings, ends), strict=True)]
        # First who may be told, then what there is to tell.
        told = [(due, step) for due, step in steps if step is not EndPlan.RESUME or not await self._is_resumed(due)]
        notices = [(attrs.evolve(self._notice_of(due), wakes=wakes), step) for due, step in told]
        waiting = tuple(notice for notice, step in notices if step is EndPlan.WAIT)
        for notice, step in notices:
            if step is not EndPlan.WAIT:
                pool.deliver(notice)
        return len(steps) > len(waiting), waiting

    def _facts(self, due: Due, away: Collection[str]) -> LeftEnd:
        view = due.view
        is_stopped = bool(due.record.get("isStoppedByUser"))
        return LeftEnd(
            was_lost=due.was_lost,
            is_resumable=view.type == AGENT and view.is_background and self._can_continue(due) and not is_stopped,
            recoveries=view.recoveries,
            is_owner_away=view.owner in away,
        )

    def _can_continue(self, due: Due) -> bool:
        definition = self.definitions.get(due.view.agent)
        return due.has_transcript and not (definition is not None and is_one_shot(definition))

    async def _is_resumed(self, due: Due) -> bool:
        """Resume a lost agent; False if it cannot be."""
        view = due.view
        try:
            await self.post.recover(view.task, self.prompt, owner=view.owner, recoveries=view.recoveries + 1)
        except (SendRefused, ToolError):
            return False
        return True

    def _notice_of(self, due: Due) -> TaskNotice:
        view, pool = due.view, self._pool
        info = TaskInfo(
            id=view.task,
            kind=view.type,
            description=view.description,
            owner=view.owner,
            tool_use_id=view.call,
            output_file=self.run_folder / "tasks" / f"{view.task}.output",
            agent_type=view.agent,
            depth=view.depth,
            run=view.run,
        )
        cause = Cause(view.cause, WHY_LOST if due.was_lost else "") if view.cause else None
        task = pool.tasks.recall(info, state=view.state, error=view.error, cause=cause)
        task.exit_code, task.usage = view.exit_code, due.usage
        kept = str(due.record.get("worktree") or "")
        if kept and due.view.type == AGENT:
            task.worktree = KeptWorktree(kept, str(due.record.get("branch") or ""))
        if view.type in {MCP_CALL, REMOTE_AGENT}:
            task.result = due.text or None
        if view.type == AGENT:
            task.result = pool.report_of(due.text, info.output_file) if due.text else ""
            task.result = report_after_crash(task.result, pool.main_home)
        if due.was_lost and self._can_continue(due):
            return attrs.evolve(task.notice, summary=f"{task.notice.summary}; a message to {view.task} goes on with it")
        return task.notice
