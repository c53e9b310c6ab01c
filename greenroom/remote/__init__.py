"""Links between processes: nodes, references to actors of another node, and text messages between processes of one user."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote._letters import (
        Letter,
        LetterRefusal,
        LetterRefused,
        check_listening,
        open_letterbox,
        send_letter,
    )
    from greenroom.remote.links import (
        Link,
        LinkLost,
        LinkNode,
        LinkPace,
        LinkPeer,
        LinkPermit,
        LinkState,
        RemoteError,
        RemoteRef,
        Unreachable,
        causes_across,
        open_node,
    )
    from greenroom.remote.wire import MessageCodec
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.remote._letters": (
                "Letter",
                "LetterRefusal",
                "LetterRefused",
                "causes_across",
                "check_listening",
                "open_letterbox",
                "send_letter",
            ),
            "greenroom.remote.links": (
                "Link",
                "LinkLost",
                "LinkNode",
                "LinkPace",
                "LinkPeer",
                "LinkPermit",
                "LinkState",
                "RemoteError",
                "RemoteRef",
                "Unreachable",
                "causes_across",
                "open_node",
            ),
            "greenroom.remote.wire": ("MessageCodec",),
        },
    )

__all__ = [
    "Letter",
    "LetterRefusal",
    "LetterRefused",
    "Link",
    "LinkLost",
    "LinkNode",
    "LinkPace",
    "LinkPeer",
    "LinkPermit",
    "LinkState",
    "MessageCodec",
    "RemoteError",
    "RemoteRef",
    "Unreachable",
    "causes_across",
    "check_listening",
    "open_letterbox",
    "open_node",
    "send_letter",
]
