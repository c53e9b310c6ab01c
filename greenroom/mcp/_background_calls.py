"""Tool calls that can outlive the turn that made them, as tasks of the table, like background commands.

Rule 1: the turn waits by a link; a call that is cancelled, or whose task is killed, is cancelled at its server. Rule 2:
the outcome is reported once: as the result of the call, or by a notice if it was moved to the background. Rule 3: a
notice is text; its content is in the output file, too, so that it can be delivered after a crash.

Must not know: the SDK, and whose call it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs
import trio

from greenroom.mcp._peer import CallResult
from greenroom.tools import BackgroundTask, ToolContext, ToolError, wait_linked

Ask: TypeAlias = Callable[[Callable[[str], None]], Awaitable[CallResult]]
"""Makes a call, given a callback for progress messages of the server."""
_WHY_CHARS: Final = 200


@final
@attrs.define(eq=False, kw_only=True)
class LinkedCall:
    """One call, made as a task."""

    server: str
    tool: str
    """The server's own name of the tool."""
    ask: Ask
    write_down: Callable[[CallResult, Path], Awaitable[str]]
    """Writes the text of a result into the output file, and returns it."""
    output: Path
    """The output file; its stem is the id of the task."""
    ctx: ToolContext
    pausing: Callable[[trio.CancelScope], AbstractContextManager[None]]
    """Suspends a deadline while the server asks a person: the person's time does not count."""
    _task: BackgroundTask = attrs.field(init=False)
    _result: CallResult | None = attrs.field(init=False, default=None)
    _problem: Exception | None = attrs.field(init=False, default=None)

    async def run(self, moves_after_s: float) -> CallResult | str:
        """Return the result of the call, or the model's message if it was moved to the background.

        On cancellation, the server is notified and the call has ended.

        Args:
            moves_after_s: Seconds after which it is moved; time in which the server asks a person does not count.

        Raises:
            ToolError: It was stopped; also what `ask` raises.
        """
        ctx = self.ctx
        task = self._task = ctx.background.start(
            self._work,
            id=self.output.stem,
            description=f"{self.tool} of {self.server}",
            owner=ctx.actor,
            tool_use_id=ctx.tool_use_id,
            output_file=self.output,
            server=self.server,
            tool=self.tool,
            is_background=False,
        )
        is_overdue = await wait_linked(task, moves_after_s, ctx.actor, may_move=True, pausing=self.pausing)
        if task.is_background:
            why = f"did not end within {moves_after_s:g} s and " if is_overdue else ""
            said = f"The call {why}was moved to the background with ID: {task.info.id}. A notice brings its result"
            return f"{said}, which is also written to: {self.output}"
        if self._problem is not None:
            raise self._problem
        if self._result is None:
            raise ToolError(f"the call {task.ending}")
        return self._result

    async def _work(self) -> None:
        try:
            result = self._result = await self.ask(self._hear)
        except Exception as problem:  # the waiting turn must get it unchanged
            self._problem = problem
            raise
        if not self._task.is_background:
            if result.is_error:
                raise ToolError("it answered with an error")
            return
        text = await self.write_down(result, self.output)
        self._task.note_result(text)
        if result.is_error:
            first = text.strip().partition("\n")[0] or "it gave no reason"
            raise ToolError(first if len(first) <= _WHY_CHARS else first[: _WHY_CHARS - 1] + "…")

    def _hear(self, text: str) -> None:
        if self._task.is_background:
            self._task.note_result(f"(so far: {text})")
        else:
            self.ctx.progress(text)
