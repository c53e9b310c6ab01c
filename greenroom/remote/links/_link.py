"""A link: the numbered conversation of two nodes, carried by one connection after the other.

Rule 1: a connection that ends loses nothing; the next one resumes where it ended. Rule 2: a link without a connection for `resume_s` is lost
permanently, and everything that waits for the other node is notified. Rule 3: liveness is the link's own: each side sends at least
every `tick_s`, and three ticks of silence end a connection. Must not know: addresses, tokens, servers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Protocol, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.core import Recorder, open_bare_nursery
from greenroom.core.validation import positive
from greenroom.remote.links._link_permits import LinkPermit
from greenroom.remote.links._link_record import LinkFrameSent, LinkFrameTaken, LinkRecord
from greenroom.remote.links._link_references import LinkReferences
from greenroom.remote.links._link_states import LinkChanged, LinkEdge, LinkState, next_link_state
from greenroom.remote.links._published_actors import PublishedActors
from greenroom.remote.links._remote_calls import LinkLost, RemoteCalls
from greenroom.remote.links._remote_ref import REMOTE_ASK_S, RemoteRef
from greenroom.remote.links._served_actors import ServedActors
from greenroom.remote.wire import (
    LINK_CLOSED,
    MAX_MESSAGE,
    REPLACED,
    TICK_S,
    LinkFrame,
    LinkWire,
    MessageCodec,
    WireError,
    WireStatistics,
)
from greenroom.serving import ConnectionEnded

ACKNOWLEDGE_S: Final = 0.02
"""Time after which what has come is acknowledged, if nothing else is to be said, in seconds."""
SILENT_TICKS: Final = 3
"""Ticks of silence that end a connection."""
CLOSE_S: Final = 2.0
"""Time within which the other node must have taken what was sent before a close, in seconds."""
_LOST: Final = "the link is lost"


_DEFAULT_PERMIT: Final = LinkPermit()


class LinkConnection(Protocol):
    """A connection, of whichever side."""

    async def receive(self) -> str | bytes:
        """Return the next message; raises `ConnectionEnded`."""

    async def send(self, message: str | bytes) -> None:
        """Send a message; raises `ConnectionEnded`."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close it."""


@final
@attrs.frozen(kw_only=True)
class LinkPace:
    """Times of a node's links, in seconds."""

    tick_s: float = attrs.field(default=TICK_S, validator=positive)
    """Each side sends at least this often."""
    resume_s: float = attrs.field(default=15.0, validator=positive)
    """A link without a connection is lost after this time."""


@final
@attrs.frozen(kw_only=True)
class LinkStatistics:
    """Figures of a link."""

    state: LinkState
    connections: int
    """Connections so far."""
    sent_bytes: int
    received_bytes: int
    wire: WireStatistics


@final
class Link:
    """A link to another node. Made by a `LinkNode`.

    Args:
        node: Name of the other node.
        id_: Its id.
        boot: The other node's start, to which it belongs.
        codec: Reads and writes messages.
        published: The actors of this node that the other may find.
        pace: Its times.
        nursery: For what it does in the background.
        recorder: Gets its events.
        on_lost: Called when it is lost.
        after: Calls a function after a delay in seconds, and returns what cancels it.
        permit: What the other node may do.
        records_frames: True to record each frame.
    """

    def __init__(
        self,
        *,
        node: str,
        id_: str,
        boot: str,
        codec: MessageCodec,
        published: PublishedActors,
        pace: LinkPace,
        nursery: trio.Nursery,
        recorder: Recorder,
        on_lost: Callable[[], object],
        after: Callable[[float, Callable[[], object]], Callable[[], None]],
        permit: LinkPermit = _DEFAULT_PERMIT,
        records_frames: bool = False,
    ) -> None:
        self.node = node
        self.id = id_
        self.boot = boot
        self.state = LinkState.OFFLINE
        self._after = after
        self._pace = pace
        self._recorder = recorder
        self._on_lost = on_lost
        self._wire = LinkWire()
        self._record = record = LinkRecord(node, id_, recorder.emit, has_frames=records_frames)
        self._calls = RemoteCalls(node, codec, self._wire, self.put, after, recorder.emit, record)
        self._served = ServedActors(node, self.put, codec, published, nursery, after, recorder.emit, record, permit)
        self._calls.references = self._served.references = LinkReferences(self._calls, self._served)
        self._handlers: dict[type[LinkFrame], Callable[[int, Any], None]] = {
            **self._calls.handlers,
            **self._served.handlers,
        }
        self._news = trio.Event()
        self._connection: trio.CancelScope | None = None
        self._changed = trio.Event()
        self._connections = self._sent_bytes = self._received_bytes = 0
        self._forget_loss: Callable[[], None] = lambda: None
        self._forget_tick: Callable[[], None] = lambda: None
        self._forget_owed: Callable[[], None] | None = None
        self._is_due = False
        """True if the other side has to hear something, even if there is no frame for it."""
        self._spoke_s = -math.inf

    def __repr__(self) -> str:
        return f"<Link to {self.node!r}: {self.state}>"

    # --- for those who use it -----------------------------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """True if it is over."""
        return self.state is LinkState.LOST

    async def find(self, name: str, *, timeout_s: float = REMOTE_ASK_S) -> RemoteRef[Any] | None:
        """Return the actor that the other node has published under a name; None if there is none.

        Raises:
            LinkLost: The link is lost.
            PeerError: No answer came in time.
        """
        target = await self._calls.find(name, timeout_s=timeout_s)
        return None if target is None else RemoteRef(self._calls, target)

    async def wait_state(self, *states: LinkState) -> LinkState:
        """Wait until it is in one of these states, and return it. A lost link raises `LinkLost` if that is none of them.

        Raises:
            LinkLost: The link is lost.
        """
        while self.state not in states:
            if self.is_lost:
                raise LinkLost(self.node, "unknown")
            await self._changed.wait()
        await trio.lowlevel.checkpoint()
        return self.state

    async def close(self, *, timeout_s: float = CLOSE_S) -> None:
        """Close the link on both sides, as soon as the other node has everything that was sent. If cancelled, it is closed at once.

        What the other node has not acknowledged by then is a dead letter, `link_lost`; so is everything if no connection carries the link.

        Args:
            timeout_s: Time to wait, in seconds.
        """
        try:
            with trio.move_on_after(timeout_s):
                while self.state is LinkState.UP and not self._wire.is_acknowledged:
                    await self._changed.wait()
        finally:
            self.lose("the link was closed here")

    def statistics(self) -> LinkStatistics:
        """Return the figures at this moment."""
        return LinkStatistics(
            state=self.state,
            connections=self._connections,
            sent_bytes=self._sent_bytes,
            received_bytes=self._received_bytes,
            wire=self._wire.statistics(),
        )

    # --- for its references --------------------------------------------------------------------------------------------

    def withdraw(self, ref: Ref[Any]) -> None:
        """Forget an actor of this node: to the other one it is one that does not exist."""
        self._served.withdraw(ref)

    def put(self, frame: LinkFrame) -> int | None:
        """Send a frame; return its number, or None if it is refusable and the window is full. A lost link drops it."""
        if self.is_lost:
            return None
        number = self._wire.put(frame)
        if self._record.has_frames and number is not None:
            self._record.note_frame(LinkFrameSent, number, frame)
        self._news.set()
        return number

    # --- connections ---------------------------------------------------------------------------------------------------

    def got(self) -> tuple[int, int]:
        """Return what this side has, for a hello."""
        return self._wire.got()

    def note_dialling(self) -> None:
        """Note that this side dials."""
        self._step(LinkEdge.DIAL)

    def note_failure(self, why: str) -> None:
        """Note that dialling failed. No effect if the link was lost meanwhile, or its connection has ended already."""
        if self.state is LinkState.CONNECTING:
            self._step(LinkEdge.BREAK, why)

    async def carry(
        self, connection: LinkConnection, *, got: tuple[int, int], tick_s: float, max_message: int = MAX_MESSAGE
    ) -> str:
        """Carry the link over a connection until that ends; return why it ended. The one before it is closed.

        Args:
            connection: The connection, whose other side has proven itself.
            got: What the other side has.
            tick_s: Time after which the other side says something.
            max_message: Largest message that the other side takes.
        """
        if self.is_lost:
            await connection.close(LINK_CLOSED, _LOST)
            return _LOST
        if self._connection is not None:
            self._connection.cancel("a newer connection carries the link")
        self._wire.max_message = min(MAX_MESSAGE, max_message)
        self._wire.resume(got)
        self._calls.note_room()
        self._connections += 1
        self._forget_loss()
        self._step(LinkEdge.CONNECT)
        why = "the connection failed"
        self._connection = scope = trio.CancelScope()
        try:
            with scope:
                why = await self._carried(connection, tick_s)
            if scope.cancelled_caught:
                is_up = self.state is LinkState.UP
                code, why = (REPLACED, "the connection was replaced") if is_up else (LINK_CLOSED, _LOST)
                with trio.CancelScope(shield=True), trio.move_on_after(1):
                    await connection.close(code, why)
        finally:  # after a cancel or an error too: a link without a connection must not stay up
            if self._connection is scope:
                self._connection = None
                if not self.is_lost:
                    self._break(why)
        return why

    async def _carried(self, connection: LinkConnection, tick_s: float) -> str:
        why = "the connection ended"
        try:
            async with open_bare_nursery() as nursery:
                nursery.start_soon(self._write, connection, nursery.cancel_scope)
                try:
                    why = await self._read(connection, tick_s)
                finally:
                    nursery.cancel_scope.cancel("the connection has ended")
        except ConnectionEnded as error:
            why = str(error)
            if error.code == LINK_CLOSED:
                self.lose("the other node has closed the link")
        except WireError as error:
            why = str(error)
            await connection.close(error.code, why)
        return why

    async def _read(self, connection: LinkConnection, tick_s: float) -> str:
        """Take messages until the other side is silent."""
        silence_s = SILENT_TICKS * tick_s
        with trio.CancelScope() as limit:  # one for all messages: its deadline is moved
            while True:
                limit.deadline = trio.current_time() + silence_s
                message = await connection.receive()
                self._take(message)
        return f"nothing was heard for {silence_s:g} s"

    def _take(self, message: str | bytes) -> None:
        self._received_bytes += len(message)
        self._wire.receive(message, self._deliver)
        self._calls.note_room()
        self._note_received()
        if self._wire.is_acknowledged:
            self._note_change()

    def _deliver(self, number: int, frame: LinkFrame) -> None:
        if self._record.has_frames:
            self._record.note_frame(LinkFrameTaken, number, frame)
        self._handlers[type(frame)](number, frame)

    async def _write(self, connection: LinkConnection, scope: trio.CancelScope) -> None:
        """Send what is due, and a keepalive at least every tick."""
        self._spoke_s = trio.current_time()
        self._is_due = False
        self._forget_tick = self._after(self._pace.tick_s, self._tick)
        try:
            while True:
                message = self._wire.next_message()
                if message is None:
                    if not self._is_due:
                        self._news = trio.Event()
                        await self._news.wait()
                        continue
                    message = self._wire.acknowledgement()
                self._is_due = False
                self._sent_bytes += len(message)
                self._spoke_s = trio.current_time()
                await connection.send(message)
        except ConnectionEnded:
            scope.cancel("the connection has ended")
        finally:
            self._forget_tick()
            if self._forget_owed is not None:
                self._forget_owed()
                self._forget_owed = None

    def _note_received(self) -> None:
        """Wake the writer if it has something to send; what came is acknowledged with the next frame, or after a while alone."""
        wire = self._wire
        if wire.has_more or wire.must_acknowledge:
            self._news.set()
        elif self._forget_owed is None and wire.owed:
            self._forget_owed = self._after(ACKNOWLEDGE_S, self._acknowledge)

    def _acknowledge(self) -> None:
        self._forget_owed = None
        if self._wire.owed:
            self._is_due = True
            self._news.set()

    def _tick(self) -> None:
        """Send something if nothing was sent for a tick, and look again when the next one is due."""
        left_s = self._spoke_s + self._pace.tick_s - trio.current_time()
        if left_s <= 0:
            self._is_due = True
            self._news.set()
            left_s = self._pace.tick_s
        self._forget_tick = self._after(left_s, self._tick)

    # --- states --------------------------------------------------------------------------------------------------------

    def _step(self, edge: LinkEdge, why: str = "") -> None:
        before = self.state
        self.state = next_link_state(before, edge)
        if self.state is not before:
            self._recorder.emit(LinkChanged(node=self.node, link=self.id, state=self.state.value, why=why[:200]))
        self._note_change()

    def _note_change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _break(self, why: str) -> None:
        self._step(LinkEdge.BREAK, why)
        self._forget_loss = self._after(self._pace.resume_s, lambda: self.lose(why))

    def lose(self, why: str) -> None:
        """End the link permanently, and notify everything that waits for the other node. No effect if it is lost already."""
        if self.is_lost:
            return
        self._forget_loss()
        unacknowledged = self._wire.unacknowledged()
        self._step(LinkEdge.LOSE, why)
        if self._connection is not None:
            self._connection.cancel(why)
        self._served.lose()
        self._calls.lose(unacknowledged)
        self._on_lost()
