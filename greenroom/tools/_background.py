"""Port to the table of background tasks: implemented by `greenroom.tasks`, used by tools.

A call waits for its task by a link. A task that may not outlive the call ends before the call does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

import trio

from greenroom.core import Cause


class BackgroundInfo(Protocol):
    """The description of a task before it starts."""

    @property
    def id(self) -> str:
        """Its id in requests."""
        ...

    @property
    def kind(self) -> str:
        """Its kind, such as `local_bash`."""
        ...

    @property
    def description(self) -> str:
        """Its purpose, in a few words."""
        ...

    @property
    def command(self) -> str:
        """The command, for a shell."""
        ...

    @property
    def agent_type(self) -> str:
        """The definition, for an agent."""
        ...

    @property
    def server(self) -> str:
        """The server, for a call of an MCP server."""
        ...

    @property
    def tool(self) -> str:
        """The server's own name of the tool, for a call of an MCP server."""
        ...

    @property
    def output_file(self) -> Path:
        """The file of its output."""
        ...


class BackgroundTask(Protocol):
    """A task that may outlive the call that started it."""

    @property
    def info(self) -> BackgroundInfo:
        """Its description."""
        ...

    @property
    def notice_id(self) -> str:
        """Names the notice of its end."""
        ...

    @property
    def state(self) -> str:
        """`pending`, `running`, `completed`, `failed` or `killed`."""
        ...

    @property
    def exit_code(self) -> int | None:
        """Of a process that has ended."""
        ...

    @property
    def error(self) -> str:
        """The reason of its failure, if that is more than an exit code."""
        ...

    @property
    def result(self) -> str | None:
        """An agent's last message, once it has ended, or the result of a call; None for kinds without one, such as a
        shell.
        """
        ...

    @property
    def attention(self) -> str:
        """The action that a person has to take for it to continue; empty if none is needed."""
        ...

    @property
    def is_told_by_stop(self) -> bool:
        """True if the answer of TaskStop reports its end completely; otherwise a notice does."""
        ...

    @property
    def ending(self) -> str:
        """Its end, in words that follow its name."""
        ...

    @property
    def is_finished(self) -> bool:
        """True if it has ended."""
        ...

    @property
    def is_background(self) -> bool:
        """True if no call waits for it."""
        ...

    async def wait_finished(self) -> None:
        """Return when it has ended."""
        ...

    async def wait_released(self) -> None:
        """Return when it has ended or was moved to the background."""
        ...

    def move_to_background(self) -> bool:
        """Detach it from the call that waits for it; return False if it has ended."""
        ...

    def kill(self, cause: Cause) -> bool:
        """Ask for its end; False if it has ended."""
        ...

    def note_result(self, text: str) -> None:
        """Record its result so far, for the notice of its end."""
        ...

    def claimed(self) -> AbstractContextManager[None]:
        """Delay the notice of its end while the caller is about to report it."""
        ...

    def mark_notified(self) -> None:
        """Mark its end as reported by the caller: no notice follows."""
        ...


class Background(Protocol):
    """The table for tasks that may outlive a call."""

    @property
    def is_on(self) -> bool:
        """True if tasks may outlive calls; otherwise every call waits for what it starts."""
        ...

    def start(
        self,
        work: Callable[[], Awaitable[int | None]],
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
    ) -> BackgroundTask:
        """Start a task; it can be found by its id before this returns."""
        ...

    async def report(self, task_id: str, number: int, lines: Sequence[str], *, suppressed: int) -> bool:
        """Report lines that a running task has printed to the agent that owns it; return False if nobody can take them now.

        Args:
            task_id: The task.
            number: The number of the report, from 1; a second report with the same number changes nothing.
            lines: The lines.
            suppressed: Number of lines since the previous report that are in none.
        """
        ...

    def running(self, owner: str | None = None) -> Sequence[BackgroundTask]:
        """Return what has not ended, in the order of starting; of one agent, or of all."""
        ...

    def find(self, task_id: str) -> BackgroundTask | None:
        """Return a task by its id, or by the name of its agent."""
        ...


async def wait_linked(
    task: BackgroundTask,
    timeout_s: float,
    actor: str,
    *,
    may_move: bool,
    pausing: Callable[[trio.CancelScope], AbstractContextManager[object]] = nullcontext,
) -> bool:
    """Wait for a task that lives no longer than this, unless it is moved; say whether the time was up.

    Cancelled, it ends the task, and returns when that has ended.

    Args:
        task: What the call has started.
        timeout_s: Seconds after which it is moved to the background, or ended.
        actor: Id of the agent whose call it is.
        may_move: True if it may then continue in the background.
        pausing: Given the scope of the wait, lets its deadline stand still at times.
    """
    try:
        with trio.move_on_after(timeout_s) as waiting, pausing(waiting):
            await task.wait_released()
        if waiting.cancelled_caught and not (may_move and task.move_to_background()):
            task.kill(Cause("deadline", f"not done after {timeout_s:g} s"))
    finally:
        if not task.is_background:
            task.kill(Cause(actor, "the call that waited for it has ended"))
            # Bounded by the grace that a process is given: what was started is gone when the call is.
            with trio.CancelScope(shield=True):
                await task.wait_finished()
    return waiting.cancelled_caught
