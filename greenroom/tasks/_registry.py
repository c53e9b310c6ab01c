"""The tasks of a session: start, lookup, end.

Rule 1: a task is registered before its start returns, so its id can be used at once. Rule 2: an error of a task is its
own end, `failed`, and affects nothing else. Rule 3: leaving the block ends running tasks, and returns when they have
ended. Rule 4: the work is either a function that runs here, or lives elsewhere and reports its state; the table is the
same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final

import trio

from greenroom.actors import Edge
from greenroom.actors import State as TaskState
from greenroom.core import Cause, InternalError, open_bare_nursery
from greenroom.core.texts import message_of
from greenroom.tasks._notice import TaskNotice, TaskReport
from greenroom.tasks._task import MCP_CALL, MONITOR, SHELL, EndReport, Task, TaskInfo

MAX_FINISHED: Final = 1_000
"""Maximum number of finished tasks that are remembered; the oldest are forgotten first."""
RELEASE_S: Final = 30.0
"""Seconds after its end for which a task's resources are kept in memory."""
RELEASES_APART_S: Final = 0.05
"""Releases within this time are grouped: one sleep for each of very many tasks would be expensive."""
AFTER_CARE_S: Final = 60.0
"""Maximum seconds between an end and its notice, for cleaning up in between."""

Work: TypeAlias = Callable[[], Awaitable[int | None]]
"""Work of a task; returns its exit code, 0 for success, or None if it has none. An exception is the reason of its
failure.
"""
Watch: TypeAlias = Callable[[Task, Edge | None], None]
"""Called with each edge that a task takes, and with None for a move to the background, in the same step."""
Report: TypeAlias = Callable[[TaskReport], Awaitable[bool]]
"""Delivers what a running task has printed; returns False if nobody can take it now."""


async def _report_to_nobody(_: TaskReport) -> bool:
    return False


class TaskOwner(Protocol):
    """A part of the session that tasks belong to, such as the sub-agents or a team."""

    def id_of(self, name: str) -> str:
        """Return the id of the task of an agent with this name; empty, or the name itself, if there is none."""
        ...

    def release(self, task: Task) -> bool:
        """Release what was held for a task that ended some time ago; return False to be called again later."""
        ...


@final
class Tasks:
    """The tasks of a session. Made by `open_tasks`; use it from the Trio thread only."""

    def __init__(
        self,
        nursery: trio.Nursery,
        tell: Callable[[TaskNotice], None] | None,
        watch: Watch,
        note_new: Callable[[Task], None],
        note_settled: Callable[[Task], None],
        note_undelivered: Callable[[TaskNotice], None],
        release_s: float,
        *,
        is_on: bool,
    ) -> None:
        self.is_on = is_on
        """True if a call may leave its task in the background."""
        self._nursery = nursery
        self._deliver = self.give_up if tell is None else tell
        self._watch = watch
        self._note_new = note_new
        self._note_settled = note_settled
        self._note_undelivered = note_undelivered
        self._release_s = release_s
        self._tasks: dict[str, Task] = {}
        self._running: dict[str, dict[Task, None]] = {}
        """Unfinished tasks, by owner."""
        self._finished: deque[Task] = deque()
        self._releases: deque[tuple[float, Task]] = deque()
        self._is_releasing = False
        self._sweeping = trio.CancelScope()
        self._owners: list[TaskOwner] = []
        self._report: Report = _report_to_nobody

    def join(
        self,
        owner: TaskOwner,
        *,
        deliver: Callable[[TaskNotice], None] | None = None,
        report: Report | None = None,
    ) -> None:
        """Register an owner of tasks; those that joined later are asked first.

        Args:
            owner: The owner. It is asked for the tasks of names, and about each task that is to be released.
            deliver: Takes the notices of ends from now on; None leaves them with their present recipient.
            report: The same for what running tasks have printed.
        """
        self._owners.insert(0, owner)
        if report is not None:
            self._report = report
        if deliver is not None:
            self._deliver = deliver

    def start(
        self,
        work: Work,
        *,
        id: str,  # noqa: A002 - what it is called everywhere
        description: str,
        owner: str,
        tool_use_id: str,
        output_file: Path,
        command: str = "",
        server: str = "",
        tool: str = "",
        is_background: bool,
        is_monitor: bool = False,
    ) -> Task:
        """Start a command, or a call of an MCP server, and return its task; it is `pending` until its work begins.

        Args:
            work: The work.
            id: A new id; the stem of the output file.
            description: Short description.
            owner: Id of the agent that owns it.
            tool_use_id: Id of the call that starts it.
            output_file: File for its output.
            command: The command, for people; empty for a call.
            server: The server of a call; empty for a command.
            tool: The server's name of the tool of a call.
            is_background: True if a notice reports its end, because no call waits for it.
            is_monitor: True for a command whose lines are reported while it runs.
        """
        if id in self._tasks:
            raise InternalError(f"duplicate task id {id!r}")
        info = TaskInfo(
            id=id,
            kind=MCP_CALL if server else MONITOR if is_monitor else SHELL,
            description=description,
            owner=owner,
            tool_use_id=tool_use_id,
            output_file=output_file,
            command=command,
            server=server,
            tool=tool,
        )
        task = self._add(info, is_background=is_background)
        self._nursery.start_soon(_run, task, work, name=f"task {id}")
        return task

    async def report(self, task_id: str, number: int, lines: Sequence[str], *, suppressed: int) -> bool:
        """Report lines that a running task has printed to its owner; return False if nobody can take them now."""
        info = self._tasks[task_id].info
        return await self.deliver_report(
            TaskReport(
                task_id=task_id,
                number=number,
                description=info.description,
                owner=info.owner,
                lines=tuple(lines),
                suppressed=suppressed,
            )
        )

    async def deliver_report(self, report: TaskReport) -> bool:
        """Report something about a task to its owner; return False if nobody can take it now."""
        return await self._report(report)

    def open(self, info: TaskInfo, *, is_background: bool, kill: Callable[[Cause], object]) -> Task:
        """Register a task whose work is done elsewhere, and return it, `pending`; `begin` and `end` report its
        progress.

        Args:
            info: Its description. An id may be reused when its last run has ended.
            is_background: True if a notice reports its end, because no call waits for it.
            kill: Requests the end of the work.
        """
        earlier = self._tasks.get(info.id)
        if earlier is not None and not earlier.is_finished:
            raise InternalError(f"duplicate task id {info.id!r}")
        return self._add(info, is_background=is_background, kill=kill)

    def adopt(self, info: TaskInfo, state: TaskState, *, kill: Callable[[Cause], object]) -> Task:
        """Register a task that an earlier process registered and that has not ended, because its work is done elsewhere.

        Args:
            info: Its description.
            state: `pending` or `running`.
            kill: Requests the end of the work.
        """
        task = self._add(info, is_background=True, kill=kill, is_known=True)
        if state is TaskState.RUNNING:
            task.state, task.began_s = state, trio.current_time()
        return task

    def recall(
        self, info: TaskInfo, *, state: TaskState = TaskState.KILLED, error: str = "", cause: Cause | None = None
    ) -> Task:
        """Register a task that ended in an earlier process; its end is not reported again.

        Args:
            info: Its description.
            state: Its outcome.
            error: Reason of a failure.
            cause: Requester of its end.
        """
        task = Task(
            info=info,
            is_background=True,
            report=EndReport.NOTICE,
            state=state,
            error=error,
            cause=cause,
            tell=self._tell,
            watch=self._watch,
        )
        task.mark_over()
        self._tasks[info.id] = task
        self._finished.append(task)
        return task

    def begin(self, task: Task) -> None:
        """Record that the work of a task has begun."""
        task.move(Edge.BEGIN)

    def end(self, task: Task, edge: Edge, after_care: Callable[[], Awaitable[None]] | None = None) -> None:
        """Record the end of a task, which is visible at once.

        Args:
            task: The task.
            edge: Its outcome.
            after_care: Work to do before its notice is sent, within `AFTER_CARE_S`; its failure changes nothing.
        """
        task.ended_s = trio.current_time()
        if task.state is TaskState.PENDING and edge is not Edge.KILL:
            task.move(Edge.BEGIN)
        if after_care is None:
            task.move(edge)
        else:
            claim = task.claimed()
            claim.__enter__()
            task.move(edge)
            note = partial(self._note_settled, task)
            self._nursery.start_soon(_look_after, claim, after_care, note, name=f"after {task.info.id}")
        self.release_later(task)

    def release_later(self, task: Task) -> None:
        """Release the resources of an ended task `release_s` seconds from now."""
        self._releases.append((trio.current_time() + self._release_s, task))
        if not self._is_releasing:
            self._is_releasing, self._sweeping = True, trio.CancelScope()
            self._nursery.start_soon(self._release_in_time, name="release of tasks")

    def beside(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run work that is not a task while the tasks are open; it must not fail."""
        self._nursery.start_soon(work)

    def _tell(self, notice: TaskNotice) -> None:
        self._deliver(notice)

    def give_up(self, notice: TaskNotice) -> None:
        """Record that an end could not be reported; the task's result stays available."""
        task = self._tasks.get(notice.task_id)
        if task is not None and task.info.run == notice.run:
            task.report = EndReport.UNDELIVERED
        self._note_undelivered(notice)  # recording it wakes tasks that wait for quiet

    async def _release_in_time(self) -> None:
        with self._sweeping:
            earliest_s = 0.0
            while self._releases:
                await trio.sleep_until(max(self._releases[0][0], earliest_s))
                now_s = trio.current_time()
                earliest_s = now_s + RELEASES_APART_S
                for task in self._take_due(now_s):
                    if task.retain or not task.is_settled or not self._is_released(task):
                        self._releases.append((now_s + self._release_s, task))
        self._is_releasing = False

    def _take_due(self, now_s: float) -> list[Task]:
        due = []
        while self._releases and self._releases[0][0] <= now_s:
            due.append(self._releases.popleft()[1])
        return due

    def _is_released(self, task: Task) -> bool:
        released = [owner.release(task) for owner in self._owners]  # each of them is asked
        return all(released)

    def find(self, task_id: str) -> Task | None:
        """Return a running or recently ended task by its id, or the name of its agent."""
        named = next(filter(None, (owner.id_of(task_id) for owner in self._owners)), task_id)
        return self._tasks.get(task_id) or self._tasks.get(named)

    def all(self) -> tuple[Task, ...]:
        """Return the running and the remembered tasks, in the order of starting."""
        return tuple(self._tasks.values())

    def running(self, owner: str | None = None) -> tuple[Task, ...]:
        """Return the unfinished tasks of one agent, or of all, in the order of starting."""
        if owner is not None:  # called at each end of an agent
            return tuple(self._running.get(owner, ()))
        return tuple(task for task in self._tasks.values() if not task.is_finished)

    def limit(self, task: Task, limit_s: float) -> None:
        """End a task if it still runs after `limit_s` seconds."""
        self._nursery.start_soon(_end_late, task, limit_s, name=f"limit of {task.info.id}")

    async def stop(self, cause: Cause, owner: str | None = None) -> None:
        """End the running tasks of one agent, or of all, and return when they have ended. If cancelled, their end is
        still requested.
        """
        asked = self.running(owner)
        for task in asked:
            task.kill(cause)
        for task in asked:
            await task.wait_finished()

    def close(self) -> None:
        """Release everything that is kept for lookups."""
        self._releases.clear()
        self._sweeping.cancel()

    def _add(
        self,
        info: TaskInfo,
        *,
        is_background: bool,
        kill: Callable[[Cause], object] | None = None,
        is_known: bool = False,
    ) -> Task:
        task = Task(
            info=info,
            is_background=is_background,
            may_move=self.is_on,
            tell=self._tell,
            watch=self._ended_or_watched,
            kill=kill,
        )
        self._tasks[info.id] = task
        self._running.setdefault(info.owner, {})[task] = None
        if not is_known:
            self._note_new(task)
        return task

    def _ended_or_watched(self, task: Task, edge: Edge | None) -> None:
        if task.is_finished:
            self._no_longer_runs(task)
            self._finished.append(task)
            if len(self._finished) > MAX_FINISHED:
                oldest = self._finished.popleft()
                if self._tasks.get(oldest.info.id) is oldest:
                    del self._tasks[oldest.info.id]
        self._watch(task, edge)

    def _no_longer_runs(self, task: Task) -> None:
        mine = self._running[task.info.owner]
        del mine[task]
        if not mine:
            del self._running[task.info.owner]


async def _run(task: Task, work: Work) -> None:
    if task.is_finished:  # killed before it began
        return
    task.move(Edge.BEGIN)
    # Unless the work says otherwise, it was cancelled.
    edge = Edge.KILL
    try:
        with task.scope:
            task.exit_code = await work()
            edge = Edge.FAIL if task.exit_code else Edge.COMPLETE
    except Exception as error:  # noqa: BLE001 - the exception is the reason of its end
        task.error = message_of(error) or type(error).__name__
        edge = Edge.FAIL
    finally:
        task.ended_s = trio.current_time()
        task.move(edge)


async def _end_late(task: Task, limit_s: float) -> None:
    with trio.move_on_after(limit_s):
        await task.wait_finished()
    task.kill(Cause("deadline", f"it ran for {limit_s:g} s after the agent that started it had ended"))


async def _look_after(
    claim: AbstractContextManager[None], after_care: Callable[[], Awaitable[None]], note: Callable[[], None]
) -> None:
    try:
        # Shielded, because the end of the session is no reason to leave a worktree behind.
        with trio.CancelScope(shield=True, deadline=trio.current_time() + AFTER_CARE_S):
            await after_care()
    except Exception:  # noqa: BLE001, S110 - the caller records its failure; the end is reported all the same
        pass
    finally:
        claim.__exit__(None, None, None)
        note()  # recording something wakes tasks that wait for quiet


@asynccontextmanager
async def open_tasks(
    *,
    tell: Callable[[TaskNotice], None] | None = None,
    watch: Watch = lambda _task, _edge: None,
    note_new: Callable[[Task], None] = lambda _: None,
    note_settled: Callable[[Task], None] = lambda _: None,
    note_undelivered: Callable[[TaskNotice], None] = lambda _: None,
    release_s: float = RELEASE_S,
    is_on: bool = True,
) -> AsyncIterator[Tasks]:
    """Open the tasks of a session; leaving the block ends running tasks.

    Args:
        tell: Takes the notice of each end that no call reported; called in the step of the end, so it may only store
            it. By default an owner that joins does.
        watch: Called in the same step with each edge that a task takes, and with its move to the background.
        note_new: Called with each task in the step of its registration.
        note_settled: Called with each task whose leftovers were processed.
        note_undelivered: Called with each notice that has no recipient.
        release_s: Seconds after its end for which a task is kept.
        is_on: True if tasks that a call waits for may be moved to the background.
    """
    async with open_bare_nursery() as nursery:
        tasks = Tasks(nursery, tell, watch, note_new, note_settled, note_undelivered, release_s, is_on=is_on)
        try:
            yield tasks
        finally:
            for task in tasks.running():
                task.kill(Cause("session", "the session ends"))
            tasks.close()
