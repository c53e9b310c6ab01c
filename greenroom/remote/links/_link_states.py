"""The lifecycle of a link, and its events in the journal.

Rule: a lost link has no way back. A broken link waits for its next connection until it times out; each side counts by its own clock.
Must not know: sockets, frames, actors.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final, final

from greenroom.core import Event, IllegalTransition, OneOf, frozen


class LinkState(StrEnum):
    """States of a link."""

    OFFLINE = "offline"
    """It had no connection yet."""
    CONNECTING = "connecting"
    """This side is dialling."""
    UP = "up"
    """A connection carries it."""
    BROKEN = "broken"
    """Its connection has ended; the next one resumes there."""
    LOST = "lost"
    """It has ended permanently."""


class LinkEdge(StrEnum):
    """Transitions of a link."""

    DIAL = "dial"
    CONNECT = "connect"
    BREAK = "break"
    LOSE = "lose"


_S = LinkState
LINK_TRANSITIONS: Final[Mapping[LinkState, Mapping[LinkEdge, LinkState]]] = {
    _S.OFFLINE: {LinkEdge.DIAL: _S.CONNECTING, LinkEdge.CONNECT: _S.UP, LinkEdge.LOSE: _S.LOST},
    _S.CONNECTING: {LinkEdge.CONNECT: _S.UP, LinkEdge.BREAK: _S.BROKEN, LinkEdge.LOSE: _S.LOST},
    _S.UP: {LinkEdge.CONNECT: _S.UP, LinkEdge.BREAK: _S.BROKEN, LinkEdge.LOSE: _S.LOST},
    _S.BROKEN: {LinkEdge.DIAL: _S.CONNECTING, LinkEdge.CONNECT: _S.UP, LinkEdge.LOSE: _S.LOST},
    _S.LOST: {},
}


def next_link_state(state: LinkState, edge: LinkEdge) -> LinkState:
    """Return the next state of a link.

    Raises:
        IllegalTransition: The table has no entry for this pair.
    """
    try:
        return LINK_TRANSITIONS[state][edge]
    except KeyError:
        raise IllegalTransition(state=state, event=edge) from None


@final
@frozen(kw_only=True)
class LinkChanged(Event):
    """A link to another node has changed its state."""

    kind: ClassVar[str] = "link.state"

    node: str
    """Name of the other node."""
    link: str
    """Id of the link."""
    state: Annotated[str, OneOf(*LinkState)]
    """Its new state."""
    why: str = ""
    """The reason, if it broke or is lost."""


@final
@frozen(kw_only=True)
class RemoteMessageDied(Event):
    """A message, or an order to end, that a link had accepted was never delivered.

    It is in the journal of the sender's node; if it was waiting for a place at the receiver's when the link was lost, it is there.
    """

    kind: ClassVar[str] = "link.dead"

    node: str
    """Name of the other node."""
    path: str
    """Path of the receiver."""
    reason: Annotated[str, OneOf("no_actor", "ended", "unreadable", "forbidden", "link_lost")]
    """`no_actor` and `ended`: the other node has no such actor, or not any more; `unreadable`: it does not know the message's class;
    `forbidden`: this node may not send it, or may not end the actor; `link_lost`: it had not acknowledged the message.
    """
    link: str = ""
    """Id of the link."""
    number: int = 0
    """Number of the message on its data channel; 0 if it came from the other node."""


@final
@frozen(kw_only=True)
class LinkForbade(Event):
    """Another node has tried what it may not do, or named an actor that it has not found. Recorded once for each link and permission."""

    kind: ClassVar[str] = "link.forbidden"

    node: str
    """Name of the other node."""
    verb: str
    """The permission that it lacks, or would have needed."""
    path: str
    """Path of the actor; empty if it has found none under that number."""


LINK_EVENTS: Final = (LinkChanged, RemoteMessageDied, LinkForbade)
