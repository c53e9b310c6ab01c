"""What tools need of the table of background tasks; `greenroom.tasks` fills it, and neither knows the other.

Rule: a call waits for its task by a link. What may not go on without the call ends before the call does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

import trio

from greenroom.core import Cause


class BackgroundInfo(Protocol):
    """What is known of a task before it begins."""

    @property
    def id(self) -> str:
        """What it is asked for by."""
        ...

    @property
    def kind(self) -> str:
        """What sort of task it is, such as `local_bash`."""
        ...

    @property
    def description(self) -> str:
        """What it does, in some words."""
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
        """Where its output goes."""
        ...


class BackgroundTask(Protocol):
    """A task that may outlive the call that started it."""

    @property
    def info(self) -> BackgroundInfo:
        """What it is."""
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
        """Why it failed, where that is more than an exit code."""
        ...

    @property
    def result(self) -> str | None:
        """What an agent said last, once it has ended, or what a call came to; None for what says nothing, such as a shell."""
        ...

    @property
    def attention(self) -> str:
        """What somebody has to do for it to go on; empty while it needs nobody."""
        ...

    @property
    def is_told_by_stop(self) -> bool:
        """Whether the answer of TaskStop says all there is to say of its end; else a notice tells it."""
        ...

    @property
    def ending(self) -> str:
        """How it ended, in words that follow its name."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether it has ended."""
        ...

    @property
    def is_background(self) -> bool:
        """Whether no call waits for it."""
        ...

    async def wait_finished(self) -> None:
        """Return when it has ended."""
        ...

    async def wait_released(self) -> None:
        """Return when it has ended or was moved to the background."""
        ...

    def move_to_background(self) -> bool:
        """Let go of the call that waits for it; False if it has ended."""
        ...

    def kill(self, cause: Cause) -> bool:
        """Ask for its end; False if it has ended."""
        ...

    def note_result(self, text: str) -> None:
        """Note what it has come to so far; the notice of its end says it."""
        ...

    def claimed(self) -> AbstractContextManager[None]:
        """Hold the notice of its end back while the caller is about to tell of it."""
        ...

    def mark_notified(self) -> None:
        """Its end is told by the caller: no notice tells it."""
        ...


class Background(Protocol):
    """Where what may outlive a call runs."""

    @property
    def is_on(self) -> bool:
        """Whether anything may; else every call waits for what it starts."""
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
    ) -> BackgroundTask:
        """Start a task; it can be found by its id before this returns."""
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
        may_move: Whether it may go on in the background then.
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
