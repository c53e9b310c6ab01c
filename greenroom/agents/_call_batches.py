"""Running the tool calls of one assistant message.

Every call gets exactly one result, whatever happens. Read-only calls that follow each other run side by
side, the rest one by one; a failing call never takes a result from its sibling. An error of a tool is text for
the model; a bug in a tool is too, and is recorded as such. A call that may change something is durable before it
is run: a later process then knows of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import trio
from trio.lowlevel import checkpoint_if_cancelled

from greenroom.actors import decide_outcome, describe
from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._effect_calls import call_tool
from greenroom.agents._guard import Deferred, Guard
from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import StoppedByHook
from greenroom.agents.events._agent_events import COMPLETED, FAILED, KILLED, ToolBegan, ToolEnded
from greenroom.agents.review import AutoModeEnded
from greenroom.core import Image, JournalError
from greenroom.core.texts import error_text
from greenroom.effects import RANDOM_SCOPE
from greenroom.models import ToolResultBlock, ToolUseBlock
from greenroom.permissions import canonical_name
from greenroom.tools import Tool, ToolContext, ToolError, ToolSet, plan_batches, records_itself

SUMMARY_CHARS: Final = 80
_CHANGING: Final = frozenset(("Edit", "Write"))
_NUMBER: Final = (int, float)
"""A constant, because a union would be created at each use."""


async def run_calls(calls: Sequence[ToolUseBlock], turn: AgentTurn, results: dict[str, ToolResultBlock]) -> None:
    """Run calls and put each result into `results` as soon as there is one.

    Cancelled, it leaves the results that were there; the caller gives the others theirs.

    Raises:
        StoppedByHook: A hook wants an end; the results of its batch are there.
        Deferred: The only call is put off.
        AutoModeEnded: Too many calls were not allowed, and nobody can be asked; the results are there.
    """
    tools = turn.home.profile.tools
    for each in calls:
        if each.name not in tools:
            calls = [_by_todays_name(call, tools) for call in calls]
            break
    for batch in (calls,) if len(calls) == 1 else plan_batches(calls, tools, turn.home.services.settings.side_by_side):
        if len(batch) == 1:
            (call,) = batch
            results[call.id] = await _run_call(call, turn)
        else:
            async with trio.open_nursery() as nursery:
                for call in batch:
                    nursery.start_soon(_collect, call, turn, results)
        # An abort that came during the batch ends the turn here, also where a tool swallowed it.
        await checkpoint_if_cancelled()
        if turn.stopped is not None:
            raise turn.stopped


def _by_todays_name(call: ToolUseBlock, tools: ToolSet) -> ToolUseBlock:
    """Return a call by the name that its tool has today, if there is such a one; as it is where there is one of its name."""
    name = call.name if call.name in tools else canonical_name(call.name)
    return attrs.evolve(call, name=name) if name != call.name and name in tools else call


async def _collect(call: ToolUseBlock, turn: AgentTurn, results: dict[str, ToolResultBlock]) -> None:
    RANDOM_SCOPE.set(call.id)  # else the order of its siblings would decide about its ids
    results[call.id] = await _run_call(call, turn)


async def _run_call(call: ToolUseBlock, turn: AgentTurn) -> ToolResultBlock:
    emit, home = turn.emit, turn.home
    progress = home.run.progress
    summary = summarize(call.input)
    agent, incarnation, number = turn.agent, turn.incarnation, turn.round
    began = emit(ToolBegan, agent, incarnation, turn.seq, turn.turn, number, call.id, call.name, summary)
    home.note_activity(f"{call.name} {summary}" if summary else call.name)
    if progress is not None:
        progress.note_call(call.name, summary)
    state, error, text = KILLED, "", ""
    try:
        tool = home.profile.tools.find(call.name)
        context = turn.tool_context.for_call(call.id)
        if turn.guard is not None:
            text = await _run_guarded(call, tool, context, turn.guard, turn)
        else:
            if home.services.wait_durable is not None:
                await _make_durable(call, tool, home.services.wait_durable)
            text = await call_tool(call, tool, call.input, context, home)
        state = COMPLETED
        if progress is not None and call.name in _CHANGING:
            progress.note_change(call.input)
    except Deferred:
        error = "deferred"
        raise
    except ToolError as problem:
        state, error, text = FAILED, type(problem).__name__, str(problem)
    except (StoppedByHook, AutoModeEnded) as stopped:
        state, error, text = FAILED, type(stopped).__name__, str(stopped)
        turn.stop(stopped)
    except Exception as bug:  # noqa: BLE001 - a tool is foreign code: its bug is an error result, and on record
        state, error = FAILED, error_text(bug)
        text = _in_words(call.name, bug)
    except BaseExceptionGroup as group:  # cancelled; what failed beside that is recorded, and does not fail the turn
        outcome = decide_outcome(group, requested=None, was_caught=False)
        state, error = outcome.state.value, describe(outcome.error)
        raise outcome.reraise or group from None
    finally:
        seen: tuple[Image, ...] = ()
        if home.workspace.images or home.workspace.responses or not home.services.secrets.is_empty:
            text, error, seen = _taken(call, home, text, error)
        size = len(text)
        emit(ToolEnded, agent, incarnation, began, turn.turn, number, call.id, call.name, state, size, error)
    return ToolResultBlock(call.id, text or "(no output)", state is FAILED, () if state is FAILED else seen)


def _taken(call: ToolUseBlock, home: AgentState, text: str, error: str) -> tuple[str, str, tuple[Image, ...]]:
    """Return the texts of a call that has ended, with secrets masked, and the images that it left in the workspace."""
    workspace, secrets = home.workspace, home.services.secrets
    seen = tuple(workspace.images.pop(call.id, ()))
    if workspace.responses:
        workspace.responses.pop(call.id, None)
    if secrets:
        text, error = secrets.mask(text), secrets.mask(error)
        attached = workspace.attachments.get(call.id)
        if attached is not None:
            workspace.attachments[call.id] = secrets.mask_value(attached)
    return text, error, seen


async def _run_guarded(call: ToolUseBlock, tool: Tool, context: ToolContext, guard: Guard, turn: AgentTurn) -> str:
    """Run a call between its guards; what hooks have to say of it is heard before its result is given back."""
    values = await guard.admit(call, tool, turn.round)
    granted = guard.granted(call.id)
    if granted:
        context = context.granting(granted, guard.hides(call))
    if guard.hooks.is_heard:
        context = context.heard()
    began_s, cwd = trio.current_time(), turn.home.cwd
    failure: Exception | None = None
    try:
        if turn.home.services.wait_durable is not None:
            await _make_durable(call, tool, turn.home.services.wait_durable)
        text = await call_tool(call, tool, values, context, turn.home)
    except Exception as error:  # noqa: BLE001 - raised again below: hooks are told of it first
        failure = error
        text = str(error) if isinstance(error, ToolError) else _in_words(call.name, error)
    await guard.hooks.tell_cwd(cwd)
    if failure is not None:
        await guard.hooks.tell_failure(call, values, text, trio.current_time() - began_s)
        try:
            raise failure
        finally:
            del failure  # an error that its own frames hold is a cycle
    try:
        told = await guard.hooks.tell_result(call, values, text, trio.current_time() - began_s)
        if told is not text:  # what a hook puts in the place of a result stands for all of it
            turn.home.workspace.images.pop(call.id, None)
        return told
    except StoppedByHook as stopped:  # the call is done, and keeps its result
        turn.stop(stopped)
        return text


async def _make_durable(call: ToolUseBlock, tool: Tool, wait_durable: Callable[[], Awaitable[None]]) -> None:
    """Return when a call that may be run, and may change something, survives a crash.

    Raises:
        ToolError: It is not to be run, because it cannot be recorded.
    """
    if tool.is_read_only or records_itself(tool):
        return
    try:
        await wait_durable()
    except JournalError as error:
        raise ToolError(f"{call.name} was not run, because it cannot be recorded: {error}") from error


def _in_words(name: str, bug: BaseException) -> str:
    return f"{name} failed because of a bug in it: {error_text(bug)}"


def summarize(values: Mapping[str, Any]) -> str:
    """Return what a call is about, on one line: its first text, number or list of texts, shortened."""
    for value in values.values():
        if isinstance(value, list) and value and isinstance(value[0], str):
            more = f" and {len(value) - 1} more" if len(value) > 1 else ""
            value = f"{value[0]}{more}"  # noqa: PLW2901 - from here on it is this one
        if isinstance(value, str):
            text = " ".join(value.split())
            return text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1] + "…"
        if isinstance(value, _NUMBER) and not isinstance(value, bool):
            return str(value)
    return ""
