"""The port of a channel: three verbs, and no knowledge of sessions.

Rule 1: a message is acknowledged outside only after `hear` has returned, for then it is durable. Rule 2: the same key always comes
with the same text. Rule 3: cancelling any of the verbs leaves no socket behind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Protocol, TypeAlias, final

import attrs

from greenroom.gateway.announce._parts import Measure
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, Outbound, SendReceipt


class WasSent(StrEnum):
    """The answer of a channel that is asked for a part that it was given before."""

    YES = "yes"
    NO = "no"
    CANNOT_SAY = "cannot say"


@final
@attrs.frozen(kw_only=True)
class ChannelTraits:
    """Facts about a channel."""

    limit: int
    """The longest part, by `measure`."""
    measure: Measure = len
    takes_keys: bool = False
    """True if the service itself drops a second part with the same key."""


@final
@attrs.frozen(kw_only=True)
class ChannelHost:
    """The gateway, as a channel that runs sees it."""

    hear: Callable[[Inbound], Awaitable[None]]
    """Returns when the message is durable, or is not wanted; raises `JournalError` if it cannot be stored: do not acknowledge it."""
    connected: Callable[[], object]
    """Called when the connection stands."""
    save_cursor: Callable[[str], Awaitable[None]]
    """Returns when a mark is durable; everything before it was heard."""
    cursor: str = ""
    """The last mark that was saved; empty for none."""
    may_invite: Callable[[str], bool] = attrs.field(default=lambda _: False)
    """True if the agent joins a room when the person with this id invites it."""


class Channel(Protocol):
    """An account of a chat service."""

    @property
    def traits(self) -> ChannelTraits:
        """Facts about it."""

    async def run(self, host: ChannelHost) -> None:
        """Connect, and read messages until it is cancelled.

        Raises:
            PeerError: The connection was lost or refused; it is run again after a while.
        """

    async def send(self, part: Outbound) -> SendReceipt:
        """Send a part, and return the result of the try; it raises nothing but cancellation, and then the result is unknown."""

    async def was_sent(self, key: str) -> WasSent:
        """Find out whether a part with this key has arrived."""

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        """Show in a chat that an answer is being written, where the service can; a failure is ignored."""


MakeChannel: TypeAlias = Callable[..., Channel]
"""Makes the channel of an account; the entry points of the group `greenroom.channels` are such functions. It is called by keyword with
`channel` and `account` (their names), `options` (the account's settings) and `ports` (time, ids, threads); it may raise `UsageError`."""
