"""The tasks of a session: agents, commands and calls of MCP servers that run."""

from __future__ import annotations

from typing import final

import trio

from greenroom.agents.subagents import Post, SubagentPool
from greenroom.core import Cause, UsageError
from greenroom.models.budgets import Budget
from greenroom.session.parts._host_agents import TaskHandle
from greenroom.session.parts._session_status import TaskStatus, status_of
from greenroom.tasks import COMMANDS, MCP_CALL, REMOTE_AGENT, TEAMMATE, NoticeMode, Tasks
from greenroom.trace import Journal


@final
class SessionTasks:
    """The tasks of one session; `session.tasks`.

    Attributes:
        table: The entries themselves.
    """

    def __init__(self, table: Tasks, pool: SubagentPool, post: Post, recording: Journal) -> None:
        self.table = table
        self._pool = pool
        self._post = post
        self._recording = recording

    def all(self) -> list[TaskStatus]:
        """Return the status of each agent, command and call that runs or ended recently, in the order of starting."""
        colors = {member.id: member.definition.color for member in self._pool.subagents.values()}
        return [status_of(task, color=colors.get(task.info.id)) for task in self.table.all()]

    def find(self, task: str) -> TaskStatus | None:
        """Return the status of a task by its id or the name of its agent; None if it is unknown or was released."""
        found = self.table.find(task)
        return None if found is None else status_of(found)

    def handle(self, agent: str) -> TaskHandle:
        """Return the handle of an agent, also of one that a model started; of its latest run.

        Args:
            agent: Its id or its name.

        Raises:
            UsageError: No agent in memory has that id or name; `session.tasks.all()` lists them.
        """
        member = self._pool.subagents.get(self._pool.id_of(agent))
        if member is None:
            known = ", ".join(self._pool.subagents) or "none"
            raise UsageError(f"unknown agent {agent!r}; agents in memory: {known}")
        return TaskHandle(self._pool, self._post, member, self._recording)

    def background_all(self) -> list[str]:
        """Move every agent, command and MCP call that a call waits for to the background; return their ids."""
        # A hook waits for its agent whatever becomes of the calls.
        services = {member.id for member in self._pool.subagents.values() if member.order.is_service}
        running = self.table.running()
        waited_for = [task for task in running if not task.is_background and task.info.id not in services]
        return [task.info.id for task in waited_for if task.move_to_background()]

    def kill(self, task: str, why: str = "killed") -> bool:
        """Kill one agent or command, wherever it runs, on behalf of a person; return True if it was still running.

        Args:
            task: Its id, or the name of an agent.
            why: The reason that is recorded.

        Raises:
            UsageError: The task is unknown.
        """
        found = self.table.find(task)
        if found is None:
            running = ", ".join(task.info.id for task in self.table.running()) or "none"
            raise UsageError(f"unknown task {task!r}; running: {running}")
        if not found.is_finished:
            found.is_stopped_by_user = True
        return found.kill(Cause("host", why))

    def kill_all(self, why: str = "killed") -> list[str]:
        """Kill every agent, command and call that runs in the background, on behalf of a person; return their ids."""
        running = [task for task in self.table.running() if task.is_background]
        for task in running:
            task.is_stopped_by_user = True
        return [task.info.id for task in running if task.kill(Cause("host", why))]

    async def abandon(self, why: str, *, within_s: float) -> None:
        """End every agent, command and call without a notice to anybody, and wait until they have ended.

        Args:
            why: The reason that is recorded.
            within_s: Seconds after which it no longer waits.
        """
        running = self.table.running()
        for task in running:
            task.notice_mode = NoticeMode.NEVER
        for task in running:
            task.kill(Cause("host", why))
        with trio.move_on_after(within_s):
            for task in running:
                await task.wait_settled()

    def kill_programs(self, cause: Cause) -> None:
        """Kill the commands and MCP calls that run; a session does that when it is killed."""
        for task in self.table.running():
            if task.info.kind in {*COMMANDS, MCP_CALL}:
                task.kill(cause)

    def end_calls(self, cause: Cause) -> None:
        """Kill MCP calls in the background because their servers are about to stop; no agent is notified."""
        for task in self.table.running():
            if task.info.kind == MCP_CALL and task.is_background:
                task.defer_notice()
                task.kill(cause)

    async def end_at_budget(self, budget: Budget) -> None:
        """Wait until the budget is spent, then end what runs in the background; its notices begin no turns."""
        denial = await budget.wait_exceeded()
        for task in self.table.running():
            if task.is_background and task.info.kind != TEAMMATE:  # a teammate's turns fail, and it lives on
                task.defer_notice()
                task.kill(Cause("budget", str(denial)))

    @property
    def has_remotes(self) -> bool:
        """True if an agent works on a host, or its end has not been processed yet."""
        return any(task.info.kind == REMOTE_AGENT and not task.is_settled for task in self.table.all())

    @property
    def has_commands(self) -> bool:
        """True if a command or an MCP call runs in the background, or its end has not been processed yet."""
        return any(task.info.kind in {*COMMANDS, MCP_CALL} and not task.is_settled for task in self.table.all())
