"""Delegation: what a call of the tool Agent means, which way it takes, what its child may use, and what comes back."""

from greenroom.agents.delegation._input import AgentCall, Gates, agent_schema, agent_tool_description, read_call
from greenroom.agents.delegation._results import (
    AsyncLaunched,
    Completed,
    RemoteLaunched,
    SpawnResult,
    TeammateSpawned,
    ToolStats,
    text_for_model,
    truncate_report,
)
from greenroom.agents.delegation._routing import (
    Caller,
    ForkRoute,
    ForkSetting,
    Limits,
    NamedRoute,
    RemoteRoute,
    Route,
    Situation,
    SpawnRefused,
    TeammateRoute,
    Teams,
    route,
)
from greenroom.agents.delegation._scan import scan_report
from greenroom.agents.delegation._tool_pool import (
    COORDINATOR_TOOLS,
    ZeroTools,
    coordinator_tools,
    tools_for_child,
    worker_tools,
)

__all__ = [
    "COORDINATOR_TOOLS",
    "AgentCall",
    "AsyncLaunched",
    "Caller",
    "Completed",
    "ForkRoute",
    "ForkSetting",
    "Gates",
    "Limits",
    "NamedRoute",
    "RemoteLaunched",
    "RemoteRoute",
    "Route",
    "Situation",
    "SpawnRefused",
    "SpawnResult",
    "TeammateRoute",
    "TeammateSpawned",
    "Teams",
    "ToolStats",
    "ZeroTools",
    "agent_schema",
    "agent_tool_description",
    "coordinator_tools",
    "read_call",
    "route",
    "scan_report",
    "text_for_model",
    "tools_for_child",
    "truncate_report",
    "worker_tools",
]
