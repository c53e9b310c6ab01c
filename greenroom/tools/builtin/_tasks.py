"""The tools TaskOutput and TaskStop: what a background command printed or an agent said, and their end."""

from __future__ import annotations

import json
from typing import Annotated, Final

import trio

from greenroom.core import Cause
from greenroom.core.texts import escape_text, fields, wrap
from greenroom.tools import Arg, BackgroundTask, ToolContext, ToolError, tool
from greenroom.tools._outputs import read_output
from greenroom.tools.builtin._file_reader import on_one_line

DEFAULT_WAIT_MS: Final = 30_000
MAX_WAIT_MS: Final = 600_000
RUNNING: Final = 10
"""Running tasks that a refusal lists."""


@tool(name="TaskOutput", read_only=True)
async def task_output_tool(
    task_id: str,
    *,
    block: bool = True,
    timeout: Annotated[int, Arg(minimum=0, maximum=MAX_WAIT_MS)] = DEFAULT_WAIT_MS,  # noqa: ASYNC109 - its name
    ctx: ToolContext,
) -> str:
    """Return how a background task stands, and what a command has printed, an agent has said or a call has come to so far.
    To look at that alone, read the output file that the launch named instead; this is for waiting.

    Args:
        task_id: The id that Bash, Agent or a call that was moved to the background returned.
        block: Whether to wait for its end.
        timeout: Milliseconds to wait at most, 30000 if left out, at most 600000.
    """
    task = _find(ctx, task_id)
    ctx.progress(f"Waiting for {task.info.description}" if block else f"Looking at {task.info.description}")
    # Held from here, or the notice of its end would go out before this call can tell of it.
    with task.claimed():
        status = "success"
        if block:
            with trio.move_on_after(timeout / 1_000) as waiting:
                await task.wait_finished()
            status = "timeout" if waiting.cancelled_caught and not task.is_finished else "success"
        elif not task.is_finished:
            status = "not_ready"
        is_finished = task.is_finished
        output = task.result
        if output is None or task.info.command:  # what was noted of a command is for the notice of its end
            output = (await ctx.blocking(read_output, task.info.output_file)).text
        told = {
            "retrieval_status": status,
            "task_id": task.info.id,
            "task_type": task.info.kind,
            "status": task.state,
            "exit_code": "" if task.exit_code is None else str(task.exit_code),
            "error": on_one_line(task.error),
            "attention": on_one_line(task.attention),
        }
        lines = fields({name: text for name, text in told.items() if text}, inside=("output",))
        if is_finished:
            ctx.tell_end(task)
    return "\n".join([*lines, wrap("output", escape_text(output, ("output", *told)))])


@tool(name="TaskStop")
async def task_stop_tool(task_id: str = "", shell_id: str = "", *, ctx: ToolContext) -> str:
    """End a background command, an agent or a call, with all that it has started, and return when it has ended.

    An agent that was stopped can be resumed by SendMessage.

    Args:
        task_id: The id that Bash, Agent or a call that was moved to the background returned, or the name of an agent.
        shell_id: The same, by its former name.
    """
    task = _find(ctx, task_id or shell_id)
    info = task.info
    ctx.progress(f"Stopping {info.description}")
    with task.claimed():
        if not task.kill(Cause(ctx.actor, "TaskStop")):
            raise ToolError(f"Task {info.id} is not running (status: {task.state})")
        await task.wait_finished()
        if task.is_told_by_stop:
            ctx.tell_end(task)
    message = f"Successfully stopped task: {info.id}" if task.state == "killed" else f"Task {info.id} {task.ending}"
    answer = {"message": message, "task_id": info.id, "task_type": info.kind, "command": info.command}
    return json.dumps({name: value for name, value in answer.items() if value}, ensure_ascii=False)


def _find(ctx: ToolContext, task_id: str) -> BackgroundTask:
    if not task_id:
        raise ToolError(
            "task_id is missing: it is the id that Bash, Agent or a call that was moved to the background returned"
        )
    task = ctx.background.find(task_id)
    if task is None:
        running = ", ".join(f"{task.info.id} ({task.info.description})" for task in ctx.background.running()[:RUNNING])
        raise ToolError(f"No task found with ID: {on_one_line(task_id)}. Running: {on_one_line(running) or 'none'}")
    return task
