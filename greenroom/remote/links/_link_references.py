"""References to actors in the messages of one link.

A reference to an actor of this node is a reference to a remote actor over there: the actor is published to that node while the link lasts. A
reference to an actor of the other node is its own one there. Must not know: sockets, connections.
"""

from __future__ import annotations

from typing import Any, Final, final

from greenroom.actors import Ref
from greenroom.core import UsageError
from greenroom.remote.links._remote_calls import RemoteCalls
from greenroom.remote.links._remote_ref import RemoteRef
from greenroom.remote.links._served_actors import ServedActors
from greenroom.remote.wire import ActorReference, UnreadableValue

ActorReference.register(Ref)
ActorReference.register(RemoteRef)
_HERE: Final = "here"
"""Key of the number of an actor of the sender's node."""
_THERE: Final = "there"
"""Key of the number of an actor of the receiver's node."""


@final
class LinkReferences:
    """Writes and reads the references that cross a link.

    Args:
        calls: The calls of this node, and the actors of the other one that it has found.
        served: The actors of this node that the other one has found.
    """

    def __init__(self, calls: RemoteCalls, served: ServedActors) -> None:
        self._calls = calls
        self._served = served

    def write_reference(self, reference: Any) -> dict[str, int]:
        """Return a reference as JSON can express it.

        Raises:
            UsageError: It is one to an actor of a third node, or the link has carried too many.
        """
        if isinstance(reference, Ref):
            return {_HERE: self._served.share(reference)}
        number: int | None = reference.number_on(self._calls)
        if number is None:
            raise UsageError(
                f"cannot send {reference!r} to node {self._calls.node!r}: only references to actors of either node cross their link"
            )
        return {_THERE: number}

    def read_reference(self, written: Any) -> Ref[Any] | RemoteRef[Any]:
        """Return a reference.

        Raises:
            UnreadableValue: There is no such actor.
        """
        match written:
            case {"here": int(number)} if (target := self._calls.target(number)) is not None:
                return RemoteRef(self._calls, target)
            case {"there": int(number)} if (ref := self._served.ref(number)) is not None:
                return ref
        raise UnreadableValue("a reference to an actor that this link does not know")
