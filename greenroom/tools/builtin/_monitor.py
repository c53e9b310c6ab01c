"""The tool Monitor: a command in the background whose lines come to the agent while it runs.

Rule 1: it is a task from its first moment, judged, listed and ended as a command of Bash is. Rule 2: its output goes into a file, which
is read here, so that the command never waits for a reader. Rule 3: each line is reported, or counted in a report or in the notice of
the end. Rule 4: however it ends, that is told once, behind its last lines.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated, Final

import attrs
import trio

from greenroom.core import Cause, open_bare_nursery
from greenroom.tools import Arg, BackgroundTask, ToolContext, ToolError, tool
from greenroom.tools._outputs import read_tail
from greenroom.tools._processes import ProcessEnd
from greenroom.tools.builtin._bash import check_command, refuse_lost_folder, shell_program, short_description
from greenroom.tools.builtin._line_batches import FLOOD_S, MAX_BATCHES, LineBatch, LineBatches, LineSplitter

DEFAULT_TIMEOUT_MS: Final = 300_000
MAX_TIMEOUT_MS: Final = 3_600_000
MIN_TIMEOUT_MS: Final = 1_000
POLL_S: Final = 0.1
"""Seconds between two looks at the output."""
_READ_BYTES: Final = 1 << 20
_LAST_WORDS: Final = 300
"""Number of characters of its stderr that are told of a command that failed."""


@tool(name="Monitor")
async def monitor_tool(
    command: str,
    description: str,
    timeout_ms: Annotated[int, Arg(minimum=MIN_TIMEOUT_MS, maximum=MAX_TIMEOUT_MS)] = DEFAULT_TIMEOUT_MS,
    *,
    persistent: bool = False,
    ctx: ToolContext,
) -> str:
    """Watch something in the background: each line that the command prints to its stdout comes to you while it runs.
    Let it print only what you would act on, line by line, such as `tail -f log | grep --line-buffered ERROR`, and what tells of a
    failure too: silence looks like success. To wait for one thing, use Bash with run_in_background. Lines that come within 200 ms are
    one event. At most 20 events a minute come; further lines are counted, and 30 seconds of that end it. Its end comes as a notice.
    What it prints to stderr goes into a file. TaskStop ends it.

    Args:
        command: The command line.
        description: What it watches, in five to ten words; it stands in each event.
        timeout_ms: Milliseconds until it is ended, 300000 if left out, at most 3600000; without effect if persistent.
        persistent: Whether it runs until the session ends or TaskStop ends it.
    """
    check_command(command)
    if not description.strip():
        raise ToolError("description must not be blank: it stands in each event")
    if not ctx.may_leave:
        raise ToolError("background tasks are switched off in this session, so nothing can be monitored")
    await ctx.blocking(refuse_lost_folder, ctx)
    monitor = _Monitor(ctx, command, math.inf if persistent else timeout_ms / 1_000)
    task = monitor.start(short_description(description))
    ctx.attach({"taskId": task.info.id, "timeoutMs": 0 if persistent else timeout_ms, "persistent": persistent})
    until = "until TaskStop or the end of the session" if persistent else f"for {timeout_ms / 1_000:g}s at most"
    return (
        f"Monitor started with ID: {task.info.id}. It runs {until}. You are told of its lines as they come: go on with your work. "
        f"Output is being written to: {monitor.output}. Errors: {monitor.errors}"
    )


@attrs.define(eq=False)
class _Monitor:
    ctx: ToolContext
    command: str
    _timeout_s: float
    output: Path = attrs.field(init=False)
    _task: BackgroundTask = attrs.field(init=False)
    _batches: LineBatches = attrs.field(factory=LineBatches)
    _splitter: LineSplitter = attrs.field(factory=LineSplitter)
    _read_bytes: int = 0
    _end: ProcessEnd | None = None
    _failure: ToolError | None = None

    def __attrs_post_init__(self) -> None:
        self.output = self.ctx.processes.new_output("m")

    @property
    def errors(self) -> Path:
        return self.output.with_suffix(".errors")

    def start(self, description: str) -> BackgroundTask:
        self._task = self.ctx.background.start(
            self._run,
            id=self.output.stem,
            description=description,
            owner=self.ctx.actor,
            tool_use_id=self.ctx.tool_use_id,
            output_file=self.output,
            command=self.command,
            is_background=True,
            is_monitor=True,
        )
        return self._task

    async def _run(self) -> int:
        is_over = False
        try:
            with trio.move_on_after(self._timeout_s):
                async with open_bare_nursery() as nursery:
                    try:
                        with trio.CancelScope() as following:
                            nursery.start_soon(self._execute, following)
                            await self._follow()
                    finally:
                        nursery.cancel_scope.cancel()
            is_over = True
        finally:
            with trio.CancelScope(shield=True):
                await self._finish(reports=is_over and not self._batches.is_flooding)
        if self._failure is not None:
            raise self._failure
        if self._end is None:
            self._task.kill(self._why_ended)
            await trio.sleep_forever()
        return self._end.exit_code

    @property
    def _why_ended(self) -> Cause:
        if self._batches.is_flooding:
            why = f"more than {MAX_BATCHES} events a minute for {FLOOD_S:g} s; let it print less, such as through grep"
            return Cause("flood", why)
        return Cause("deadline", f"not done after {self._timeout_s:g} s")

    async def _execute(self, following: trio.CancelScope) -> None:
        ctx = self.ctx
        try:
            self._end = await ctx.processes.run(
                [shell_program(), "-c", self.command],
                cwd=ctx.real_cwd,
                output=self.output,
                env=ctx.variables,
                errors=self.errors,
            )
        except ToolError as error:  # it cannot be started, or printed more than is allowed
            self._failure = error
        following.cancel()

    async def _follow(self) -> None:
        """Report what comes, until it comes too fast for too long."""
        while not self._batches.is_flooding:
            await self._read()
            await self._report(self._batches.tick(trio.current_time()))
            await trio.sleep(POLL_S)

    async def _read(self) -> None:
        """Take in what was printed since the last look."""
        content = b"..."
        while content:
            content = await self.ctx.blocking(_read_from, self.output, self._read_bytes)
            self._read_bytes += len(content)
            lines, more = self._splitter.feed(content)
            await self._report(self._batches.add(lines, trio.current_time(), more=more))

    async def _report(self, batch: LineBatch | None) -> None:
        if batch is None:
            return
        with trio.CancelScope(shield=True):  # a report that was accepted is not counted again
            is_accepted = await self.ctx.background.report(
                self._task.info.id, batch.number, batch.lines, suppressed=batch.suppressed
            )
        if not is_accepted:
            self._batches.refuse(batch)

    async def _finish(self, *, reports: bool) -> None:
        """Report the last lines, or count them, and put the rest into the notice of the end."""
        await self._read()
        now_s = trio.current_time()
        batches = [self._batches.add(self._splitter.end(), now_s), self._batches.close(now_s)]
        for batch in filter(None, batches):
            if reports:
                await self._report(batch)
            else:
                self._batches.refuse(batch)
        count = self._batches.suppressed
        remarks = [f"{count} suppressed"] if count else list[str]()
        if self._end is not None and self._end.exit_code:
            said = await self.ctx.blocking(read_tail, self.errors, _LAST_WORDS)
            remarks += [f"stderr: {said}"] if said else []
        if remarks:
            self._task.note_result("; ".join(remarks))


def _read_from(path: Path, offset: int) -> bytes:
    """Return what is in a file behind an offset, at most a part of it; a missing file is empty."""
    try:
        with path.open("rb") as file:
            file.seek(offset, os.SEEK_SET)
            return file.read(_READ_BYTES)
    except OSError:
        return b""
