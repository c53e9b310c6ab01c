"""A background task: its description, its state, and the reporting of its end.

Rule 1: its state changes only through the table. Rule 2: the end of a run is reported once: by the result of the call
that waited for it, or by a notice. Rule 3: foreground is a link: the call that started the task waits for it, and
ending the wait changes nothing for the task. Rule 4: its end is visible before anything is cleaned up, and reported
after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.actors import TERMINAL, Edge, step
from greenroom.actors import State as TaskState
from greenroom.core import Cause
from greenroom.tasks._notice import LOST, TaskNotice, TaskUsage, name_notice
from greenroom.tasks._progress import Progress

SHELL: Final = "local_bash"
AGENT: Final = "local_agent"
TEAMMATE: Final = "in_process_teammate"
MCP_CALL: Final = "mcp_task"
MONITOR: Final = "monitor"
REMOTE_AGENT: Final = "remote_agent"
"""An agent on a host."""
AGENTS: Final = frozenset((AGENT, REMOTE_AGENT))
"""Kinds of tasks that are sub-agents, wherever they work."""
COMMANDS: Final = frozenset((SHELL, MONITOR))
"""Kinds of tasks that are processes."""


class EndReport(StrEnum):
    """The way in which the end of a task was reported."""

    NONE = "none"
    """Not yet."""
    NOTICE = "notice"
    """By a notice, unless nobody wants one."""
    ANSWER = "answer"
    """By the result of a call; a notice that is not read yet is discarded."""
    UNDELIVERED = "undelivered"
    """Nobody was left to notify."""


class NoticeMode(StrEnum):
    """The effect of the notice of an end."""

    WAKE = "wake"
    """It begins a turn of its reader."""
    QUIET = "quiet"
    """It begins no turn, and is read with the next input."""
    NEVER = "never"
    """There is none: the starter of the task looks at the task itself."""


@final
@attrs.frozen
class KeptWorktree:
    """A worktree that was kept at the end of an agent."""

    path: str
    branch: str


@final
@attrs.frozen(kw_only=True)
class TaskInfo:
    """Description of a task, known before it begins."""

    id: str
    """`b` and 8 of `[0-9a-z]` for a shell, `m` and 8 of these for a monitor and for a call of an MCP server, `a` and 16 hex
    digits for an agent, `name@team` for a teammate.
    """
    kind: str = SHELL
    description: str
    """Short description, for people and models."""
    owner: str
    """Id of the agent that is notified of its end; empty for the host."""
    tool_use_id: str = ""
    """Id of the call that started it."""
    output_file: Path
    command: str = ""
    agent_type: str = ""
    """The definition of an agent."""
    server: str = ""
    """The server of a call of an MCP server."""
    tool: str = ""
    """The server's name of the tool of such a call."""
    depth: int = 0
    """Depth of an agent below main, which is 0."""
    run: int = 1
    """Number of this run: each resume of an agent is another run."""
    recoveries: int = 0
    """Number of times that an agent was resumed by itself, because its process had ended, since it was last told to work."""
    default_result: str = ""
    """The result in its notice if it completes without one."""


@final
@attrs.define(eq=False, kw_only=True)
class Task:
    """One run of a task; made by `Tasks`."""

    info: TaskInfo
    is_background: bool
    """True if no call waits for it."""
    may_move: bool = True
    """True if it may continue without the call that waits for it."""
    report: EndReport = EndReport.NONE
    notice_mode: NoticeMode = NoticeMode.WAKE
    state: TaskState = TaskState.PENDING
    exit_code: int | None = None
    error: str = ""
    """Reason of its failure, if there is more than an exit code."""
    cause: Cause | None = None
    """Requester and reason of its end."""
    result: str | None = None
    """An agent's last words, or a call's result; partial if it did not finish."""
    usage: TaskUsage | None = None
    worktree: KeptWorktree | None = None
    """The worktree that was kept at its end."""
    progress: Progress | None = None
    """Progress of an agent."""
    is_stopped_by_user: bool = False
    """True if a person ended it: models cannot resume it then."""
    retain: bool = False
    """True if it is kept because somebody looks at it."""
    began_s: float | None = None
    """When its work began, on the run's clock; None if it never did."""
    ended_s: float = 0.0
    """When it ended, on the run's clock."""
    _tell: Callable[[TaskNotice], None] = attrs.field(repr=False)
    _watch: Callable[[Task, Edge | None], None] = attrs.field(repr=False)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, repr=False)
    """Scope of its work."""
    _kill: Callable[[Cause], object] | None = attrs.field(default=None, repr=False)
    """Ends the work if that is not in the scope."""
    _claims: int = attrs.field(default=0, repr=False)
    _finished: trio.Event = attrs.field(factory=trio.Event, repr=False)
    _released: trio.Event = attrs.field(factory=trio.Event, repr=False)
    _settled: trio.Event = attrs.field(factory=trio.Event, repr=False)

    @property
    def is_finished(self) -> bool:
        """True if it has ended."""
        return self.state in TERMINAL

    @property
    def has_begun(self) -> bool:
        """True if its work ever began."""
        return self.began_s is not None

    @property
    def is_told_by_stop(self) -> bool:
        """True if the answer of TaskStop reports its end completely; the end of an agent has more to report."""
        return self.info.kind not in AGENTS

    @property
    def attention(self) -> str:
        """Required action of a person, such as allowing a call; empty if none."""
        return "" if self.progress is None or self.is_finished else self.progress.attention

    @property
    def is_settled(self) -> bool:
        """True if it has ended, and its leftovers have been processed."""
        return self._settled.is_set()

    async def wait_finished(self) -> None:
        """Return when it has ended."""
        await self._finished.wait()

    async def wait_released(self) -> None:
        """Return when it has ended, or was moved to the background."""
        await self._released.wait()

    async def wait_settled(self) -> None:
        """Return when it has ended and its leftovers have been processed."""
        await self._settled.wait()

    def move_to_background(self) -> bool:
        """Release the call that waits for it, and return True if that was possible. The task does not notice."""
        if self.is_finished or not (self.may_move or self.is_background):
            return False
        if not self.is_background:
            self.is_background = True
            self._watch(self, None)
        self._released.set()
        return True

    def kill(self, cause: Cause) -> bool:
        """Request its end, and return True if it was still unfinished; it ends when its resources have been released."""
        if self.is_finished:
            return False
        if self.cause is None:
            self.cause = cause
        if self._kill is not None:
            self._kill(cause)
            return True
        self.scope.cancel()
        if self.state is TaskState.PENDING:
            self.move(Edge.KILL)
        return True

    def note_result(self, text: str) -> None:
        """Record its intermediate result, which the notice of its end reports."""
        self.result = text

    def abandon(self) -> None:
        """Record that the call that waited for it ended without a result: a notice that begins no turn reports its end."""
        if not self.is_background:
            self.is_background = True
            self.defer_notice()
            self._settle()

    def defer_notice(self) -> None:
        """Make the notice of its end, if there is one, wait for the next input of its reader."""
        if self.notice_mode is NoticeMode.WAKE:
            self.notice_mode = NoticeMode.QUIET

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold its notice back while the caller decides whether to report the end itself with `mark_notified`."""
        self._claims += 1
        try:
            yield
        finally:
            self._claims -= 1
            self._settle()

    def mark_notified(self) -> None:
        """Record that the result of a call reports its end: no notice repeats it, and a waiting one is not read."""
        self.report = EndReport.ANSWER

    def move(self, edge: Edge) -> None:
        """Take an edge; the end of an unclaimed background task is reported in the same step."""
        self.state = step(self.state, edge)
        if edge is Edge.BEGIN:
            self.began_s = trio.current_time()
        self._watch(self, edge)
        if self.is_finished:
            self._finished.set()
            self._released.set()
            self._settle()

    def mark_over(self) -> None:
        """Wake all present and future waiters: it ended long ago."""
        for event in (self._finished, self._released, self._settled):
            event.set()

    def _settle(self) -> None:
        if not self.is_finished or self._claims:
            return
        self._settled.set()
        # The end of an agent that a program waits for is not reported to anybody.
        is_awaited = not self.is_background and (self.info.kind == SHELL or self.info.tool_use_id != "")
        if not is_awaited and self.report is EndReport.NONE:
            self.report = EndReport.NOTICE
            if self.notice_mode is not NoticeMode.NEVER:
                self._tell(self.notice)

    @property
    def notice_id(self) -> str:
        """Id of the notice of its end: `<task id>.<run>`."""
        return name_notice(self.info.id, self.info.run)

    @property
    def duration_ms(self) -> int:
        """Working time, without waits for permissions; 0 if it never began."""
        if self.usage is not None:
            return self.usage.duration_ms
        return 0 if self.began_s is None else max(0, round((self.ended_s - self.began_s) * 1000) - self.waited_ms)

    @property
    def waited_ms(self) -> int:
        """Time that it waited for permissions until its end."""
        return self.progress.waited_ms(self.ended_s) if self.progress is not None and self.ended_s else 0

    @property
    def notice(self) -> TaskNotice:
        """The notice of its end."""
        info = self.info
        return TaskNotice(
            task_id=info.id,
            tool_use_id=info.tool_use_id,
            output_file=str(info.output_file),
            status=self.state,
            summary=f"{_name(info.kind, info.description)} {self.ending}",
            result=self.result or (info.default_result if self.state is TaskState.COMPLETED else "") or None,
            is_marked=info.kind == AGENT,
            usage=self.usage,
            worktree="" if self.worktree is None else self.worktree.path,
            worktree_branch="" if self.worktree is None else self.worktree.branch,
            owner=info.owner,
            run=info.run,
            wakes=self.notice_mode is NoticeMode.WAKE,
        )

    @property
    def ending(self) -> str:
        """Its outcome, in words that follow its name."""
        if self.state is TaskState.KILLED and self.cause is not None:
            return f"was stopped by {self.cause.who}: {self.cause.why}".rstrip(": ")
        if self.state is TaskState.FAILED and self.cause is not None and self.cause.who == LOST:
            return f"was lost: {self.cause.why}"
        return _ending(self.state, self.exit_code, self.error)


def describe_end(
    kind: str, description: str, state: TaskState, *, exit_code: int | None = None, error: str = ""
) -> str:
    """Return the outcome of a task in one sentence, for readers that know it from its events."""
    return f"{_name(kind, description)} {_ending(state, exit_code, error)}"


def _name(kind: str, description: str) -> str:
    return f'{_WORDS.get(kind, "Background command")} "{description}"'


_WORDS: Final = {
    AGENT: "Agent",
    REMOTE_AGENT: "Remote agent",
    TEAMMATE: "Teammate",
    MCP_CALL: "MCP call",
    MONITOR: "Monitor",
}


def _ending(state: TaskState, exit_code: int | None, error: str) -> str:
    if state is TaskState.COMPLETED:
        return "completed" if exit_code is None else f"completed (exit code {exit_code})"
    if state is TaskState.KILLED:
        return "was stopped"
    if state is TaskState.FAILED:
        return f"failed: {error}" if error else f"failed with exit code {exit_code}"
    return f"is {state}"
