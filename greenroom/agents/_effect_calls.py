"""Results that come from outside of the session: recorded, or served from a record.

A call that acts on the session itself (agents, mail, the board) is always made: what follows from it is the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from greenroom.agents._state import AgentState
from greenroom.core import Image
from greenroom.effects import Effects, drawing_apart
from greenroom.hooks import HookOutcome, read_outcome
from greenroom.models import ToolUseBlock
from greenroom.permissions import OUTSIDE, Allow, Deny, ToolKind, read_update, traits_of
from greenroom.tools import Tool, ToolContext, ToolError, acts_on_session

if TYPE_CHECKING:
    from greenroom.agents._effect_tasks import TaskEffects

_OF: Final = "tool"
_OWN: Final = frozenset(("Skill", "ToolSearch", "EnterWorktree", "ExitWorktree"))
"""Tools that change the agent itself."""
_OF_TASKS: Final = frozenset(("TaskOutput", "TaskStop"))
"""Tools that act on background tasks, and return what these have printed."""


def call_tool(
    call: ToolUseBlock, tool: Tool, values: Mapping[str, Any], context: ToolContext, home: AgentState
) -> Awaitable[str]:
    """Run a tool and return its text; in a re-run, return the recorded one.

    Raises:
        ToolError: As the tool does.
    """
    effects = home.services.effects
    if effects is not None and call.name in _OF_TASKS:
        return _call_about_task(call, tool, values, context, home, effects)
    if effects is None or not is_from_outside(call.name, tool, values):
        return tool.call(values, context)  # the tool's own coroutine: one less that waits for each call
    return _served_or_recorded(call, tool, values, context, home, effects)


async def _served_or_recorded(
    call: ToolUseBlock, tool: Tool, values: Mapping[str, Any], context: ToolContext, home: AgentState, effects: Effects
) -> str:
    asked = {"name": call.name, "input": values}
    got = await effects.served(_OF, home.profile.id, call.id, asked)
    if got is not None:
        return _served(got, call, home)
    return await _recorded(call, tool, values, context, home, effects, asked)


async def _call_about_task(
    call: ToolUseBlock, tool: Tool, values: Mapping[str, Any], context: ToolContext, home: AgentState, effects: Effects
) -> str:
    """Make a call about a background task, and return its text; in a re-run, the recorded one if it is that of a command or a server."""
    text = await tool.call(values, context)
    table = home.services.background
    task = None if table is None else table.find(str(values.get("task_id") or values.get("shell_id") or ""))
    if task is None or not (task.info.command or task.info.server):
        return text
    asked = {"name": call.name, "input": values}
    got = await effects.served(_OF, home.profile.id, call.id, asked)
    if got is not None:
        return str(got["text"])
    effects.note(_OF, home.profile.id, call.id, asked, {"text": home.services.secrets.mask(text)})
    return text


def _task_effects(home: AgentState) -> TaskEffects | None:
    from greenroom.agents._effect_tasks import TaskEffects  # only runs on record need it

    table = home.services.background
    return table if isinstance(table, TaskEffects) else None


def is_from_outside(name: str, tool: Tool, values: Mapping[str, Any]) -> bool:
    """True if the result of a call comes from outside of the session; a message to another session, and a list of them, does too."""
    if name == "ListAgents":
        return True
    if name == "SendMessage" and str(values.get("to", "")).strip().startswith(OUTSIDE):
        return True
    return not (acts_on_session(tool) or name in _OWN or traits_of(name).kind is ToolKind.SESSION)


async def _recorded(
    call: ToolUseBlock,
    tool: Tool,
    values: Mapping[str, Any],
    context: ToolContext,
    home: AgentState,
    effects: Effects,
    asked: Mapping[str, Any],
) -> str:
    workspace, mask = home.workspace, home.services.secrets.mask
    before = workspace.cwd
    got: dict[str, Any] = {"cut": True}
    try:
        with drawing_apart(f"tool {call.id}"):
            text = await tool.call(values, context)
        got = {"text": mask(text)}
    except ToolError as error:
        got = {"error": type(error).__name__, "text": mask(str(error))}
        raise
    except Exception as error:
        got = {"bug": type(error).__name__, "text": mask(str(error))}
        raise
    finally:
        images = workspace.images.get(call.id)
        if images:
            got["images"] = [attrs.asdict(image) for image in images]
        attached, response = workspace.attachments.get(call.id), workspace.responses.get(call.id)
        if attached is not None:
            got["attached"] = home.services.secrets.mask_value(attached)
        if response is not None:
            got["response"] = home.services.secrets.mask_value(response)
        if workspace.cwd != before:
            got["cwd"] = str(workspace.cwd)
        if call.id in workspace.ending:
            got["ends"] = True
        table = _task_effects(home)
        left = None if table is None else table.left_by(home.profile.id, call.id)
        if left is not None:
            got["task"] = left
        effects.note(_OF, home.profile.id, call.id, asked, got)
    return text


def _served(got: Mapping[str, Any], call: ToolUseBlock, home: AgentState) -> str:
    """Leave behind what the recorded call left, and return or raise what it did."""
    workspace, text = home.workspace, str(got.get("text", ""))
    if "images" in got:
        workspace.images[call.id] = [Image(**image) for image in got["images"]]
    if "attached" in got:
        workspace.attachments[call.id] = got["attached"]
    if "response" in got:
        workspace.responses[call.id] = got["response"]
    if "cwd" in got:
        workspace.cwd = Path(got["cwd"])
    if got.get("ends"):
        workspace.ending.add(call.id)
    table = _task_effects(home)
    if "task" in got and table is not None:
        table.serve(got["task"], home.profile.id, call.id)
    if "error" in got:
        # The record of the run names the class of the error.
        raise type(str(got["error"]), (ToolError,), {})(text)
    if "bug" in got:
        raise type(str(got["bug"]), (Exception,), {})(text)
    return text


async def ask_person(
    call: ToolUseBlock,
    values: Mapping[str, Any],
    why: str,
    home: AgentState,
    ask: Callable[[], Awaitable[tuple[Allow | Deny, str]]],
) -> tuple[Allow | Deny, str]:
    """Return an answer to the question whether a call may run, and who gave it; in a re-run, the recorded ones."""
    effects = home.services.effects
    if effects is None:
        return await ask()
    agent, asked = home.profile.id, {"name": call.name, "input": values, "why": why}
    got = await effects.served("answer", agent, call.id, asked)
    if got is not None:
        return _answer_of(got), got["who"]
    said: dict[str, Any] = {"cut": True}
    try:
        with drawing_apart(f"answer {call.id}"):
            answer, who = await ask()
        said = {"who": who, "allows": isinstance(answer, Allow)}
        if isinstance(answer, Allow):
            said |= {"input": answer.input, "updates": [update.to_json() for update in answer.updates]}
        else:
            said |= {"message": answer.message, "cause": answer.cause, "interrupts": answer.interrupts}
    finally:
        effects.note("answer", agent, call.id, asked, said)
    return answer, who


def _answer_of(got: Mapping[str, Any]) -> Allow | Deny:
    if got["allows"]:
        return Allow(input=got["input"], updates=tuple(map(read_update, got["updates"])))
    return Deny(message=got["message"], cause=got["cause"], interrupts=got["interrupts"])


async def run_hooks(
    event: str, told: Mapping[str, Any], home: AgentState, run: Callable[[], Awaitable[HookOutcome]]
) -> HookOutcome:
    """Return the outcome of an event's hooks; in a re-run, the recorded one.

    Args:
        event: The name of the event.
        told: What the hooks are told, as JSON values; working times in it are not compared.
        home: The agent.
        run: Runs the hooks.
    """
    effects = home.services.effects
    if effects is None:
        return await run()
    key = f"{event} {told.get('tool_use_id') or ''}".rstrip()
    agent, asked = home.profile.id, {name: value for name, value in told.items() if name != "duration_ms"}
    got = await effects.served("hook", agent, key, asked)
    if got is not None:
        return read_outcome(got)
    said: dict[str, Any] = {"cut": True}
    try:
        with drawing_apart(f"hook {key}"):
            outcome = await run()
        said = attrs.asdict(outcome)
    finally:
        effects.note("hook", agent, key, asked, said)
    return outcome
