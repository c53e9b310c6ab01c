"""Delegation: what a call of the tool Agent means, which way it takes, what its child may use, and what comes back."""

from greenroom.agents.delegation._input import AgentCall, Gates, agent_schema, agent_tool_description, read_call

__all__ = [
    "AgentCall",
    "Gates",
    "agent_schema",
    "agent_tool_description",
    "read_call",
]
