"""The record of what crosses a link, for checks over the journals of all nodes.

States and dead messages are always in the journal (`link.state`, `link.dead`). Frames and settlements are recorded only if the node was opened
with `records_frames`: each costs a line. Must not know: sockets, actors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, final

import trio

from greenroom.core import Event, Level, OneOf, frozen
from greenroom.remote.links._link_states import LINK_EVENTS, RemoteMessageDied
from greenroom.remote.wire import LinkFrame
from greenroom.serving import Incident

CallKind: TypeAlias = Literal["ask", "find", "abort", "watch", "tell"]
CallEnd: TypeAlias = Literal["answered", "failed", "withdrawn", "lost", "placed", "refused"]
_MAX_REFUSED_A_MINUTE: Final = 100
_MINUTE_S: Final = 60.0
_MAX_WHY: Final = 200
_CALLS: Final[tuple[CallKind, ...]] = ("ask", "find", "abort", "watch", "tell")
_ENDS: Final[tuple[CallEnd, ...]] = ("answered", "failed", "withdrawn", "lost", "placed", "refused")


@final
@frozen(kw_only=True)
class NodeOpened(Event):
    """A node was opened, and may be linked."""

    kind: ClassVar[str] = "node.opened"

    node: str
    """Its name."""
    boot: str
    """Id of this start."""
    records_frames: bool = False
    """True if the frames of its links are in the journal."""


@final
@frozen(kw_only=True)
class NodeClosed(Event):
    """A node was closed; all of its links are lost."""

    kind: ClassVar[str] = "node.closed"

    node: str
    """Its name."""


@final
@frozen(kw_only=True)
class LinkFrameSent(Event):
    """A frame was accepted by a link, which keeps it until the other node has it."""

    kind: ClassVar[str] = "link.sent"
    level: ClassVar[Level] = Level.FULL

    node: str
    """Name of the other node."""
    link: str
    """Id of the link."""
    channel: str
    """`control` or `data`."""
    number: int
    """Its number on that channel."""
    frame: str
    """Its kind, such as `tell`."""
    call: int = 0
    """Number of the ask, search, watch, abort or tell that it is about; 0 if none."""
    to: int = 0
    """Number of the actor that it is about; 0 if none."""
    places: int = 0
    """Places that it grants."""
    path: str = ""
    """Path of the actor that was found."""


@final
@frozen(kw_only=True)
class LinkFrameTaken(Event):
    """A frame of the other node was taken, and took effect in the same step."""

    kind: ClassVar[str] = "link.taken"
    level: ClassVar[Level] = Level.FULL

    node: str
    """Name of the other node."""
    link: str
    """Id of the link."""
    channel: str
    """`control` or `data`."""
    number: int
    """Its number on that channel."""
    frame: str
    """Its kind, such as `tell`."""
    call: int = 0
    """Number of the ask, search, watch, abort or tell that it is about; 0 if none."""
    to: int = 0
    """Number of the actor that it is about; 0 if none."""
    places: int = 0
    """Places that it grants."""
    path: str = ""
    """Path of the actor that was found."""


@final
@frozen(kw_only=True)
class LinkCallSettled(Event):
    """A call of this node to another one has ended, or a message of the other node has been put or refused here."""

    kind: ClassVar[str] = "link.settled"
    level: ClassVar[Level] = Level.FULL

    node: str
    """Name of the other node."""
    link: str
    """Id of the link."""
    call: Annotated[str, OneOf(*_CALLS)]
    """Its kind. A `tell` is one of the other node, all others are calls of this one."""
    number: int
    """Its number; that of its frame for a `tell`."""
    end: Annotated[str, OneOf(*_ENDS)]
    """`failed` after an error of the other node or a timeout, `withdrawn` by the caller, `lost` with the link. A message is `placed` when the
    mailbox has it, `refused` if that is impossible.
    """


@final
@frozen(kw_only=True)
class LinkRefused(Event):
    """A connection to this node was refused before it carried a link. At most 100 a minute are recorded."""

    kind: ClassVar[str] = "link.refused"

    address: str
    """Address of the other side; `unix` for a Unix socket. It is not known which node it is."""
    why: str
    """The reason."""
    code: int = 0
    """Status of the answer, or code of the close; 0 if there was none."""
    unrecorded: int = 0
    """Number of further ones that were not recorded since the one before."""


@final
@frozen(kw_only=True)
class LinkCaused(Event):
    """Something came over a link because of an event in the journal of the other node; its effects here have this event as parent."""

    kind: ClassVar[str] = "link.caused"

    node: str
    """Name of the other node."""
    link: str
    """Id of the link, which both journals have."""
    cause: int
    """Number of the event over there."""


EVENTS: Final = (
    *LINK_EVENTS,
    NodeOpened,
    NodeClosed,
    LinkRefused,
    LinkCaused,
    LinkFrameSent,
    LinkFrameTaken,
    LinkCallSettled,
)


@final
class RefusedConnections:
    """The record of refused connections: bounded, because any peer that reaches the node can cause them.

    Args:
        emit: Records an event.
    """

    def __init__(self, emit: Callable[[Event], object]) -> None:
        self._emit = emit
        self._since_s = -math.inf
        self._recorded = self._unrecorded = 0

    def note(self, incident: Incident) -> None:
        """Record a connection that was refused; beyond 100 a minute it is counted only."""
        now_s = trio.current_time()
        if now_s - self._since_s >= _MINUTE_S:
            self._since_s, self._recorded = now_s, 0
        if self._recorded >= _MAX_REFUSED_A_MINUTE:
            self._unrecorded += 1
            return
        self._recorded += 1
        unrecorded, self._unrecorded = self._unrecorded, 0
        why = incident.reason[:_MAX_WHY]
        self._emit(LinkRefused(address=incident.address, why=why, code=incident.status, unrecorded=unrecorded))


@final
class LinkRecord:
    """The record of one link.

    Args:
        node: Name of the other node.
        link: Id of the link.
        emit: Records an event.
        has_frames: True to record each frame and each settlement.
    """

    __slots__ = ("_emit", "_link", "_node", "has_frames")

    def __init__(self, node: str, link: str, emit: Callable[[Event], int], *, has_frames: bool) -> None:
        self._node = node
        self._link = link
        self._emit = emit
        self.has_frames = has_frames

    def note_frame(self, event: type[LinkFrameSent | LinkFrameTaken], number: int, frame: LinkFrame) -> None:
        """Record a frame; the caller asks `has_frames` first."""
        about = next((getattr(frame, name) for name in _CALLS if hasattr(frame, name)), 0)
        path = getattr(frame, "path", "")
        self._emit(
            event(
                node=self._node,
                link=self._link,
                channel=frame.channel.value,
                number=number,
                frame=frame.kind,
                call=about,
                to=getattr(frame, "to", 0),
                places=getattr(frame, "places", 0),
                path=path,
            )
        )

    def caused(self, cause: int) -> int:
        """Record that something comes because of an event over there; return the number of that record, 0 if there was none."""
        return self._emit(LinkCaused(node=self._node, link=self._link, cause=cause)) if cause else 0

    def dead(self, path: str, reason: str, number: int) -> RemoteMessageDied:
        """Return the event of a message that was accepted and not delivered."""
        return RemoteMessageDied(node=self._node, path=path, reason=reason, link=self._link, number=number)

    def note_settled(self, call: CallKind, number: int, end: CallEnd) -> None:
        """Record the end of a call, or of a message of the other node. No effect unless frames are recorded."""
        if self.has_frames:
            self._emit(LinkCallSettled(node=self._node, link=self._link, call=call, number=number, end=end))
