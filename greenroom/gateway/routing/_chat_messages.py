"""Messages between chats and the gateway, and the routes on which they travel.

Rule 1: the route of an answer is that of the message that led to it, a fact of the record; no text makes a route. Rule 2: names and
texts from outside are data, however they look.
Must not know: configuration, sessions, channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, final

import attrs

from greenroom.gateway.record._machines import SendResult


class PeerKind(StrEnum):
    """The kind of a chat."""

    DIRECT = "direct"
    """One person and the agent."""
    GROUP = "group"
    """Several people."""
    CHANNEL = "channel"
    """A room that anybody may join."""


class Assurance(StrEnum):
    """Evidence of a channel for the sender of a message."""

    ACCOUNT = "account"
    """The service has checked the account."""
    MASK = "mask"
    """Only a name or an address that others can take."""


@final
@attrs.frozen(kw_only=True)
class ChatRoute:
    """The way to a chat: where a message came from, and where answers to it go."""

    channel: str
    """Name of the channel, such as `irc`."""
    account: str = "default"
    """Its account."""
    kind: PeerKind = PeerKind.DIRECT
    peer: str
    """Id of the chat: of the person, or of the room."""
    thread: str = ""
    """Id of the thread in it; empty for none."""
    answers: str = ""
    """Id of the message that is answered; empty for none."""

    def to_json(self) -> dict[str, str]:
        """Return it as it stands in events and in the inbox store."""
        return {name: str(value) for name, value in attrs.asdict(self).items() if value}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> ChatRoute | None:
        """Return the route that an event or an item names; None for none."""
        if not value.get("channel") or not value.get("peer"):
            return None
        known = {
            name: str(value[name]) for name in ("channel", "account", "peer", "thread", "answers") if name in value
        }
        return ChatRoute(kind=PeerKind(value.get("kind", PeerKind.DIRECT)), **known)


@final
@attrs.frozen(kw_only=True)
class Sender:
    """The person or program that wrote a message, as the channel tells it."""

    id: str
    """Its id, by which it is allowed or not."""
    name: str = ""
    """Its name, for people: data, never a reason."""
    assurance: Assurance = Assurance.ACCOUNT
    is_program: bool = False
    """True if it says that it is a program: such a message begins no turn."""


@final
@attrs.frozen(kw_only=True)
class Attachment:
    """A file that a message names; it is not fetched."""

    name: str
    type: str = ""
    size_bytes: int = 0


@final
@attrs.frozen(kw_only=True)
class Inbound:
    """A message from a chat."""

    route: ChatRoute
    sender: Sender
    id: str
    """Its id outside: the same message has the same id whenever it comes in again."""
    text: str
    sent_s: float = 0.0
    """When it was sent, by the service's clock: seconds since 1970; 0 if unknown."""
    mentions_us: bool = False
    """True if it addresses the agent: a native mention, or an answer to one of its messages."""
    attachments: tuple[Attachment, ...] = ()


@final
@attrs.frozen(kw_only=True)
class Outbound:
    """One part of a text that is sent to a chat."""

    route: ChatRoute
    key: str
    """The same at each try, with the same text."""
    text: str
    part: int = 1
    """Its number, from 1."""
    parts: int = 1


@final
@attrs.frozen(kw_only=True)
class SendReceipt:
    """The result of a try to send a part."""

    result: SendResult
    why: str = ""
    """The reason; empty if it was taken."""
    wait_s: float = 0.0
    """The wait that the service asked for, in seconds; 0 for none."""
