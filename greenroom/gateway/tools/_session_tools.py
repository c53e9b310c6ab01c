"""The session tools of one session, with those that start sub-agents: `sessions_spawn` and `agents_list`."""

from __future__ import annotations

from typing import Annotated

from greenroom.gateway.config._checks import agents_of
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.runs._spawn_plan import SpawnRequest, spawn_targets
from greenroom.gateway.tools._gateway_tool import GatewayTool, answer
from greenroom.gateway.tools._looking_tools import history_tool, list_tool, status_tool
from greenroom.gateway.tools._send_tool import send_tool
from greenroom.gateway.tools._session_view import SessionView
from greenroom.gateway.tools._subagents_tool import subagents_tool
from greenroom.tools import Arg, ToolError, tool


def session_tools(caller: SessionKey, runs: Runs, view: SessionView) -> list[GatewayTool]:
    """Return the session tools, of which the policy takes some away for sub-agents and others.

    A call from a session that may not make it is refused all the same.

    Args:
        caller: Key of the session whose tools they are.
        runs: The runs.
        view: What they read.
    """
    return [
        list_tool(caller, view),
        history_tool(caller, view),
        send_tool(caller, runs, view),
        spawn_tool(caller, runs, view),
        subagents_tool(caller, runs, view),
        status_tool(caller, runs, view),
        agents_tool(caller, view),
    ]


def spawn_tool(caller: SessionKey, runs: Runs, view: SessionView) -> GatewayTool:
    """Return the tool by which a session starts sub-agents."""

    @tool(name="sessions_spawn")
    async def sessions_spawn(
        task: str,
        label: str | None = None,
        agentId: str | None = None,  # noqa: N803 - the words of the interface
        model: str | None = None,
        thinking: str | None = None,
        runTimeoutSeconds: Annotated[float | None, Arg(minimum=0)] = None,  # noqa: N803
        timeoutSeconds: Annotated[float | None, Arg(minimum=0)] = None,  # noqa: N803
        cleanup: str | None = None,
    ) -> str:
        """Start a sub-agent that works in the background, in a session of its own, and returns at once.

        Its result is posted to this chat when it ends, and you read it; do not wait or poll for it. Use it for research, long tasks and
        slow tools. It knows nothing of this conversation: the task has to say everything. Give heavy or repeated work to a cheaper model.

        Args:
            task: The work order, complete in itself.
            label: A short name, for lists.
            agentId: The agent that runs, one of those that `agents_list` shows; by default your own.
            model: Its model; by default as configured.
            thinking: How much it thinks: off, minimal, low, medium, high, xhigh or max.
            runTimeoutSeconds: Limit of its working time; 0 for none.
            timeoutSeconds: The same; an older name.
            cleanup: `delete` archives its session once its result is delivered; `keep` keeps it for a while.
        """
        if not task.strip():
            raise ToolError("sessions_spawn: task must not be empty")
        request = SpawnRequest(
            task=task,
            label=label or "",
            agent=agentId or "",
            model=model or "",
            thinking=thinking or "",
            limit_s=timeoutSeconds if runTimeoutSeconds is None else runTimeoutSeconds,
            cleanup=cleanup or "keep",
        )
        given = await runs.spawn(caller, request, view.route(str(caller)))
        return answer(**given.to_json())

    return GatewayTool(sessions_spawn)


def agents_tool(caller: SessionKey, view: SessionView) -> GatewayTool:
    """Return the tool that lists the agents that a session may start."""

    @tool(name="agents_list", read_only=True)
    async def agents_list() -> str:
        """List the agents that sessions_spawn may start from here."""
        config = view.config()
        targets, known = spawn_targets(config, caller.agent), agents_of(config)
        rows = []
        for id_ in targets.ids:
            row: dict[str, object] = {"id": id_, "configured": id_ in known}
            if id_ in known and known[id_].name:
                row["name"] = known[id_].name
            rows.append(row)
        return answer(requester=caller.agent, allowAny=targets.allows_any, agents=rows)

    return GatewayTool(agents_list)
