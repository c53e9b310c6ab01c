"""The session tools of one session."""

from __future__ import annotations

from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._runs import Runs
from greenroom.gateway.tools._gateway_tool import GatewayTool
from greenroom.gateway.tools._looking_tools import history_tool, list_tool, status_tool
from greenroom.gateway.tools._send_tool import send_tool
from greenroom.gateway.tools._session_view import SessionView
from greenroom.gateway.tools._spawn_tools import agents_tool, spawn_tool
from greenroom.gateway.tools._subagents_tool import subagents_tool


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
