"""The tool `sessions_send`: a message to another session, and its reply.

Rule 1: the message is another agent's words there, never a person's. Rule 2: while a turn waits, the turn that it waits for may use its
place; a circle of waits is refused, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeVar

from greenroom.core import GreenroomError
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.lanes._places import ClaimState, WaitsInCircle
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.record._rows import Run, SessionRow
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.tools._gateway_tool import GatewayTool, answer, refused
from greenroom.gateway.tools._session_view import SessionView
from greenroom.inbox import peer
from greenroom.tasks import TaskState
from greenroom.tools import Arg, ToolError, tool

T = TypeVar("T")
WAIT_S: Final = 30.0
"""Seconds that a call waits for a reply, if it does not say."""


def send_tool(caller: SessionKey, runs: Runs, view: SessionView) -> GatewayTool:
    """Return the tool by which a session writes to others."""

    @tool(name="sessions_send")
    async def sessions_send(
        message: str,
        sessionKey: str | None = None,  # noqa: N803 - the words of the interface
        label: str | None = None,
        agentId: str | None = None,  # noqa: N803
        timeoutSeconds: Annotated[float | None, Arg(minimum=0)] = None,  # noqa: N803
    ) -> str:
        """Send a message to another session, and return its reply.

        Args:
            message: The message.
            sessionKey: Key or session id of the other session; or give `label`.
            label: Label of the other session.
            agentId: The agent of the session with that label.
            timeoutSeconds: Seconds to wait for the reply, by default 30; 0 to wait for none. The other session goes on in any case.
        """
        if not message.strip():
            raise ToolError("sessions_send: message must not be empty")
        found = find_target(caller, view, sessionKey or "", label or "", agentId or "")
        if isinstance(found, str):
            return found
        wait_s = WAIT_S if timeoutSeconds is None else timeoutSeconds
        try:
            return await send(caller, runs, view, SessionKey.parse(found.key), message, wait_s)
        except WaitsInCircle as error:
            return refused("error", f"{error}; nothing was sent", sessionKey=found.key)
        except GreenroomError as error:
            return refused("error", str(error), sessionKey=found.key)

    return GatewayTool(sessions_send)


def find_target(caller: SessionKey, view: SessionView, key: str, label: str, agent: str) -> SessionRow | str:
    """Return the session that a message is for, or the refusal."""
    if caller.is_child:
        return refused("forbidden", "sessions_send is not allowed from a sub-agent session")
    if bool(key.strip()) == bool(label.strip()):
        return refused("error", "give either sessionKey or label")
    if key.strip():
        row = view.find(key, caller)
        if row is None:
            return refused("error", f"unknown session {key!r}")
    else:
        rows = view.with_label(label.strip(), normal_agent_id(agent) if agent.strip() else "")
        seen = [each for each in rows if not view.refusal(caller, each.key)]
        if not rows:
            return refused("error", f"no session has the label {label!r}")
        if len(seen) > 1:
            keys = ", ".join(each.key for each in seen[:5])
            return refused("error", f"{len(seen)} sessions have the label {label!r}: {keys}; give sessionKey")
        row = (seen or rows)[0]
    why = view.refusal(caller, row.key)
    if why:
        return refused("forbidden", why)
    if row.key == str(caller):
        return refused("error", "cannot send to this session itself")
    if row.state is SessionState.ARCHIVED:
        return refused("error", f"session {row.key!r} is archived; it takes no messages")
    return row


async def send(
    caller: SessionKey, runs: Runs, view: SessionView, target: SessionKey, message: str, wait_s: float
) -> str:
    """Begin a run of a message on a session, and return its reply as the tool's answer.

    Raises:
        WaitsInCircle: The target waits for the caller; nothing was sent.
        Conflict, BoxFull, JournalError: As for `Runs.begin`.
    """

    async def begin() -> str:
        return await runs.begin(target, message, peer(str(caller)), requester=str(caller))

    async def begin_and_wait() -> Run:
        return await runs.wait(await begin(), wait_s)

    if wait_s <= 0:
        return answer(runId=await begin(), status="accepted", sessionKey=str(target))
    run = await lending(caller, runs, view, (str(target),), begin_and_wait)
    fields: dict[str, Any] = {"runId": run.id, "sessionKey": str(target)}
    if not run.is_ended:
        return answer(**fields, status="timeout", error=f"no reply within {wait_s:g} s; the run goes on")
    if run.state is TaskState.COMPLETED:
        return answer(**fields, status="ok", reply=await runs.reply_of(run.id))
    words = run.words
    assert words is not None
    return answer(**fields, status="error", error=run.error or words.listed)


async def lending(
    caller: SessionKey, runs: Runs, view: SessionView, sessions: tuple[str, ...], wait: Callable[[], Awaitable[T]]
) -> T:
    """Wait for other sessions; the turn's place is theirs meanwhile.

    Raises:
        WaitsInCircle: One of them waits for the caller; nothing was waited for.
    """
    claim = runs.keepers.claim_of(str(caller))
    if claim is None or claim.state is not ClaimState.ACTIVE:
        return await wait()
    return await view.lanes.lend(claim, sessions, wait)
