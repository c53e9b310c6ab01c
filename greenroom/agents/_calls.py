"""Running the tool calls of one assistant message.

Rule 1: every call gets exactly one result, whatever happens. Rule 2: read-only calls that follow each other run side by
side, the rest one by one; a failing call never takes a result from its sibling. Rule 3: an error of a tool is text for
the model; a bug in a tool is too, and is on record as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import trio
from trio.lowlevel import checkpoint_if_cancelled

from greenroom.actors import Context, State
from greenroom.agents._events import ToolBegan, ToolEnded
from greenroom.agents._services import AgentHome
from greenroom.models import ToolResultBlock, ToolUseBlock
from greenroom.tools import ToolContext, ToolError, plan_batches

SUMMARY_CHARS: Final = 80


async def run_calls(
    calls: Sequence[ToolUseBlock],
    home: AgentHome,
    ctx: Context,
    *,
    round_number: int,
    results: dict[str, ToolResultBlock],
) -> None:
    """Run calls and put each result into `results` as soon as there is one.

    Cancelled, it leaves the results that were there; whoever called gives the others theirs.
    """
    for batch in (calls,) if len(calls) == 1 else plan_batches(calls, home.tools):
        if len(batch) == 1:
            results[batch[0].id] = await _run_call(batch[0], home, ctx, round_number)
        else:
            async with trio.open_nursery() as nursery:
                for call in batch:
                    nursery.start_soon(_collect, call, home, ctx, round_number, results)
        # An abort that came during the batch ends the turn here, also where a tool swallowed it (DESIGN 12.10).
        await checkpoint_if_cancelled()


async def _collect(
    call: ToolUseBlock, home: AgentHome, ctx: Context, round_number: int, results: dict[str, ToolResultBlock]
) -> None:
    results[call.id] = await _run_call(call, home, ctx, round_number)


async def _run_call(call: ToolUseBlock, home: AgentHome, ctx: Context, round_number: int) -> ToolResultBlock:
    emit = ctx.recorder.emit_fields
    agent, incarnation, turn = ctx.turn.token
    summary = summarize(call.input)
    began = emit(ToolBegan, agent, incarnation, ctx.seq, turn, round_number, call.id, call.name, summary)
    home.activity = f"{call.name} {summary}".rstrip()
    state, error = State.KILLED, ""
    text = ""
    try:
        text = await home.tools.find(call.name).call(call.input, _context_of(call, home, ctx))
        state = State.COMPLETED
    except ToolError as problem:
        state, error, text = State.FAILED, type(problem).__name__, str(problem)
    except Exception as bug:  # noqa: BLE001 - a tool is foreign code: its bug is an error result, and on record
        state, error = State.FAILED, f"{type(bug).__name__}: {bug}"
        text = f"{call.name} failed because of a bug in it: {error}"
    finally:
        output = len(text)
        emit(ToolEnded, agent, incarnation, began, turn, round_number, call.id, call.name, state.value, output, error)
    return ToolResultBlock(call.id, text or "(no output)", is_error=state is State.FAILED)


def _context_of(call: ToolUseBlock, home: AgentHome, ctx: Context) -> ToolContext:
    def show(text: str) -> None:
        home.activity = text

    services = home.services
    return ToolContext(
        cwd=services.cwd,
        roots=services.roots,
        actor=ctx.ref.id,
        tool_use_id=call.id,
        blocking=services.blocking,
        progress=show,
    )


def summarize(values: Mapping[str, Any]) -> str:
    """Return what a call is about, on one line: its first text or number, shortened."""
    for value in values.values():
        if isinstance(value, str):
            text = " ".join(value.split())
            return text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1] + "…"
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""
