"""The tasks of a session: started, found, ended.

Rule 1: a task is known before its start returns, so its id can be asked for at once. Rule 2: an error of a task is its own
end, `failed`, and nobody else's. Rule 3: leaving ends what runs, and returns when it has ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias, final

import trio

from greenroom.actors import Edge
from greenroom.core import Cause, InternalError, open_bare_nursery
from greenroom.tasks._notice import TaskNotice
from greenroom.tasks._task import Task, TaskInfo

MAX_FINISHED: Final = 1_000
"""Finished tasks that are remembered; the one that ended first is forgotten first."""

Work: TypeAlias = Callable[[], Awaitable[int]]
"""What a task does; returns its exit code, 0 for success. What it raises is why it failed."""


@final
class Tasks:
    """Made by `open_tasks`. To be used from the Trio thread only."""

    def __init__(
        self, nursery: trio.Nursery, tell: Callable[[TaskNotice], None], watch: Callable[[Task, Edge], None]
    ) -> None:
        self._nursery = nursery
        self._tell = tell
        self._watch = watch
        self._tasks: dict[str, Task] = {}
        self._finished: list[str] = []

    def start(
        self,
        work: Work,
        *,
        id: str,  # noqa: A002 - what it is called everywhere
        description: str,
        owner: str,
        tool_use_id: str,
        output_file: Path,
        command: str,
        is_background: bool,
    ) -> Task:
        """Start a shell task and return it; it is `pending` until its work begins.

        Args:
            work: What it does.
            id: A new id; the stem of the output file.
            description: What it does, in some words.
            owner: Id of the agent whose it is.
            tool_use_id: Id of the call that starts it.
            output_file: Where its output goes.
            command: The command, for people.
            is_background: Whether its end is told by a notice, because no call waits for it.
        """
        if id in self._tasks:
            raise InternalError(f"two tasks have the id {id!r}")
        info = TaskInfo(
            id=id,
            description=description,
            owner=owner,
            tool_use_id=tool_use_id,
            output_file=output_file,
            command=command,
        )
        task = Task(info=info, is_background=is_background, tell=self._tell, watch=self._ended_or_watched)
        self._tasks[id] = task
        self._nursery.start_soon(_run, task, work, name=f"task {id}")
        return task

    def find(self, task_id: str) -> Task | None:
        """Return a task that runs, or ended not too long ago."""
        return self._tasks.get(task_id)

    def running(self, owner: str | None = None) -> tuple[Task, ...]:
        """Return what has not ended, in the order of starting; of one agent, or of all."""
        return tuple(task for task in self._tasks.values() if not task.is_finished and owner in {None, task.info.owner})

    async def stop(self, cause: Cause, owner: str | None = None) -> None:
        """End what runs, of one agent or of all, and return when it has ended. Cancelled, it has asked for the end."""
        asked = self.running(owner)
        for task in asked:
            task.kill(cause)
        for task in asked:
            await task.wait_finished()

    def _ended_or_watched(self, task: Task, edge: Edge) -> None:
        if task.is_finished:
            self._finished.append(task.info.id)
            if len(self._finished) > MAX_FINISHED:
                del self._tasks[self._finished.pop(0)]
        self._watch(task, edge)


async def _run(task: Task, work: Work) -> None:
    if task.is_finished:  # killed before it began
        return
    task.began_s = trio.current_time()
    task.move(Edge.BEGIN)
    # Unless the work says otherwise: cancelled, by whoever it may be.
    edge = Edge.KILL
    try:
        with task.scope:
            task.exit_code = await work()
            edge = Edge.COMPLETE if task.exit_code == 0 else Edge.FAIL
    except Exception as error:  # noqa: BLE001 - what it raises is how it ended
        task.error = str(error) or type(error).__name__
        edge = Edge.FAIL
    finally:
        task.ended_s = trio.current_time()
        task.move(edge)


@asynccontextmanager
async def open_tasks(
    *,
    tell: Callable[[TaskNotice], None],
    watch: Callable[[Task, Edge], None] = lambda _task, _edge: None,
) -> AsyncIterator[Tasks]:
    """Open the tasks of a session; leaving ends what runs.

    Args:
        tell: Takes the notice of each end that no call told; in the step in which the task ends, so it may only store it.
        watch: Called at each edge that a task takes, in the same step; for the record.
    """
    async with open_bare_nursery() as nursery:
        tasks = Tasks(nursery, tell, watch)
        try:
            yield tasks
        finally:
            for task in tasks.running():
                task.kill(Cause("session", "the session ends"))
