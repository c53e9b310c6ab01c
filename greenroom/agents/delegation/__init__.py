"""Delegation: what a call of the tool Agent means, which way it takes, what its child may use, and what comes back."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.delegation._coordinator import (
        COORDINATOR,
        COORDINATOR_PROMPT,
        about_scratchpad,
        about_workers,
        session_mode,
    )
    from greenroom.agents.delegation._input import AgentCall, read_call
    from greenroom.agents.delegation._results import RemoteLaunched, TeammateSpawned
    from greenroom.agents.delegation._routing import RemoteRoute, SpawnRefused, TeammateRoute, route, route_skill
    from greenroom.agents.delegation._send_message_call import SendMessageCall, read_letter, shortened
    from greenroom.agents.delegation._situation import Teams
    from greenroom.agents.delegation._tool_pool import (
        COORDINATOR_TOOLS,
        ZeroTools,
        coordinator_tools,
        tools_for_child,
        worker_tools,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.delegation._coordinator": (
                "COORDINATOR",
                "COORDINATOR_PROMPT",
                "about_scratchpad",
                "about_workers",
                "session_mode",
            ),
            "greenroom.agents.delegation._input": ("AgentCall", "read_call"),
            "greenroom.agents.delegation._results": ("RemoteLaunched", "TeammateSpawned"),
            "greenroom.agents.delegation._routing": (
                "RemoteRoute",
                "SpawnRefused",
                "TeammateRoute",
                "route",
                "route_skill",
            ),
            "greenroom.agents.delegation._send_message_call": ("SendMessageCall", "read_letter", "shortened"),
            "greenroom.agents.delegation._situation": ("Teams",),
            "greenroom.agents.delegation._tool_pool": (
                "COORDINATOR_TOOLS",
                "ZeroTools",
                "coordinator_tools",
                "tools_for_child",
                "worker_tools",
            ),
        },
    )

__all__ = [
    "COORDINATOR",
    "COORDINATOR_PROMPT",
    "COORDINATOR_TOOLS",
    "AgentCall",
    "RemoteLaunched",
    "RemoteRoute",
    "SendMessageCall",
    "SpawnRefused",
    "TeammateRoute",
    "TeammateSpawned",
    "Teams",
    "ZeroTools",
    "about_scratchpad",
    "about_workers",
    "coordinator_tools",
    "read_call",
    "read_letter",
    "route",
    "route_skill",
    "session_mode",
    "shortened",
    "tools_for_child",
    "worker_tools",
]
