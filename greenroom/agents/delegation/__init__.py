"""Delegation: what a call of the tool Agent means, which way it takes, what its child may use, and what comes back."""

from greenroom.agents.delegation._agent_tool import AGENT_TOOL, AgentTool, Elsewhere, is_one_shot
from greenroom.agents.delegation._child import ChildAgent
from greenroom.agents.delegation._crew import Crew
from greenroom.agents.delegation._fork import FORK, PLACEHOLDER, directive, fork_home, is_told_to_be_a_fork
from greenroom.agents.delegation._furnish import furnish
from greenroom.agents.delegation._input import AgentCall, Gates, agent_schema, agent_tool_description, read_call
from greenroom.agents.delegation._messages import SEND_MESSAGE, Archive, Post, Sent, make_send_message
from greenroom.agents.delegation._orders import ChildWish, DelegationSettings, Ground, Member, Order
from greenroom.agents.delegation._placeholders import AGENT_TOOLS, SessionTool
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
    "AGENT_TOOL",
    "AGENT_TOOLS",
    "COORDINATOR_TOOLS",
    "FORK",
    "PLACEHOLDER",
    "SEND_MESSAGE",
    "AgentCall",
    "AgentTool",
    "Archive",
    "AsyncLaunched",
    "Caller",
    "ChildAgent",
    "ChildWish",
    "Completed",
    "Crew",
    "DelegationSettings",
    "Elsewhere",
    "ForkRoute",
    "ForkSetting",
    "Gates",
    "Ground",
    "Limits",
    "Member",
    "NamedRoute",
    "Order",
    "Post",
    "RemoteLaunched",
    "RemoteRoute",
    "Route",
    "Sent",
    "SessionTool",
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
    "directive",
    "fork_home",
    "furnish",
    "is_one_shot",
    "is_told_to_be_a_fork",
    "make_send_message",
    "read_call",
    "route",
    "scan_report",
    "text_for_model",
    "tools_for_child",
    "truncate_report",
    "worker_tools",
]
