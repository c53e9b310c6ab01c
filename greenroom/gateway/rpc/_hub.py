"""The hub: it puts each event into the outboxes of the connections that asked for it.

Rule 1: publishing never waits, whatever the connections do. Rule 2: nothing is pushed that was not asked for, save `gap`, `shutdown`
and `tick`. Rule 3: an event of a session reaches only those whose token is good for it.

Must not know: sockets, methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, final

import trio

from greenroom.gateway.rpc._methods import EVENT_SCOPES
from greenroom.gateway.rpc._outbox import FrameOutbox, Published
from greenroom.gateway.rpc._params import SubscribeParams, UnsubscribeParams
from greenroom.gateway.rpc._rpc_frames import ErrorCode, RpcError
from greenroom.gateway.rpc._scopes import Grant, RpcScope

UNASKED: Final = frozenset({"shutdown", "tick"})
"""Events that every connection gets."""
MAX_SESSIONS: Final = 1_000
"""Sessions that a connection may name for an event."""


@final
class Subscriptions:
    """The events that one connection asked for."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, bool]] = {}

    def add(self, params: SubscribeParams) -> None:
        """Add events. Those of any session include those of each.

        Raises:
            RpcError: `bad_request`: too many sessions are named.
        """
        keys = ("",) if params.session_keys is None else params.session_keys
        for event in params.events:
            if len(self._of.get(event, {}).keys() | set(keys)) > MAX_SESSIONS:
                path = "sessionKeys"
                raise RpcError(ErrorCode.BAD_REQUEST, f"{path}: at most {MAX_SESSIONS} sessions of an event", path=path)
        for event in params.events:
            self._of.setdefault(event, {}).update(dict.fromkeys(keys, params.level == "all"))

    def remove(self, params: UnsubscribeParams) -> None:
        """Remove events, or those of some sessions."""
        for event in params.events:
            if params.session_keys is None:
                self._of.pop(event, None)
            else:
                for key in params.session_keys:
                    self._of.get(event, {}).pop(key, None)

    def wants(self, published: Published) -> bool:
        """True if an event was asked for."""
        sessions = self._of.get(published.event)
        if not sessions:
            return False
        if published.delta_of:
            return sessions.get("", False) or sessions.get(published.session, False)
        return "" in sessions or published.session in sessions

    def to_json(self) -> dict[str, Any]:
        """Return them as an answer: the events, each with its sessions, or `null` for any."""
        return {event: None if "" in keys else sorted(keys) for event, keys in sorted(self._of.items()) if keys}


@final
class Subscriber:
    """One connection, as the hub sees it."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant
        self.outbox = FrameOutbox()
        self.subscriptions = Subscriptions()
        self.has_more = trio.Event()
        """Set if something waits."""

    def answer(self, frame: str) -> None:
        """Put an answer into the outbox."""
        self.outbox.add_answer(frame)
        self.has_more.set()

    def offer(self, published: Published) -> None:
        """Put an event into the outbox, if it is wanted and allowed."""
        if published.event not in UNASKED:
            scope = EVENT_SCOPES.get(published.event, RpcScope.READ)
            if scope not in self.grant.scopes or not self.grant.reaches(published.session):
                return
            if not self.subscriptions.wants(published):
                return
        self.outbox.add(published)
        self.has_more.set()

    def tick(self) -> None:
        """Put a sign of life into the outbox, unless something waits in it."""
        if not self.outbox:
            self.offer(_TICK)


_TICK: Final = Published("tick", "", {})


@final
class EventHub:
    """The subscribers, and a way to reach them all."""

    def __init__(self) -> None:
        self._subscribers: dict[Subscriber, None] = {}

    @property
    def subscribers(self) -> Iterable[Subscriber]:
        """Those that are connected."""
        return tuple(self._subscribers)

    def publish(self, event: str, session: str, payload: Mapping[str, Any], *, delta_of: str = "") -> None:
        """Put an event into every outbox that wants it. It never waits.

        Args:
            event: Its name, one of the table's.
            session: Key of its session; empty if it is of none.
            payload: What it says: a JSON object, which is not changed afterwards.
            delta_of: For a piece of a text, the id of the whole: pieces that wait are merged, and are lost first. Then `payload` has
                the piece as `message`, and as `at` the number of characters before it.
        """
        if not self._subscribers:
            return
        published = Published(event, session, payload, delta_of)
        for subscriber in self._subscribers:
            subscriber.offer(published)

    def add(self, subscriber: Subscriber) -> None:
        """Add a connection."""
        self._subscribers[subscriber] = None

    def remove(self, subscriber: Subscriber) -> None:
        """Remove a connection."""
        self._subscribers.pop(subscriber, None)

    def statistics(self) -> dict[str, int]:
        """Return figures: connections, events that wait for them, and events that they have lost."""
        outboxes = [subscriber.outbox for subscriber in self._subscribers]
        return {
            "connections": len(outboxes),
            "waitingFrames": sum(map(len, outboxes)),
            "waitingBytes": sum(outbox.event_bytes + outbox.answer_bytes for outbox in outboxes),
            "lostEvents": sum(outbox.lost for outbox in outboxes),
        }
