"""Agents on another process: the messages between a run and the host of its agents, and the agents of a run that work there."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote.hosts._host_messages import (
        HOST_ACTOR,
        MAX_OUTPUT_PART,
        AgentNews,
        AnswerAgent,
        DescribeHost,
        FollowAgent,
        HostDescription,
        LaunchAgent,
        LaunchAnswer,
        ReleaseAgent,
        StopAgent,
        follower_name,
        host_codec,
        owner_of,
    )
    from greenroom.remote.hosts._host_tokens import make_token_file, read_token_file
    from greenroom.remote.hosts._placed_hosts import PlacedHosts
    from greenroom.remote.hosts._remote_agent import LeftRemote, RemoteAgent, RemoteOrder
    from greenroom.remote.hosts._remote_agents import RemoteAgents
    from greenroom.remote.hosts._remote_record import RemoteRecord, read_remote_record, remote_record_path
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.remote.hosts._host_messages": (
                "HOST_ACTOR",
                "MAX_OUTPUT_PART",
                "AgentNews",
                "AnswerAgent",
                "DescribeHost",
                "FollowAgent",
                "HostDescription",
                "LaunchAgent",
                "LaunchAnswer",
                "ReleaseAgent",
                "StopAgent",
                "follower_name",
                "host_codec",
                "owner_of",
            ),
            "greenroom.remote.hosts._host_tokens": ("make_token_file", "read_token_file"),
            "greenroom.remote.hosts._placed_hosts": ("PlacedHosts",),
            "greenroom.remote.hosts._remote_agent": ("LeftRemote", "RemoteAgent", "RemoteOrder"),
            "greenroom.remote.hosts._remote_agents": ("RemoteAgents",),
            "greenroom.remote.hosts._remote_record": ("RemoteRecord", "read_remote_record", "remote_record_path"),
        },
    )

__all__ = [
    "HOST_ACTOR",
    "MAX_OUTPUT_PART",
    "AgentNews",
    "AnswerAgent",
    "DescribeHost",
    "FollowAgent",
    "HostDescription",
    "LaunchAgent",
    "LaunchAnswer",
    "LeftRemote",
    "PlacedHosts",
    "ReleaseAgent",
    "RemoteAgent",
    "RemoteAgents",
    "RemoteOrder",
    "RemoteRecord",
    "StopAgent",
    "follower_name",
    "host_codec",
    "make_token_file",
    "owner_of",
    "read_remote_record",
    "read_token_file",
    "remote_record_path",
]
