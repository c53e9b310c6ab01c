"""One background task: what it is, where it stands, and who has been told of its end.

Rule 1: its state changes through the table alone. Rule 2: the end of a run is told once: by the result of the call that
waited for it, or by a notice. Rule 3: foreground is a link: the call that started it waits for it, and letting it go changes
nothing for the task. Rule 4: its end can be seen before anything is cleaned up, and is told after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.actors import TERMINAL, Edge, step
from greenroom.actors import State as TaskState
from greenroom.core import Cause
from greenroom.tasks._notice import TaskNotice, TaskUsage, name_notice
from greenroom.tasks._progress import Progress

SHELL: Final = "local_bash"
AGENT: Final = "local_agent"
TEAMMATE: Final = "in_process_teammate"
MCP_CALL: Final = "mcp_task"
LOST: Final = "lost"
"""Who ended a task whose process was gone before it had ended."""


@final
@attrs.frozen(kw_only=True)
class TaskInfo:
    """What is known of a task before it begins."""

    id: str
    """`b` and 8 of `[0-9a-z]` for a shell, `m` and such 8 for a call of an MCP server, `a` and 16 hex digits for an agent,
    `name@team` for a teammate."""
    kind: str = SHELL
    description: str
    """What it does, in some words, for people and models."""
    owner: str
    """Id of the agent that is told of its end; empty where that is the host."""
    tool_use_id: str = ""
    """Id of the call that started it."""
    output_file: Path
    command: str = ""
    agent_type: str = ""
    """The definition of an agent."""
    server: str = ""
    """The server, of a call of an MCP server."""
    tool: str = ""
    """The server's own name of the tool, of such a call."""
    depth: int = 0
    """How far an agent is below main, which is 0."""
    run: int = 1
    """Number of this run: an agent that is gone on with has another."""


@final
@attrs.define(eq=False, kw_only=True)
class Task:
    """One run of a task; made by `Tasks`."""

    info: TaskInfo
    is_background: bool
    """Whether nobody's call waits for it."""
    may_move: bool = True
    """Whether it may go on without the call that waits for it."""
    is_notified: bool = False
    """Whether its end was told, by a result or by a notice."""
    is_answered: bool = False
    """Whether the result of a call has told its end."""
    state: TaskState = TaskState.PENDING
    exit_code: int | None = None
    error: str = ""
    """Why it failed, where that is more than an exit code."""
    cause: Cause | None = None
    """Who asked for its end, and why."""
    result: str | None = None
    """What an agent said last, or what a call came to; a part of it where it did not come to its end."""
    said_of_silence: str = ""
    """What its notice says where `result` is empty."""
    usage: TaskUsage | None = None
    worktree: str = ""
    """The worktree that was kept at its end."""
    worktree_branch: str = ""
    progress: Progress | None = None
    """How far an agent has come."""
    is_stopped_by_user: bool = False
    """Whether a person ended it: no model goes on with it then (agents 6.51)."""
    has_begun: bool = False
    """Whether its work ever began."""
    is_silent: bool = False
    """Whether its end is told to nobody: whoever started it looks at the task itself."""
    is_undelivered: bool = False
    """Whether nobody was there any more who could be told of its end."""
    is_quiet: bool = False
    """Whether the notice of its end begins no turn, and is read with whatever comes next."""
    retain: bool = False
    """Whether it is kept, because somebody looks at it."""
    is_told_by_stop: bool = True
    """Whether the answer of TaskStop says all there is to say of its end."""
    began_s: float = 0.0
    ended_s: float = 0.0
    """On the run's clock."""
    _tell: Callable[[TaskNotice], None] = attrs.field(repr=False)
    _watch: Callable[[Task, Edge | None], None] = attrs.field(repr=False)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, repr=False)
    """What its work runs in."""
    _kill: Callable[[Cause], object] | None = attrs.field(default=None, repr=False)
    """Ends what does the work, where that is not in the scope."""
    _claims: int = attrs.field(default=0, repr=False)
    _finished: trio.Event = attrs.field(factory=trio.Event, repr=False)
    _released: trio.Event = attrs.field(factory=trio.Event, repr=False)
    _settled: trio.Event = attrs.field(factory=trio.Event, repr=False)

    @property
    def is_finished(self) -> bool:
        """Whether it has ended."""
        return self.state in TERMINAL

    @property
    def attention(self) -> str:
        """What somebody has to do for it to go on, such as allow a call; empty while it needs nobody."""
        return "" if self.progress is None or self.is_finished else self.progress.attention

    @property
    def is_settled(self) -> bool:
        """Whether it has ended, and what it leaves behind has been looked after."""
        return self._settled.is_set()

    async def wait_finished(self) -> None:
        """Return when it has ended, whatever way."""
        await self._finished.wait()

    async def wait_released(self) -> None:
        """Return when it has ended, or was moved to the background."""
        await self._released.wait()

    async def wait_settled(self) -> None:
        """Return when it has ended and what it leaves behind has been looked after."""
        await self._settled.wait()

    def move_to_background(self) -> bool:
        """Let go of the call that waits for it, and say whether that was possible. The task does not notice."""
        if self.is_finished or not (self.may_move or self.is_background):
            return False
        if not self.is_background:
            self.is_background = True
            self._watch(self, None)
        self._released.set()
        return True

    def kill(self, cause: Cause) -> bool:
        """Ask for its end, and say whether it was still there; it ends when what it holds has been given back."""
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
        """Note what it has come to so far; the notice of its end says it."""
        self.result = text

    def abandon(self) -> None:
        """The call that waited for it has ended without a result: its end is told by a notice that begins no turn."""
        if not self.is_background:
            self.is_quiet = self.is_background = True
            self._settle()

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold its notice back, for whoever is about to tell of its end with `mark_notified`, or to give up."""
        self._claims += 1
        try:
            yield
        finally:
            self._claims -= 1
            self._settle()

    def mark_notified(self) -> None:
        """Its end is being told by the result of a call: no notice tells it again, and one that waits is not read."""
        self.is_notified = self.is_answered = True
        self.is_undelivered = False

    def move(self, edge: Edge) -> None:
        """Take an edge; the end of a background task that nobody claims is told in the same step."""
        self.state = step(self.state, edge)
        self.has_begun = self.has_begun or edge is Edge.BEGIN
        self._watch(self, edge)
        if self.is_finished:
            self._finished.set()
            self._released.set()
            self._settle()

    def mark_over(self) -> None:
        """Wake whoever waits for it, or ever will: it has been over for long."""
        for event in (self._finished, self._released, self._settled):
            event.set()

    def _settle(self) -> None:
        if not self.is_finished or self._claims:
            return
        self._settled.set()
        # A program that waits for an agent tells nobody of its end.
        is_awaited = not self.is_background and (self.info.kind == SHELL or self.info.tool_use_id != "")
        if not is_awaited and not self.is_notified:
            self.is_notified = True
            if not self.is_silent:
                self._tell(self.notice)

    @property
    def notice_id(self) -> str:
        """Names the notice of its end: `<task id>.<run>`."""
        return name_notice(self.info.id, self.info.run)

    @property
    def duration_ms(self) -> int:
        """How long it worked: what it waited for permissions is not counted."""
        return max(0, round((self.ended_s - self.began_s) * 1000) - self.waited_ms)

    @property
    def waited_ms(self) -> int:
        """How much of the time until its end it waited for somebody's permission."""
        return self.progress.waited_ms(self.ended_s) if self.progress is not None and self.ended_s else 0

    @property
    def notice(self) -> TaskNotice:
        """What tells of its end."""
        info = self.info
        return TaskNotice(
            task_id=info.id,
            tool_use_id=info.tool_use_id,
            output_file=str(info.output_file),
            status=self.state,
            summary=f"{_name(info.kind, info.description)} {self.ending}",
            result=self.result or self.said_of_silence or None,
            is_marked=info.kind == AGENT,
            usage=self.usage,
            worktree=self.worktree,
            worktree_branch=self.worktree_branch,
            owner=info.owner,
            run=info.run,
            wakes=not self.is_quiet,
        )

    @property
    def ending(self) -> str:
        """How it ended, in words that follow its name."""
        if self.state is TaskState.KILLED and self.cause is not None:
            return f"was stopped by {self.cause.who}: {self.cause.why}".rstrip(": ")
        if self.state is TaskState.FAILED and self.cause is not None and self.cause.who == LOST:
            return f"was lost: {self.cause.why}"
        return _ending(self.state, self.exit_code, self.error)


def describe_end(
    kind: str, description: str, state: TaskState, *, exit_code: int | None = None, error: str = ""
) -> str:
    """Return in one sentence how a task ended, for readers that know of it by its events."""
    return f"{_name(kind, description)} {_ending(state, exit_code, error)}"


def _name(kind: str, description: str) -> str:
    return f'{_WORDS.get(kind, "Background command")} "{description}"'


_WORDS: Final = {AGENT: "Agent", TEAMMATE: "Teammate", MCP_CALL: "MCP call"}


def _ending(state: TaskState, exit_code: int | None, error: str) -> str:
    if state is TaskState.COMPLETED:
        return "completed" if exit_code is None else f"completed (exit code {exit_code})"
    if state is TaskState.KILLED:
        return "was stopped"
    if state is TaskState.FAILED:
        return f"failed: {error}" if error else f"failed with exit code {exit_code}"
    return f"is {state}"
