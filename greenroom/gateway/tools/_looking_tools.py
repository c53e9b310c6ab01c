"""The tools that look at sessions: `sessions_list`, `sessions_history` and `session_status`."""

from __future__ import annotations

from typing import Annotated, Any, Final

from greenroom.gateway.keepers._session_history import MAX_BYTES
from greenroom.gateway.record._machines import UNFINISHED_WORDS
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.tools._gateway_tool import GatewayTool, answer, refused
from greenroom.gateway.tools._session_view import SessionView, kind_of
from greenroom.tools import Arg, tool

MAX_LISTED_MESSAGES: Final = 20
"""Messages of a row of `sessions_list`."""
MAX_ROWS: Final = 200
DEFAULT_HISTORY: Final = 50


def list_tool(caller: SessionKey, view: SessionView) -> GatewayTool:
    """Return the tool that lists the sessions that a session sees."""

    @tool(name="sessions_list", read_only=True)
    async def sessions_list(
        kinds: list[str] | None = None,
        limit: Annotated[float | None, Arg(minimum=1)] = None,
        activeMinutes: Annotated[float | None, Arg(minimum=0)] = None,  # noqa: N803 - the words of the interface
        messageLimit: Annotated[float | None, Arg(minimum=0)] = None,  # noqa: N803
        *,
        includeArchived: bool = False,  # noqa: N803
    ) -> str:
        """List the sessions that you can see, the one used last first.

        Args:
            kinds: Kinds to list: main, group, cron, hook, node, other; by default all.
            limit: Most sessions.
            activeMinutes: List only sessions used within this many minutes.
            messageLimit: Newest messages to show of each, at most 20; results of tools are left out.
            includeArchived: True to list archived sessions too.
        """
        rows = view.rows(caller, with_archived=includeArchived)
        if kinds:
            rows = [row for row in rows if kind_of(SessionKey.parse(row.key)) in kinds]
        if activeMinutes:
            since_s = view.now_s() - activeMinutes * 60
            rows = [row for row in rows if row.used_s >= since_s]
        count = min(int(messageLimit or 0), MAX_LISTED_MESSAGES)
        found: list[dict[str, Any]] = []
        size = 0
        for row in rows[: int(limit or MAX_ROWS)]:
            described = view.described(row)
            if count and size < MAX_BYTES:
                page = await view.read_page(row, limit=count, detail="calls")
                described["messages"] = [message.as_row() for message in page.messages]
                size += len(str(described["messages"]))
            found.append(described)
        return answer(count=len(found), sessions=found)

    return GatewayTool(sessions_list)


def history_tool(caller: SessionKey, view: SessionView) -> GatewayTool:
    """Return the tool that reads the conversation of a session."""

    @tool(name="sessions_history", read_only=True)
    async def sessions_history(
        sessionKey: str,  # noqa: N803 - the words of the interface
        limit: Annotated[float | None, Arg(minimum=1)] = None,
        offset: Annotated[float | None, Arg(minimum=0)] = None,
        *,
        includeTools: bool = False,  # noqa: N803
    ) -> str:
        """Read the newest messages of a session, such as that of a sub-agent.

        Args:
            sessionKey: Its key or its session id.
            limit: Most messages; by default 50.
            offset: Number of newer messages to leave out, such as `nextOffset` of the answer before.
            includeTools: True to read results of tools too.
        """
        row = view.find(sessionKey, caller)
        if row is None:
            return refused("error", f"unknown session {sessionKey!r}")
        why = view.refusal(caller, row.key)
        if why:
            return refused("forbidden", why)
        page = await view.read_page(
            row,
            limit=int(limit or DEFAULT_HISTORY),
            skip=int(offset or 0),
            detail="results" if includeTools else "calls",
        )
        more = {} if page.skip is None else {"nextOffset": page.skip}
        return answer(sessionKey=row.key, messages=[message.as_row() for message in page.messages], **more)

    return GatewayTool(sessions_history)


def status_tool(caller: SessionKey, runs: Runs, view: SessionView) -> GatewayTool:
    """Return the tool that shows the state of a session."""

    @tool(name="session_status", read_only=True)
    async def session_status(sessionKey: str | None = None) -> str:  # noqa: N803 - the words of the interface
        """Show the state of this session, or of another one that you can see: model, queue and sub-agents.

        Args:
            sessionKey: Its key or its session id; by default this session.
        """
        row = view.find(sessionKey or str(caller), caller)
        if row is None:
            return refused("error", f"unknown session {sessionKey or str(caller)!r}")
        why = view.refusal(caller, row.key)
        return refused("forbidden", why) if why else answer(status="ok", **status_of(row, runs, view))

    return GatewayTool(session_status)


def status_of(row: SessionRow, runs: Runs, view: SessionView) -> dict[str, Any]:
    """Return the state of a session, for tools and commands."""
    children = runs.list_for(row.key)
    waiting = [each for each in view.registry.inbound.values() if each.session == row.key and not each.is_taken]
    own = [run for run in view.registry.runs.values() if run.session == row.key and not run.is_ended]
    lanes = {name: {"active": lane.active, "waiting": lane.waiting} for name, lane in view.lanes.statistics().items()}
    words = {run.id: UNFINISHED_WORDS.get(run.state, run.state.value) for run in own}
    described = view.described(row)
    named = ("key", "kind", "label", "sessionId", "model", "thinkingLevel", "updatedAt", "deliveryContext")
    return {
        **{name: described[name] for name in named},
        "busy": runs.keepers.is_busy(row.key),
        "waitingInputs": len(waiting),
        "runs": words,
        "subagents": {
            "active": sum(not run.is_ended for run in children),
            "ended": sum(run.is_ended for run in children),
        },
        "lanes": lanes,
        "archived": row.archived_s > 0,
    }
