"""Handles of agents that the program started."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.agents import AgentState, Note
from greenroom.agents.subagents import Post, Subagent, SubagentPool
from greenroom.core import Cause, UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.models import Usage
from greenroom.tasks import EndReport, Task, TaskState
from greenroom.tools import ToolError
from greenroom.trace import Journal


@final
@attrs.frozen(kw_only=True)
class TaskResult:
    """The result of a run of an agent."""

    id: str
    state: TaskState
    """`completed`, `failed` or `killed`."""
    text: str
    """Its last text: its report, or a part of one; empty for none."""
    usage: Usage
    """Of all its runs so far."""
    cause: Cause | None
    """The requester of its end; None if nobody asked."""
    error: str
    """Why it failed; empty if it did not."""
    run: int
    worktree: str
    """The worktree that was kept, because there is something in it; empty where there is none."""
    worktree_branch: str
    """The branch that is checked out there."""
    is_undelivered: bool = False
    """Whether an agent was to be told of its end, and nobody was there any more: neither that one nor one above it."""


@final
class TaskHandle:
    """One agent that the program started; made by `session.spawn`."""

    def __init__(self, pool: SubagentPool, post: Post, member: Subagent, recording: Journal) -> None:
        self._pool = pool
        self._post = post
        self._id = member.id
        self._task = member.task
        self._home: AgentState = member.home
        self._recording = recording

    def __repr__(self) -> str:
        return f"<TaskHandle {self._id} of {self._task.info.agent_type}: {self._task.state}>"

    @property
    def id(self) -> str:
        """Its id, for good: the agent's, the task's and the transcript's."""
        return self._id

    @property
    def task(self) -> Task:
        """Its latest run, with its progress."""
        member = self._pool.subagents.get(self._id)
        if member is not None:
            self._task, self._home = member.task, member.home
        return self._task

    @property
    def state(self) -> TaskState:
        """`pending`, `running`, `completed`, `failed` or `killed`."""
        return self.task.state

    @property
    def usage(self) -> Usage:
        """The tokens that it has used, in all its runs."""
        member = self._pool.subagents.get(self._id)
        return (self._home if member is None else member.home).usage

    def tell(self, text: str) -> Delivery:
        """Send it a message, which it reads at its next step; says whether it was taken. One that has ended takes none.

        Raises:
            UsageError: The text is blank.
        """
        if not text.strip():
            raise UsageError("a message needs text; this one is blank")
        member = self._pool.subagents.get(self._id)
        if member is None or not member.is_running:
            return Delivery.CLOSED
        if member.ref is None:  # it waits for a place
            member.first = f"{member.first}\n\n{text}"
            return Delivery.ACCEPTED
        return member.ref.tell(Note(text), Lane.LATER, size_bytes=len(text))

    async def resume(self, text: str) -> None:
        """Go on with it after it has ended, in the background, as the same agent with all that it knew.

        A person's word: it lifts the end that a person gave it.

        Raises:
            UsageError: It runs, cannot be resumed, or nothing is left of it.
            JournalError: It could not be put on record.
        """
        if not text.strip():
            raise UsageError("a message needs text; this one is blank")
        try:
            member = await self._post.resume(self._id, text, by_user=True)
        except ToolError as error:
            raise UsageError(str(error)) from error
        self._task, self._home = member.task, member.home
        await self._recording.commit()

    async def wait_finished(self) -> TaskResult:
        """Wait until its run has ended and what it leaves is looked after; return how it ended, whatever way that was."""
        task = self.task
        await task.wait_settled()
        return TaskResult(
            id=self._id,
            state=task.state,
            text=task.result or "",
            usage=self._home.usage,
            cause=task.cause,
            error=task.error,
            run=task.info.run,
            worktree="" if task.worktree is None else task.worktree.path,
            worktree_branch="" if task.worktree is None else task.worktree.branch,
            is_undelivered=task.report is EndReport.UNDELIVERED,
        )

    def kill(self, why: str = "killed") -> bool:
        """End its run, and all that it started, now; says whether it still ran. No model goes on with it then."""
        task = self.task
        if not task.is_finished:
            task.is_stopped_by_user = True
        return task.kill(Cause("host", why))

    def move_to_background(self) -> bool:
        """Move it to the background, unnoticed; return True if it was still running."""
        return self.task.move_to_background()

    @property
    def retain(self) -> bool:
        """Whether it stays in memory after its end, because somebody looks at it."""
        return self.task.retain

    @retain.setter
    def retain(self, value: bool) -> None:
        self.task.retain = value
