"""The channels of a session: MCP servers that push messages into its inbox.

Rule 1: only servers that the settings list are heard; what others push is ignored, counted, and said once. Rule 2: a message is in
the inbox, which stores it, before anything is told of it; it waits behind everything else, and nothing in it changes that. Rule 3: a
flood is bounded by the rate of its channel and by the number of messages that wait to be read; what is beyond is dropped, counted
and told in sums. Rule 4: nothing that a channel says is an answer to a question, or anybody's consent.

Must not know: the SDK, how agents read.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, final

import attrs
import trio

from greenroom.core import GreenroomError, Recorder
from greenroom.core.ports import Ids
from greenroom.core.texts import NO_PERSON
from greenroom.inbox import AUTO_CONTINUATION, InboxItem, PushRate
from greenroom.inbox import channel as origin_of
from greenroom.mcp._channel_messages import CAPABILITY, ChannelPush
from greenroom.mcp._channel_settings import ChannelSettings
from greenroom.mcp._events import McpPushIgnored, PushRefusal
from greenroom.mcp._server_group import McpServers
from greenroom.mcp._server_lifecycle import ServerStatus
from greenroom.store import new_uuid

BURST: Final = 20
"""Maximum number of messages of a channel at once."""
MAX_UNREAD: Final = 50
"""Maximum number of messages of a channel that wait to be read."""
QUIET_S: Final = 2.0
"""Seconds without another dropped message after which the sum is told."""
TELL_S: Final = 60.0
"""Maximum time from a dropped message until the sum is told, in seconds."""

_DROPPED: Final = (PushRefusal.RATE, PushRefusal.UNREAD, PushRefusal.UNSTORED)
"""Reasons that are told in sums; the others are told once."""


@final
@attrs.define(eq=False)
class _Channel:
    """What is known of one server's messages."""

    rate: PushRate
    is_listed: bool
    pending: deque[ChannelPush] = attrs.field(factory=deque)
    """Messages that are to be stored; the rate bounds them."""
    refused: Counter[PushRefusal] = attrs.field(factory=Counter)
    untold: Counter[PushRefusal] = attrs.field(factory=Counter)
    fault: str = ""
    """Why the first malformed one is malformed."""
    note: str = ""
    """Id of the last note about dropped messages."""
    tell_by_s: float = math.inf
    quiet_at_s: float = math.inf

    @property
    def tell_at_s(self) -> float:
        """Time at which the dropped messages are to be told; infinite if there are none."""
        return min(self.tell_by_s, self.quiet_at_s) if self.untold else math.inf


@final
class Channels:
    """Receives the messages that servers push, and hands those of listed servers in.

    Args:
        listed: The settings of the channels, by the names of their servers.
        recorder: Records ignored and dropped messages.
        ids: Ids of messages.
    """

    def __init__(self, listed: Mapping[str, ChannelSettings], recorder: Recorder, ids: Ids) -> None:
        self._listed = listed
        self._recorder = recorder
        self._ids = ids
        self._channels: dict[str, _Channel] = {}
        self._wake = trio.Event()
        self._accept: Callable[..., Awaitable[bool]]
        self._queued: Callable[[], Sequence[InboxItem]]

    def __repr__(self) -> str:
        return f"<Channels {', '.join(self._listed)}>"

    # --- what comes in ---------------------------------------------------------------------------------------------

    def receive(self, server: str, push: ChannelPush) -> None:
        """Take a message of a server; never waits, and never raises."""
        channel = self._channel(server)
        if not channel.is_listed:
            self._refuse(server, channel, PushRefusal.UNLISTED)
        elif push.is_of_agent:
            self._refuse(server, channel, PushRefusal.OF_AGENT)
        elif not push.is_declared:
            self._refuse(server, channel, PushRefusal.UNDECLARED)
        elif push.fault:
            channel.fault = channel.fault or push.fault
            self._refuse(server, channel, PushRefusal.MALFORMED)
        elif not channel.rate.take(trio.current_time()) or len(channel.pending) >= BURST:
            self._refuse(server, channel, PushRefusal.RATE)
        else:
            if push.left_out:
                self._refuse(server, channel, PushRefusal.META)
            channel.pending.append(push)
            self._wake.set()

    def _channel(self, server: str) -> _Channel:
        channel = self._channels.get(server)
        if channel is None:
            settings = self._listed.get(server, ChannelSettings())
            rate = PushRate(settings.per_minute, BURST)
            channel = self._channels[server] = _Channel(rate, is_listed=server in self._listed)
        return channel

    def _refuse(self, server: str, channel: _Channel, reason: PushRefusal) -> None:
        channel.refused[reason] += 1
        if reason not in _DROPPED:
            if channel.refused[reason] == 1:
                self._record(server, reason, 1, channel.fault if reason is PushRefusal.MALFORMED else "")
            return
        now_s = trio.current_time()
        if not channel.untold:
            channel.tell_by_s = now_s + TELL_S
            self._wake.set()
        channel.untold[reason] += 1
        channel.quiet_at_s = now_s + QUIET_S

    def _record(self, server: str, reason: PushRefusal, count: int, why: str = "") -> None:
        self._recorder.emit(McpPushIgnored(server=server, reason=reason.value, count=count, why=why))

    # --- handing in ------------------------------------------------------------------------------------------------

    async def run(self, accept: Callable[..., Awaitable[bool]], queued: Callable[[], Sequence[InboxItem]]) -> None:
        """Hand in what servers push, until it is cancelled.

        Args:
            accept: Stores a message with an id, a text, an `origin` and `attributes`, and hands it in; raises where it is refused.
            queued: Returns the items that wait to be read.
        """
        self._accept, self._queued = accept, queued
        try:
            while True:
                tell_at_s = min((channel.tell_at_s for channel in self._channels.values()), default=math.inf)
                with trio.CancelScope(deadline=tell_at_s):
                    await self._wake.wait()
                self._wake = trio.Event()
                for server, channel in list(self._channels.items()):
                    while channel.pending:
                        await self._hand_in(server, channel, channel.pending.popleft())
                    if channel.tell_at_s <= trio.current_time():
                        await self._tell(server, channel)
        finally:
            for server, channel in self._channels.items():
                self._record_dropped(server, channel)

    async def _hand_in(self, server: str, channel: _Channel, push: ChannelPush) -> None:
        origin = origin_of(server)
        if sum(item.origin == origin for item in self._queued()) >= MAX_UNREAD:
            self._refuse(server, channel, PushRefusal.UNREAD)
            return
        try:
            await self._accept(new_uuid(self._ids), push.content, origin=origin, attributes=push.attributes)
        except GreenroomError:  # what is wrong with the store is said by the inbox
            self._refuse(server, channel, PushRefusal.UNSTORED)

    async def _tell(self, server: str, channel: _Channel) -> None:
        """Tell the model how many messages were dropped, unless it has not read the last such note yet."""
        if any(item.id == channel.note for item in self._queued()):
            channel.tell_by_s = channel.quiet_at_s = trio.current_time() + TELL_S
            return
        text = _sum_text(server, channel.untold.total())
        channel.note = new_uuid(self._ids)
        self._record_dropped(server, channel)
        try:
            await self._accept(channel.note, f"{NO_PERSON}\n{text}.", origin=AUTO_CONTINUATION)
        except GreenroomError:  # it is on record, and among the problems
            return

    def _record_dropped(self, server: str, channel: _Channel) -> None:
        for reason, count in channel.untold.items():
            self._record(server, reason, count)
        channel.untold.clear()

    # --- looking ---------------------------------------------------------------------------------------------------

    def problems(self, servers: McpServers) -> Iterator[str]:
        """Yield a line for each setting without effect, and for each reason for which messages were ignored."""
        states = {state.name: state for state in servers.states()}
        for name in self._listed:
            state = states.get(name)
            if state is None and not servers.may_grow and name not in {broken.name for broken in servers.broken}:
                known = ", ".join(map(repr, states)) or "none"
                yield f"channels: {name!r} is not an MCP server of this session; expected one of: {known}"
            elif state is not None and state.status is ServerStatus.CONNECTED and not state.info.is_channel:
                yield f"channels: MCP server {name!r} pushes nothing: it does not declare the capability {CAPABILITY}"
        for name, channel in self._channels.items():
            dropped = sum(channel.refused[reason] for reason in _DROPPED)
            if dropped:
                yield _sum_text(name, dropped)
            for reason, text in _TEXTS.items():
                if channel.refused[reason]:
                    yield text.format(name=repr(name), count=channel.refused[reason], fault=channel.fault)


_TEXTS: Final = {
    PushRefusal.UNLISTED: "MCP server {name} pushes messages, which are ignored: the setting `channels` does not list it",
    PushRefusal.OF_AGENT: "MCP server {name} pushes messages, which are ignored: it belongs to one agent",
    PushRefusal.UNDECLARED: f"MCP server {{name}} pushes messages, which are ignored: it does not declare {CAPABILITY}",
    PushRefusal.MALFORMED: "channel {name}: {count} malformed messages were ignored; the first: {fault}",
    PushRefusal.META: "channel {name}: entries of meta were left out in {count} messages: names must be identifiers, values text",
}


def _sum_text(server: str, count: int) -> str:
    return f"{count} messages of channel {server!r} were dropped: too many came at once, or wait to be read"
