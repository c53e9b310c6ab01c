"""Hosts: processes that run agents for the runs of others."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.hosting._hosted_agents import MAX_RUNNING, HostedAgents, HostPlan
    from greenroom.hosting._open_host import Host, host_actors, open_host
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.hosting._hosted_agents": ("MAX_RUNNING", "HostPlan", "HostedAgents"),
            "greenroom.hosting._open_host": ("Host", "host_actors", "open_host"),
        },
    )

__all__ = [
    "MAX_RUNNING",
    "Host",
    "HostPlan",
    "HostedAgents",
    "host_actors",
    "open_host",
]
