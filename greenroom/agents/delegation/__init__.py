"""Delegation: what a call of the tool Agent means, which way it takes, what its child may use, and what comes back."""

from greenroom.agents.delegation._input import AgentCall, Gates, agent_schema, agent_tool_description, read_call
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

__all__ = [
    "AgentCall",
    "Caller",
    "ForkRoute",
    "ForkSetting",
    "Gates",
    "Limits",
    "NamedRoute",
    "RemoteRoute",
    "Route",
    "Situation",
    "SpawnRefused",
    "TeammateRoute",
    "Teams",
    "agent_schema",
    "agent_tool_description",
    "read_call",
    "route",
]
