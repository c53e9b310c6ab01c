"""Links between two nodes: connections that come and go, references to actors of another process, and what peers may ask of ours."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote.links._dialling import Dial, Unreachable
    from greenroom.remote.links._link import Link, LinkPace
    from greenroom.remote.links._link_checks import NodeViolation, causes_across, check_nodes, link_checks_for
    from greenroom.remote.links._link_peers import LinkPeer
    from greenroom.remote.links._link_permits import LinkPermit
    from greenroom.remote.links._link_record import EVENTS
    from greenroom.remote.links._link_states import LinkChanged, LinkState, RemoteMessageDied
    from greenroom.remote.links._node import LinkNode, open_node
    from greenroom.remote.links._published_actors import PublishedActors
    from greenroom.remote.links._remote_calls import LinkLost, RemoteError
    from greenroom.remote.links._remote_ref import RemoteRef
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.remote.links._dialling": ("Dial", "Unreachable"),
            "greenroom.remote.links._link": (
                "Link",
                "LinkPace",
            ),
            "greenroom.remote.links._link_peers": ("LinkPeer",),
            "greenroom.remote.links._link_permits": ("LinkPermit",),
            "greenroom.remote.links._link_checks": ("NodeViolation", "causes_across", "check_nodes", "link_checks_for"),
            "greenroom.remote.links._link_record": ("EVENTS",),
            "greenroom.remote.links._link_states": (
                "LinkChanged",
                "LinkState",
                "RemoteMessageDied",
            ),
            "greenroom.remote.links._node": (
                "LinkNode",
                "open_node",
            ),
            "greenroom.remote.links._remote_calls": (
                "LinkLost",
                "RemoteError",
            ),
            "greenroom.remote.links._remote_ref": ("RemoteRef",),
            "greenroom.remote.links._published_actors": ("PublishedActors",),
        },
    )

__all__ = [
    "EVENTS",
    "Dial",
    "Link",
    "LinkChanged",
    "LinkLost",
    "LinkNode",
    "LinkPace",
    "LinkPeer",
    "LinkPermit",
    "LinkState",
    "NodeViolation",
    "PublishedActors",
    "RemoteError",
    "RemoteMessageDied",
    "RemoteRef",
    "Unreachable",
    "causes_across",
    "check_nodes",
    "link_checks_for",
    "open_node",
]
