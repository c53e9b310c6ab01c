"""The tool `subagents`: the runs that a session has started, waiting for them, and stopping them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

import trio

from greenroom.gateway.announce._announcement import duration_text
from greenroom.gateway.lanes._places import WaitsInCircle
from greenroom.gateway.record._machines import UNFINISHED_WORDS
from greenroom.gateway.record._rows import Run
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.tools._gateway_tool import GatewayTool, answer, refused
from greenroom.gateway.tools._send_tool import lending
from greenroom.gateway.tools._session_view import SessionView
from greenroom.tools import Arg, tool

MAX_WAITED: Final = 32
"""Runs of one wait."""
MAX_WAIT_S: Final = 60.0
WAIT_S: Final = 30.0
RECENT_MINUTES: Final = 30
MAX_RECENT_MINUTES: Final = 1_440
_LOOK_S: Final = 1.0


def subagents_tool(caller: SessionKey, runs: Runs, view: SessionView) -> GatewayTool:
    """Return the tool by which a session watches and stops what it has started."""

    @tool(name="subagents")
    async def subagents(
        action: Literal["list", "wait", "cancel"] = "list",
        runIds: list[str] | None = None,  # noqa: N803 - the words of the interface
        timeoutSeconds: Annotated[float | None, Arg(minimum=0, maximum=60)] = None,  # noqa: N803
        recentMinutes: Annotated[float | None, Arg(minimum=1, maximum=1440)] = None,  # noqa: N803
    ) -> str:
        """List, wait for or cancel the sub-agents that this session has started.

        Their results are posted when they end, whether you wait or not; waiting stops nothing.

        Args:
            action: `list`, `wait` or `cancel`.
            runIds: The runs to wait for (1 to 32) or to cancel; for `cancel`, `all` means all that have not ended.
            timeoutSeconds: Seconds to wait, at most 60, by default 30; 0 to look only.
            recentMinutes: For `list`: how long ago a run may have ended, by default 30 minutes.
        """
        if action == "list":
            return await listed(caller, runs, view, recentMinutes or RECENT_MINUTES)
        ids = list(dict.fromkeys(runIds or ()))
        if not ids or len(ids) > MAX_WAITED:
            return refused("error", f"runIds must name 1 to {MAX_WAITED} runs, got {len(ids)}", action=action)
        if action == "cancel":
            return await cancelled(caller, runs, ids)
        wait_s = min(WAIT_S if timeoutSeconds is None else timeoutSeconds, MAX_WAIT_S)
        return await waited(caller, runs, view, ids, wait_s)

    return GatewayTool(subagents)


def described_run(run: Run, now_s: float, reply: str = "") -> dict[str, Any]:
    """Return a run as lists show it."""
    words = run.words
    row: dict[str, Any] = {
        "runId": run.id,
        "sessionKey": run.session,
        "label": run.shown,
        "status": words.listed if words is not None else UNFINISHED_WORDS[run.state],
        "createdAt": int(run.created_s * 1000),
        "startedAt": int(run.began_s * 1000) if run.began_s else None,
        "endedAt": int(run.ended_s * 1000) if run.is_ended else None,
        "runtime": duration_text(run.worked_s(now_s) if run.began_s else None),
    }
    if words is not None:
        row["outcome"] = {"status": words.status, **({"error": run.error} if run.error else {})}
        if words.status == "ok":
            row["result"] = reply or "no output"
    return row


async def listed(caller: SessionKey, runs: Runs, view: SessionView, minutes: float) -> str:
    """Return the answer of `list`: what has not ended, and what ended lately."""
    now_s = view.now_s()
    known = runs.list_for(str(caller))
    active = [run for run in known if not run.is_ended]
    recent = [run for run in known if run.is_ended and now_s - run.ended_s <= minutes * 60]
    rows = {run.id: described_run(run, now_s, await runs.reply_of(run.id)) for run in (*active, *recent)}
    lines = [f"{len(active)} active, {len(recent)} ended in the last {minutes:g} minutes"]
    lines += [
        f"{at}. {rows[run.id]['status']} | {run.shown} | {rows[run.id]['runtime']} | {run.id[:8]} | {run.session}"
        for at, run in enumerate((*active, *recent), 1)
    ]
    return answer(
        status="ok",
        action="list",
        requesterSessionKey=str(caller),
        callerSessionKey=str(caller),
        callerIsSubagent=caller.is_child,
        total=len(known),
        active=[rows[run.id] for run in active],
        recent=[rows[run.id] for run in recent],
        text="\n".join(lines),
    )


async def cancelled(caller: SessionKey, runs: Runs, ids: Iterable[str]) -> str:
    """Return the answer of `cancel`: `error` if anything has not ended."""
    own = {run.id: run for run in runs.list_for(str(caller))}
    wanted = [id_ for id_, run in own.items() if not run.is_ended] if "all" in ids else list(ids)
    unknown = [id_ for id_ in wanted if id_ not in own]
    if unknown:
        return refused("error", f"unknown run {unknown[0]!r}", action="cancel")
    stopped: list[str] = []
    failed: list[str] = []
    done: list[str] = []
    for id_ in wanted:
        result = await runs.stop(id_, str(caller))
        stopped += result.stopped
        failed += result.failed
        done += result.ended_before
    status = "error" if failed else "ok" if stopped or not wanted else "done"
    error = {"error": f"{len(failed)} runs did not end"} if failed else {}
    return answer(status=status, action="cancel", stopped=stopped, failed=failed, done=done, **error)


async def waited(caller: SessionKey, runs: Runs, view: SessionView, ids: list[str], wait_s: float) -> str:
    """Return the answer of `wait`."""
    own = {run.id for run in runs.list_for(str(caller))}
    unknown = [id_ for id_ in ids if id_ not in own]
    if unknown:
        return answer(status="error", action="wait", reason="unavailable", error=f"unknown run {unknown[0]!r}")

    async def wait() -> str:
        with trio.move_on_after(wait_s):
            while not (reason := _reason(runs, view, ids)):
                open_ = next(id_ for id_ in ids if not runs.info(id_).is_ended)
                await runs.wait(open_, _LOOK_S)
            return reason
        return _reason(runs, view, ids) or "timeout"

    sessions = tuple(runs.info(id_).session for id_ in ids)
    try:
        reason = _reason(runs, view, ids) or ("timeout" if not wait_s else "")
        reason = reason or await lending(caller, runs, view, sessions, wait)
    except WaitsInCircle as error:
        return refused("error", str(error), action="wait")
    now_s = view.now_s()
    rows = [described_run(runs.info(id_), now_s, await runs.reply_of(id_)) for id_ in ids]
    return answer(status="ok", action="wait", reason=reason, runs=rows)


def _reason(runs: Runs, view: SessionView, ids: Iterable[str]) -> str:
    """Return why a wait is over; empty if it is not."""
    open_ = [run for run in map(runs.info, ids) if not run.is_ended]
    if not open_:
        return "completed"
    asking = {question.session for question in view.registry.services.questions.values()}
    return "attention" if any(run.session in asking for run in open_) else ""
