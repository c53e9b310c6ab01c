"""One background task: what it is, where it stands, and who has been told of its end.

Rule 1: its state changes through the table alone. Rule 2: the end of a background task is told once: by the result of the
call that waited for it, or by a notice. Rule 3: foreground is a link: the call that started it waits for it, and letting it
go changes nothing for the task.
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
from greenroom.tasks._notice import TaskNotice

SHELL: Final = "local_bash"


@final
@attrs.frozen(kw_only=True)
class TaskInfo:
    """What is known of a task before it begins."""

    id: str
    """`b` and 8 of `[0-9a-z]` for a shell."""
    kind: str = SHELL
    description: str
    """What it does, in some words, for people and models."""
    owner: str
    """Id of the agent whose it is."""
    tool_use_id: str = ""
    """Id of the call that started it."""
    output_file: Path
    command: str = ""


@final
@attrs.define(eq=False, kw_only=True)
class Task:
    """A task; made by `Tasks.start`."""

    info: TaskInfo
    is_background: bool
    """Whether nobody's call waits for it."""
    is_notified: bool = False
    """Whether its end was told, by a result or by a notice."""
    state: TaskState = TaskState.PENDING
    exit_code: int | None = None
    error: str = ""
    """Why it failed, where that is more than an exit code."""
    cause: Cause | None = None
    """Who asked for its end, and why."""
    began_s: float = 0.0
    ended_s: float = 0.0
    """On the run's clock."""
    _tell: Callable[[TaskNotice], None] = attrs.field(repr=False)
    _watch: Callable[[Task, Edge], None] = attrs.field(repr=False)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, repr=False)
    """What its work runs in."""
    _claims: int = attrs.field(default=0, repr=False)
    _finished: trio.Event = attrs.field(factory=trio.Event, repr=False)
    _released: trio.Event = attrs.field(factory=trio.Event, repr=False)

    @property
    def is_finished(self) -> bool:
        """Whether it has ended."""
        return self.state in TERMINAL

    async def wait_finished(self) -> None:
        """Return when it has ended, whatever way."""
        await self._finished.wait()

    async def wait_released(self) -> None:
        """Return when it has ended, or was moved to the background."""
        await self._released.wait()

    def move_to_background(self) -> bool:
        """Let go of the call that waits for it, and say whether that was still possible. The task does not notice."""
        if self.is_finished:
            return False
        self.is_background = True
        self._released.set()
        return True

    def kill(self, cause: Cause) -> bool:
        """Ask for its end, and say whether it was still there; it ends when what it holds has been given back."""
        if self.is_finished:
            return False
        if self.cause is None:
            self.cause = cause
        self.scope.cancel()
        if self.state is TaskState.PENDING:
            self.move(Edge.KILL)
        return True

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
        """Its end is being told by the result of a call: no notice tells it again."""
        self.is_notified = True

    def move(self, edge: Edge) -> None:
        """Take an edge; the end of a background task that nobody claims is told in the same step."""
        self.state = step(self.state, edge)
        self._watch(self, edge)
        if self.is_finished:
            self._finished.set()
            self._released.set()
            self._settle()

    def _settle(self) -> None:
        if self.is_finished and self.is_background and not self.is_notified and not self._claims:
            self.is_notified = True
            self._tell(self.notice)

    @property
    def notice(self) -> TaskNotice:
        """What tells of its end."""
        info = self.info
        return TaskNotice(
            task_id=info.id,
            tool_use_id=info.tool_use_id,
            output_file=str(info.output_file),
            status=self.state,
            summary=f'Background command "{info.description}" {self.ending}',
            owner=info.owner,
        )

    @property
    def ending(self) -> str:
        """How it ended, in words that follow its name."""
        if self.state is TaskState.COMPLETED:
            return f"completed (exit code {self.exit_code})"
        if self.state is TaskState.KILLED:
            return "was stopped" if self.cause is None else f"was stopped by {self.cause.who}: {self.cause.why}"
        if self.state is TaskState.FAILED:
            return f"failed: {self.error}" if self.error else f"failed with exit code {self.exit_code}"
        return f"is {self.state}"
