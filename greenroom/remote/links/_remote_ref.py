"""References to actors of another node, and what they wait for.

Rule 1: `accepted` means that the link keeps the message until the mailbox over there has a place for it. Rule 2: an ask and a watch
are settled once: by the other node, by the caller, or by the loss of the link. Must not know: sockets, connections.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, final

import attrs
import trio

from greenroom.actors import AbortStatus, Down, State
from greenroom.actors._events import WatchFailed
from greenroom.actors._lifecycle import describe
from greenroom.actors._ref import AcceptedRequest
from greenroom.core import AskTimedOut, Cause, Event, PeerError, Undelivered, UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.remote.links._link_states import RemoteMessageDied
from greenroom.remote.links._served_actors import MAX_OPEN_CALLS
from greenroom.remote.wire._codec import Codec, Unreadable
from greenroom.remote.wire._link_frames import (
    AbortedFrame,
    AbortFrame,
    AnswerFrame,
    AskFrame,
    CancelFrame,
    ChannelName,
    CreditFrame,
    DownFrame,
    FindFrame,
    FoundFrame,
    KillFrame,
    LinkFrame,
    RefusedFrame,
    StopFrame,
    TellFrame,
    UnwatchFrame,
    WatchFrame,
)
from greenroom.waiting import ReplySlot

M = TypeVar("M", contravariant=True)
R = TypeVar("R")
REMOTE_ASK_S: Final = 30.0
"""Default timeout of an ask of an actor of another node, in seconds."""
LINK_LOST: Final = "link_lost"


@final
class LinkLost(PeerError):
    """The link to another node is lost.

    Attributes:
        node: Name of the other node.
        outcome: `not_sent` if the request was given to no connection; `unknown` if it may have been run.
    """

    def __init__(self, node: str, outcome: Literal["not_sent", "unknown"]) -> None:
        may = "the request was not sent" if outcome == "not_sent" else "the request may have been run"
        super().__init__(f"the link to {node!r} is lost; {may}")
        self.node = node
        self.outcome = outcome


@final
class RemoteError(PeerError):
    """An actor of another node failed to answer.

    Attributes:
        node: Name of the other node.
        kind: Name of the class of the error over there, such as `TurnFailed`.
        why: Its text.
    """

    def __init__(self, node: str, kind: str, why: str) -> None:
        super().__init__(f"{kind} on node {node!r}: {why}")
        self.node = node
        self.kind = kind
        self.why = why


class Wired(Protocol):
    """What references need of their link."""

    node: str
    """Name of the other node."""

    @property
    def is_lost(self) -> bool:
        """True if it is over."""

    def put(self, frame: LinkFrame) -> int | None:
        """Send a frame; return its number, or None if it is refusable and the window is full."""

    def was_sent(self, channel: ChannelName, number: int) -> bool:
        """Return True if a connection was given the frame with this number."""

    def call_after(self, delay_s: float, function: Callable[[], object]) -> Callable[[], None]:
        """Call a function after so many seconds; return what cancels that."""

    def note(self, event: Event) -> None:
        """Record an event."""


@final
@attrs.define(eq=False)
class _Target:
    """An actor of the other node, however many references there are."""

    number: int
    path: str
    places: int
    """Messages that it has room for."""
    room: trio.Event | None = None


@final
@attrs.define(eq=False)
class _Call:
    """Something that the other node has to answer."""

    slot: ReplySlot
    channel: ChannelName
    number: int
    """Number of its frame on that channel."""


@final
class RemoteCalls:
    """What one link's references wait for.

    Args:
        link: The link.
        codec: Writes messages, and reads answers.
    """

    def __init__(self, link: Wired, codec: Codec) -> None:
        self.link = link
        self.codec = codec
        self._last = 0
        self._calls: dict[int, _Call] = {}
        self._watches: dict[int, RemoteSubscription] = {}
        self._targets: dict[int, _Target] = {}
        self.handlers: Final[Mapping[type[LinkFrame], Callable[[int, Any], None]]] = {
            AnswerFrame: self._answered,
            DownFrame: self._down,
            AbortedFrame: self._aborted,
            FoundFrame: self._found,
            CreditFrame: self._credit,
            RefusedFrame: self._refused,
        }
        """What each kind of frame does, called with its number."""

    def new_number(self) -> int:
        """Return a number for a call or a watch.

        Raises:
            UsageError: 4,096 are open.
        """
        if len(self._calls) + len(self._watches) >= MAX_OPEN_CALLS:
            raise UsageError(f"too many open calls on the link to {self.link.node!r}: {MAX_OPEN_CALLS:,}")
        self._last += 1
        return self._last

    async def call(self, number: int, frame: LinkFrame, *, timeout_s: float, on_timeout: Exception) -> Any:
        """Send a frame, and wait for its answer.

        Args:
            number: The number of the call, which is in the frame.
            frame: The frame.
            timeout_s: Timeout in seconds.
            on_timeout: Raised when it has passed.

        Raises:
            LinkLost: The link is lost.
            Undelivered: The window is full.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self.link.is_lost:
            raise LinkLost(self.link.node, "not_sent")
        sent = self.link.put(frame)
        if sent is None:
            raise Undelivered(self.link.node, Delivery.FULL.value)
        slot = ReplySlot()
        self._calls[number] = _Call(slot, frame.channel, sent)
        forget = self.link.call_after(timeout_s, functools.partial(slot.fail, on_timeout))
        try:
            return await slot.wait()
        finally:
            forget()
            slot.close()
            is_open = self._calls.pop(number, None) is not None
            if is_open and isinstance(frame, AskFrame) and not self.link.is_lost:
                self.link.put(CancelFrame(ask=number))

    async def find(self, path: str, *, timeout_s: float) -> RemoteRef[Any] | None:
        """Return a published actor; None if there is none."""
        number = self.new_number()
        late = PeerError(f"node {self.link.node!r} did not answer within {timeout_s:g} s")
        found: FoundFrame = await self.call(
            number, FindFrame(find=number, path=path), timeout_s=timeout_s, on_timeout=late
        )
        return None if found.to == 0 else RemoteRef(self, self._targets[found.to])

    def watch(self, target: _Target, callback: Callable[[Down], object]) -> RemoteSubscription:
        """Call a function once when an actor has ended, or the link is lost."""
        number = self.new_number()
        subscription = RemoteSubscription(self, number, target.path, callback)
        if self.link.is_lost:
            subscription.settle(self._lost_down(target.path))
        else:
            self._watches[number] = subscription
            self.link.put(WatchFrame(watch=number, to=target.number))
        return subscription

    def unwatch(self, number: int) -> None:
        """Take a watch back."""
        if self._watches.pop(number, None) is not None and not self.link.is_lost:
            self.link.put(UnwatchFrame(watch=number))

    # --- answers ----------------------------------------------------------------------------------------------------

    def _settle(self, number: int, value: Any, error: Exception | None = None) -> None:
        call = self._calls.pop(number, None)
        if call is not None:
            _ = call.slot.answer(value) if error is None else call.slot.fail(error)

    def _answered(self, _: int, frame: AnswerFrame) -> None:
        if frame.error:
            self._settle(frame.ask, None, RemoteError(self.link.node, frame.error[:200], frame.why))
            return
        try:
            self._settle(frame.ask, self.codec.read(frame.value))
        except Unreadable as error:
            self._settle(frame.ask, None, RemoteError(self.link.node, "Unreadable", str(error)))

    def _aborted(self, _: int, frame: AbortedFrame) -> None:
        known = {status.value: status for status in AbortStatus}
        self._settle(frame.abort, known.get(frame.status, AbortStatus.IDLE))

    def _found(self, _: int, frame: FoundFrame) -> None:
        if frame.to:
            target = self._targets.setdefault(frame.to, _Target(frame.to, frame.path, 0))
            self._give(target, frame.places)
        self._settle(frame.find, frame)

    def _down(self, _: int, frame: DownFrame) -> None:
        subscription = self._watches.pop(frame.watch, None)
        if subscription is None:
            return
        states = {state.value: state for state in State}
        subscription.settle(
            Down(
                actor=f"{self.link.node}:{subscription.path}",
                incarnation=frame.incarnation,
                state=states.get(frame.state, State.FAILED),
                cause=Cause(frame.who, frame.why) if frame.who or frame.why else None,
                error=RemoteError(self.link.node, *_split(frame.error)) if frame.error else None,
                seq=0,
                path=subscription.path,
            )
        )

    def _credit(self, _: int, frame: CreditFrame) -> None:
        target = self._targets.get(frame.to)
        if target is not None:
            self._give(target, frame.places)

    @staticmethod
    def _give(target: _Target, places: int) -> None:
        target.places += places
        if target.room is not None and places:
            target.room.set()
            target.room = None

    def _refused(self, _: int, frame: RefusedFrame) -> None:
        target = self._targets.get(frame.to)
        reason = frame.why if frame.why in ("no_actor", "ended", "unreadable") else "no_actor"
        path = "" if target is None else target.path
        self.link.note(RemoteMessageDied(node=self.link.node, path=path, reason=reason))

    def lose(self, unacknowledged: list[tuple[int, LinkFrame]]) -> None:
        """Settle everything that is open, because the link is lost.

        Args:
            unacknowledged: The data frames that the other node has not acknowledged, with their numbers.
        """
        for _, frame in unacknowledged:
            if isinstance(frame, TellFrame):
                path = self._targets[frame.to].path
                self.link.note(RemoteMessageDied(node=self.link.node, path=path, reason=LINK_LOST))
        calls, self._calls = self._calls, {}
        for call in calls.values():
            was_sent = self.link.was_sent(call.channel, call.number)
            call.slot.fail(LinkLost(self.link.node, "unknown" if was_sent else "not_sent"))
        watches, self._watches = self._watches, {}
        for subscription in watches.values():
            subscription.settle(self._lost_down(subscription.path))
        for target in self._targets.values():
            self._give(target, 1)  # those who wait for room see that it is lost

    def _lost_down(self, path: str) -> Down:
        node = self.link.node
        return Down(
            actor=f"{node}:{path}",
            incarnation=0,
            state=State.FAILED,
            cause=Cause("runtime", LINK_LOST),
            error=LinkLost(node, "unknown"),
            seq=0,
            path=path,
        )


def _split(error: str) -> tuple[str, str]:
    kind, _, why = error.partition(": ")
    return kind, why


@final
class RemoteSubscription:
    """A subscription to the end of an actor of another node, returned by `watch`."""

    def __init__(self, calls: RemoteCalls, number: int, path: str, callback: Callable[[Down], object]) -> None:
        self.path = path
        self._calls = calls
        self._number = number
        self._callback: Callable[[Down], object] | None = callback

    @property
    def is_open(self) -> bool:
        """True until it is notified or cancelled."""
        return self._callback is not None

    def cancel(self) -> None:
        """Unsubscribe. No effect if it was notified."""
        if self._callback is not None:
            self._callback = None
            self._calls.unwatch(self._number)

    def settle(self, down: Down) -> None:
        """Notify the subscriber, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            try:
                callback(down)
            except Exception as error:  # noqa: BLE001 - the boundary: a subscriber must not harm the link, nor other subscribers
                self._calls.link.note(WatchFailed(error=describe(error)))


@final
class RemoteRef(Generic[M]):
    """A reference to an actor of another node. It belongs to that start of the node: when the link is lost it is closed, for good.

    `get_state`, `statistics`, `suspend`, `resume`, `withdraw` and `notify` of a `Ref` are not offered: they need an answer in the same step.
    """

    __slots__ = ("_calls", "_target")

    def __init__(self, calls: RemoteCalls, target: _Target) -> None:
        self._calls = calls
        self._target = target

    def __repr__(self) -> str:
        return f"<RemoteRef {self.path!r} on {self.node!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteRef) and other._target is self._target

    def __hash__(self) -> int:
        return hash(id(self._target))

    @property
    def node(self) -> str:
        """Name of the other node."""
        return self._calls.link.node

    @property
    def path(self) -> str:
        """The actor's path over there."""
        return self._target.path

    def tell(self, message: M, lane: Lane = Lane.NEXT, *, size_bytes: int = 0) -> Delivery:
        """Send a message and return whether it was accepted; never waits.

        `accepted`: the link keeps it until the mailbox over there has a place for it; if it cannot be delivered, it is a dead letter here,
        `link.dead` in the journal. `full`: the mailbox or the link has no place; `wait_room` waits for one. `closed`: the link is lost.

        Args:
            message: A plain JSON value, or an object of a class that is registered with the codec.
            lane: The lane of the message.
            size_bytes: Its size, counted against the byte capacity of the mailbox.

        Raises:
            UsageError: It cannot be sent, or is too large.
        """
        calls, target = self._calls, self._target
        if calls.link.is_lost:
            return Delivery.CLOSED
        value = calls.codec.write(message)
        if target.places <= 0:
            return Delivery.FULL
        sent = calls.link.put(TellFrame(to=target.number, lane=lane.value, value=value, size=size_bytes))
        if sent is None:
            return Delivery.FULL
        target.places -= 1
        return Delivery.ACCEPTED

    async def wait_room(self) -> None:
        """Wait until the mailbox over there has a place for a message; return at once if the link is lost."""
        while self._target.places <= 0 and not self._calls.link.is_lost:
            if self._target.room is None:
                self._target.room = trio.Event()
            await self._target.room.wait()
        await trio.lowlevel.checkpoint()

    async def ask(
        self,
        request: AcceptedRequest[M, R],
        *,
        timeout_s: float = REMOTE_ASK_S,
        lane: Lane = Lane.NEXT,
        size_bytes: int = 0,
        cascade: bool = False,
    ) -> R:
        """Send a request and wait for its answer. If the caller is cancelled, the request is withdrawn over there.

        Circles of asks across links are not seen; their deadlines end them.

        Args:
            request: The message; its type determines the type of the answer.
            timeout_s: Seconds, counted on both sides; there has to be a limit.
            lane: The lane of the message.
            size_bytes: Its size, counted against the byte capacity of the mailbox.
            cascade: True if cancelling the ask also aborts the turn that handles it.

        Raises:
            RemoteError: What the actor over there raised, or why its node refused.
            AskTimedOut: No answer came in time.
            LinkLost: The link is lost; `outcome` says whether the request may have been run.
            Undelivered: The window of the link is full.
            UsageError: It cannot be sent, or is too large.
        """
        if not 0 <= timeout_s < math.inf:
            raise UsageError(f"timeout_s of a remote ask must be a finite number of seconds, got {timeout_s!r}")
        calls, target = self._calls, self._target
        number = calls.new_number()
        frame = AskFrame(
            ask=number,
            to=target.number,
            lane=lane.value,
            left_s=timeout_s,
            value=calls.codec.write(request),
            size=size_bytes,
            cascade=cascade,
        )
        late = AskTimedOut(f"{self.node}:{self.path}", timeout_s, path=self.path)
        answer: R = await calls.call(number, frame, timeout_s=timeout_s, on_timeout=late)
        return answer

    def watch(self, callback: Callable[[Down], object]) -> RemoteSubscription:
        """Call `callback` once when the actor has ended, or the link is lost: then the state is `failed`, the cause `link_lost`."""
        return self._calls.watch(self._target, callback)

    async def wait_ended(self) -> Down:
        """Wait until the actor has ended, or the link is lost."""
        slot = ReplySlot()
        subscription = self.watch(slot.answer)
        try:
            down: Down = await slot.wait()
            return down
        finally:
            subscription.cancel()

    async def abort_turn(self, *, why: str = "aborted", timeout_s: float = REMOTE_ASK_S) -> AbortStatus:
        """Abort the actor's present turn, and return what came of it. If cancelled, the order is carried out all the same.

        Raises:
            LinkLost: The link is lost.
            AskTimedOut: No answer came in time.
        """
        calls, target = self._calls, self._target
        number = calls.new_number()
        late = AskTimedOut(f"{self.node}:{self.path}", timeout_s, path=self.path)
        frame = AbortFrame(abort=number, to=target.number, why=why)
        status: AbortStatus = await calls.call(number, frame, timeout_s=timeout_s, on_timeout=late)
        return status

    def stop(self, *, grace_s: float | None = None, why: str = "stopped") -> None:
        """Stop the actor after its present turn. The order survives a broken connection; after a loss of the link it does nothing."""
        self._order(StopFrame(to=self._target.number, grace_s=grace_s, why=why))

    def kill(self, why: str = "killed") -> None:
        """Kill the actor; as for `stop`."""
        self._order(KillFrame(to=self._target.number, why=why))

    def _order(self, frame: LinkFrame) -> None:
        if not self._calls.link.is_lost:
            self._calls.link.put(frame)
