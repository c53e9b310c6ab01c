"""Agents on another process: the messages between a run and the host of its agents."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote.hosts._host_messages import (
        HOST_ACTOR,
        MAX_FOLLOW_S,
        MAX_OUTPUT_PART,
        MESSAGES,
        AgentNews,
        DescribeHost,
        FollowAgent,
        HostDescription,
        LaunchAgent,
        LaunchAnswer,
        ReleaseAgent,
        StopAgent,
        follower_name,
        host_codec,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.remote.hosts._host_messages": (
                "HOST_ACTOR",
                "MAX_FOLLOW_S",
                "MAX_OUTPUT_PART",
                "MESSAGES",
                "AgentNews",
                "DescribeHost",
                "FollowAgent",
                "HostDescription",
                "LaunchAgent",
                "LaunchAnswer",
                "ReleaseAgent",
                "StopAgent",
                "follower_name",
                "host_codec",
            ),
        },
    )

__all__ = [
    "HOST_ACTOR",
    "MAX_FOLLOW_S",
    "MAX_OUTPUT_PART",
    "MESSAGES",
    "AgentNews",
    "DescribeHost",
    "FollowAgent",
    "HostDescription",
    "LaunchAgent",
    "LaunchAnswer",
    "ReleaseAgent",
    "StopAgent",
    "follower_name",
    "host_codec",
]
