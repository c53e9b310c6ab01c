"""The tasks of a session: started, found, ended.

Rule 1: a task is known before its start returns, so its id can be asked for at once. Rule 2: an error of a task is its own
end, `failed`, and nobody else's. Rule 3: leaving ends what runs, and returns when it has ended. Rule 4: what does the work is
either a function that runs here, or lives elsewhere and says how it stands; the table is the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final

import trio

from greenroom.actors import Edge
from greenroom.actors import State as TaskState
from greenroom.core import Cause, InternalError, message_of, open_bare_nursery
from greenroom.tasks._notice import TaskNotice
from greenroom.tasks._task import MCP_CALL, SHELL, Task, TaskInfo

MAX_FINISHED: Final = 1_000
"""Finished tasks that are remembered; the one that ended first is forgotten first."""
RELEASE_S: Final = 30.0
"""Seconds after its end for which what a task holds is kept in memory (agents 6.82, 17.2)."""
RELEASES_APART_S: Final = 0.05
"""Where very many tasks end one after the other, those of so many seconds are released together: a sleep for each is dear."""
AFTER_CARE_S: Final = 60.0
"""Seconds that may pass between an end and its notice, for what is looked after in between."""

Work: TypeAlias = Callable[[], Awaitable[int | None]]
"""What a task does; returns its exit code, 0 for success, or None for what has none. What it raises is why it failed."""
Watch: TypeAlias = Callable[[Task, Edge | None], None]
"""Hears of each edge that a task takes, and with None of a move to the background, in the same step."""


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
    """Made by `open_tasks`. To be used from the Trio thread only."""

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
        """Whether what a call waits for may go on without it."""
        self._nursery = nursery
        self._deliver = self.give_up if tell is None else tell
        self._watch = watch
        self._note_new = note_new
        self._note_settled = note_settled
        self._note_undelivered = note_undelivered
        self._release_s = release_s
        self._tasks: dict[str, Task] = {}
        self._running: dict[str, dict[Task, None]] = {}
        """What has not ended, by owner."""
        self._finished: deque[Task] = deque()
        self._releases: deque[tuple[float, Task]] = deque()
        self._is_releasing = False
        self._sweeping = trio.CancelScope()
        self._owners: list[TaskOwner] = []

    def join(self, owner: TaskOwner, *, deliver: Callable[[TaskNotice], None] | None = None) -> None:
        """Register an owner of tasks; those that joined later are asked first.

        Args:
            owner: The owner. It is asked for the tasks of names, and about each task that is to be released.
            deliver: Takes the notices of ends from now on; None leaves them to whoever takes them now.
        """
        self._owners.insert(0, owner)
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
    ) -> Task:
        """Start a command, or a call of an MCP server, and return its task; it is `pending` until its work begins.

        Args:
            work: What it does.
            id: A new id; the stem of the output file.
            description: What it does, in some words.
            owner: Id of the agent whose it is.
            tool_use_id: Id of the call that starts it.
            output_file: Where its output goes.
            command: The command, for people; empty for a call.
            server: The server, of a call; empty for a command.
            tool: The server's own name of the tool, of a call.
            is_background: Whether its end is told by a notice, because no call waits for it.
        """
        if id in self._tasks:
            raise InternalError(f"two tasks have the id {id!r}")
        info = TaskInfo(
            id=id,
            kind=MCP_CALL if server else SHELL,
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

    def open(self, info: TaskInfo, *, is_background: bool, kill: Callable[[Cause], object]) -> Task:
        """Take a task up whose work is done elsewhere, and return it, `pending`; `begin` and `end` say how it goes.

        Args:
            info: What it is. An id may come again when its last run has ended.
            is_background: Whether its end is told by a notice, because no call waits for it.
            kill: Asks whoever does the work for its end.
        """
        earlier = self._tasks.get(info.id)
        if earlier is not None and not earlier.is_finished:
            raise InternalError(f"two tasks have the id {info.id!r}")
        return self._add(info, is_background=is_background, kill=kill)

    def recall(
        self, info: TaskInfo, *, state: TaskState = TaskState.KILLED, error: str = "", cause: Cause | None = None
    ) -> Task:
        """Take a task up that ended before anybody of now was there; its end is nobody's to tell.

        Args:
            info: What it was.
            state: How it ended.
            error: Why it failed.
            cause: Who asked for its end.
        """
        task = Task(
            info=info,
            is_background=True,
            is_notified=True,
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
        """Note that the work of a task has begun."""
        task.began_s = trio.current_time()
        task.move(Edge.BEGIN)

    def end(self, task: Task, edge: Edge, after_care: Callable[[], Awaitable[None]] | None = None) -> None:
        """Note how a task has ended; that can be seen at once.

        Args:
            task: The task.
            edge: How.
            after_care: What has to be done before its notice goes out, within `AFTER_CARE_S`; its failure changes nothing.
        """
        task.ended_s = trio.current_time()
        if task.state is TaskState.PENDING and edge is not Edge.KILL:
            task.began_s = task.ended_s
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
        """Have what is held for a task that has ended released after `release_s`, from now."""
        self._releases.append((trio.current_time() + self._release_s, task))
        if not self._is_releasing:
            self._is_releasing, self._sweeping = True, trio.CancelScope()
            self._nursery.start_soon(self._release_in_time, name="release of tasks")

    def beside(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that is no task of its own while the tasks are open; it may not fail."""
        self._nursery.start_soon(work)

    def _tell(self, notice: TaskNotice) -> None:
        self._deliver(notice)

    def give_up(self, notice: TaskNotice) -> None:
        """Note that nobody is there any more who could be told of an end; what the task came to stays for whoever asks."""
        task = self._tasks.get(notice.task_id)
        if task is not None and task.info.run == notice.run:
            task.is_undelivered = True
        self._note_undelivered(notice)  # on record, it wakes whoever waits for quiet

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
        """Return a task that runs, or ended not too long ago; by its id, or the name of its agent."""
        named = next(filter(None, (owner.id_of(task_id) for owner in self._owners)), task_id)
        return self._tasks.get(task_id) or self._tasks.get(named)

    def all(self) -> tuple[Task, ...]:
        """Return those that run and those that are remembered, in the order of starting."""
        return tuple(self._tasks.values())

    def running(self, owner: str | None = None) -> tuple[Task, ...]:
        """Return what has not ended, in the order of starting; of one agent, or of all."""
        if owner is not None:  # asked at each end of an agent
            return tuple(self._running.get(owner, ()))
        return tuple(task for task in self._tasks.values() if not task.is_finished)

    def limit(self, task: Task, limit_s: float) -> None:
        """End a task if it still runs after so many seconds."""
        self._nursery.start_soon(_end_late, task, limit_s, name=f"limit of {task.info.id}")

    async def stop(self, cause: Cause, owner: str | None = None) -> None:
        """End what runs, of one agent or of all, and return when it has ended. Cancelled, it has asked for the end."""
        asked = self.running(owner)
        for task in asked:
            task.kill(cause)
        for task in asked:
            await task.wait_finished()

    def close(self) -> None:
        """Let go of what is kept for those who look."""
        self._releases.clear()
        self._sweeping.cancel()

    def _add(self, info: TaskInfo, *, is_background: bool, kill: Callable[[Cause], object] | None = None) -> Task:
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
    task.began_s = trio.current_time()
    task.move(Edge.BEGIN)
    # Unless the work says otherwise: cancelled, by whoever it may be.
    edge = Edge.KILL
    try:
        with task.scope:
            task.exit_code = await work()
            edge = Edge.FAIL if task.exit_code else Edge.COMPLETE
    except Exception as error:  # noqa: BLE001 - what it raises is how it ended
        task.error = message_of(error) or type(error).__name__
        edge = Edge.FAIL
    finally:
        task.ended_s = trio.current_time()
        task.move(edge)


async def _end_late(task: Task, limit_s: float) -> None:
    with trio.move_on_after(limit_s):
        await task.wait_finished()
    task.kill(Cause("deadline", f"it went on for {limit_s:g} s after the agent that started it had ended"))


async def _look_after(
    claim: AbstractContextManager[None], after_care: Callable[[], Awaitable[None]], note: Callable[[], None]
) -> None:
    try:
        # Shielded, because the end of the session is no reason to leave a worktree behind.
        with trio.CancelScope(shield=True, deadline=trio.current_time() + AFTER_CARE_S):
            await after_care()
    except Exception:  # noqa: BLE001, S110 - what went wrong is its caller's to put on record; the end is told all the same
        pass
    finally:
        claim.__exit__(None, None, None)
        note()  # whoever waits for quiet looks again when something is put on record


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
    """Open the tasks of a session; leaving ends what runs.

    Args:
        tell: Takes the notice of each end that no call reported, in the step in which the task ends, so it may only store it. By
            default an owner that joins does.
        watch: Called at each edge that a task takes, and at its move to the background, in the same step; for the record.
        note_new: Called with each task in the step in which it is known.
        note_settled: Called with each that had to be looked after, when that is done.
        note_undelivered: Called with each notice that nobody is there for.
        release_s: Seconds after its end for which a task counts as looked at.
        is_on: Whether what a call waits for may be moved to the background.
    """
    async with open_bare_nursery() as nursery:
        tasks = Tasks(nursery, tell, watch, note_new, note_settled, note_undelivered, release_s, is_on=is_on)
        try:
            yield tasks
        finally:
            for task in tasks.running():
                task.kill(Cause("session", "the session ends"))
            tasks.close()
