"""Open calls and watches of a link, and how each is settled.

Rule: an ask and a watch are settled once: by the other node, by the caller, or by the loss of the link. Must not know: sockets, connections.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeVar, final

import attrs
import trio

from greenroom.actors import AbortStatus, Down, State
from greenroom.actors._events import WatchFailed
from greenroom.actors._lifecycle import describe
from greenroom.core import Cause, Event, PeerError, Undelivered, UsageError
from greenroom.mailbox import Delivery
from greenroom.remote.links._link_record import CallEnd, LinkRecord
from greenroom.remote.links._served_actors import FORBIDDEN, MAX_FOUND, MAX_OPEN_CALLS
from greenroom.remote.wire import (
    BAD_NUMBER,
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
    LinkFrame,
    LinkWire,
    MessageCodec,
    ReferenceCodec,
    RefusedFrame,
    TellFrame,
    UnreadableValue,
    UnwatchFrame,
    WatchFrame,
    WireError,
)
from greenroom.waiting import ReplySlot

M = TypeVar("M", contravariant=True)
R = TypeVar("R")
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


@final
@attrs.define(eq=False)
class RemoteTarget:
    """An actor of the other node, however many references there are."""

    number: int
    path: str
    places: int
    """Messages that it has room for."""


@final
@attrs.define(eq=False)
class _OpenCall:
    """Something that the other node has to answer."""

    slot: ReplySlot
    channel: ChannelName
    number: int
    """Number of its frame on that channel."""
    answer: type[LinkFrame]
    """The kind of frame that answers it; no other one does."""


_CALL_OF: Final[Mapping[type[LinkFrame], Literal["ask", "find", "abort"]]] = {
    AskFrame: "ask",
    FindFrame: "find",
    AbortFrame: "abort",
}
_ANSWERS: Final[Mapping[type[LinkFrame], type[LinkFrame]]] = {
    AskFrame: AnswerFrame,
    FindFrame: FoundFrame,
    AbortFrame: AbortedFrame,
}


@final
class RemoteCalls:
    """The open calls and watches of one link.

    Args:
        node: Name of the other node.
        codec: Writes messages, and reads answers.
        wire: Says what a connection was given.
        put: Sends a frame; returns its number, or None if it is refusable and the window is full.
        after: Calls a function after a delay in seconds, and returns what cancels it.
        note: Records an event.
        record: Records how each is settled.
    """

    def __init__(
        self,
        node: str,
        codec: MessageCodec,
        wire: LinkWire,
        put: Callable[[LinkFrame], int | None],
        after: Callable[[float, Callable[[], object]], Callable[[], None]],
        note: Callable[[Event], object],
        record: LinkRecord,
    ) -> None:
        self.node = node
        self.codec = codec
        self.references: ReferenceCodec | None = None
        """Writes and reads references to actors; set by the link."""
        self.is_lost = False
        self.put = put
        self.note = note
        self.record = record
        self._wire = wire
        self._after = after
        self._last = 0
        self._room = trio.lowlevel.ParkingLot()
        self._calls: dict[int, _OpenCall] = {}
        self._watches: dict[int, RemoteSubscription] = {}
        self._targets: dict[int, RemoteTarget] = {}
        self.handlers: Final[Mapping[type[LinkFrame], Callable[[int, Any], None]]] = {
            AnswerFrame: self._answered,
            DownFrame: self._down,
            AbortedFrame: self._aborted,
            FoundFrame: self._found,
            CreditFrame: self._credit,
            RefusedFrame: self._refused,
        }
        """The function for each kind of frame, called with its number."""

    def new_number(self) -> int:
        """Return a number for a call or a watch.

        Raises:
            UsageError: 4,096 are open.
        """
        if len(self._calls) + len(self._watches) >= MAX_OPEN_CALLS:
            raise UsageError(f"too many open calls on the link to {self.node!r}: {MAX_OPEN_CALLS:,}")
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
        if self.is_lost:
            raise LinkLost(self.node, "not_sent")
        sent = self.put(frame)
        if sent is None:
            raise Undelivered(self.node, Delivery.FULL.value)
        slot = ReplySlot()
        self._calls[number] = _OpenCall(slot, frame.channel, sent, _ANSWERS[type(frame)])
        forget = self._after(timeout_s, functools.partial(slot.fail, on_timeout))
        try:
            return await slot.wait()
        finally:
            forget()
            slot.close()
            is_open = self._calls.pop(number, None) is not None
            self.record.note_settled(_CALL_OF[type(frame)], number, _end_of(slot))
            if is_open and isinstance(frame, AskFrame) and not self.is_lost:
                self.put(CancelFrame(ask=number))

    async def find(self, path: str, *, timeout_s: float) -> RemoteTarget | None:
        """Return a published actor; None if there is none."""
        number = self.new_number()
        late = PeerError(f"node {self.node!r} did not answer within {timeout_s:g} s")
        found: FoundFrame = await self.call(
            number, FindFrame(find=number, path=path), timeout_s=timeout_s, on_timeout=late
        )
        return None if found.to == 0 else self._targets[found.to]

    async def wait_room(self, target: RemoteTarget) -> None:
        """Wait until an actor and the window have room for a message, or the link is lost."""
        while not self.is_lost and (target.places <= 0 or self._wire.is_full):
            await self._room.park()
        await trio.lowlevel.checkpoint()

    def note_room(self) -> None:
        """Wake those who wait for room, if the window has some."""
        if self._room and not self._wire.is_full:
            self._room.unpark_all()

    def watch(self, target: RemoteTarget, callback: Callable[[Down], object]) -> RemoteSubscription:
        """Call a function once when an actor has ended, or the link is lost."""
        number = self.new_number()
        subscription = RemoteSubscription(self, number, target.path, callback)
        if self.is_lost:
            subscription.settle(self._lost_down(target.path))
        else:
            self._watches[number] = subscription
            self.put(WatchFrame(watch=number, to=target.number))
        return subscription

    def unwatch(self, number: int) -> None:
        """Withdraw a watch."""
        if self._watches.pop(number, None) is not None and not self.is_lost:
            self.put(UnwatchFrame(watch=number))

    # --- answers ----------------------------------------------------------------------------------------------------

    def _check_asked(self, number: int) -> None:
        """Refuse an answer to something that was never asked; one that is late is none."""
        if not 0 < number <= self._last:
            raise WireError(BAD_NUMBER, f"an answer to call {number}, which was never made")

    def target(self, number: int) -> RemoteTarget | None:
        """Return an actor of the other node that was found, or that it has sent; None if there is none."""
        return self._targets.get(number)

    def write(self, value: Any) -> Any:
        """Return a message as JSON can express it. Raises `UsageError`."""
        return self.codec.write(value, self.references)

    def _target(self, number: int) -> RemoteTarget:
        target = self._targets.get(number)
        if target is None:
            raise WireError(BAD_NUMBER, f"a word about actor {number}, which was never found")
        return target

    def _settle(self, kind: type[LinkFrame], number: int, value: Any, error: Exception | None = None) -> None:
        self._check_asked(number)
        call = self._calls.get(number)
        if call is not None and call.answer is kind:
            del self._calls[number]
            _ = call.slot.answer(value) if error is None else call.slot.fail(error)

    def _answered(self, _: int, frame: AnswerFrame) -> None:
        if frame.error:
            self._settle(AnswerFrame, frame.ask, None, RemoteError(self.node, frame.error[:200], frame.why))
            return
        try:
            self._settle(AnswerFrame, frame.ask, self.codec.read(frame.value, self.references))
        except UnreadableValue as error:
            self._settle(AnswerFrame, frame.ask, None, RemoteError(self.node, "UnreadableValue", str(error)))

    def _aborted(self, _: int, frame: AbortedFrame) -> None:
        if frame.status == FORBIDDEN:
            error = RemoteError(self.node, "Forbidden", "this node may not abort")
            self._settle(AbortedFrame, frame.abort, None, error)
            return
        known = {status.value: status for status in AbortStatus}
        self._settle(AbortedFrame, frame.abort, known.get(frame.status, AbortStatus.IDLE))

    def _found(self, _: int, frame: FoundFrame) -> None:
        if frame.find:  # else it is the first reference to an actor, which is in a later frame
            self._check_asked(frame.find)
        if frame.to:
            if frame.to not in self._targets and len(self._targets) >= MAX_FOUND:
                raise WireError(BAD_NUMBER, f"more than {MAX_FOUND:,} actors were found")
            target = self._targets.setdefault(frame.to, RemoteTarget(frame.to, frame.path, 0))
            target.places += frame.places
        if frame.find:
            self._settle(FoundFrame, frame.find, frame)

    def _down(self, _: int, frame: DownFrame) -> None:
        self._check_asked(frame.watch)
        subscription = self._watches.pop(frame.watch, None)
        if subscription is None:
            return
        states = {state.value: state for state in State}
        subscription.settle(
            Down(
                actor=f"{self.node}:{subscription.path}",
                incarnation=frame.incarnation,
                state=states.get(frame.state, State.FAILED),
                cause=Cause(frame.who, frame.why) if frame.who or frame.why else None,
                error=RemoteError(self.node, *_split(frame.error)) if frame.error else None,
                seq=self.record.caused(frame.parent),
                path=subscription.path,
            )
        )

    def _credit(self, _: int, frame: CreditFrame) -> None:
        self._target(frame.to).places += frame.places

    def _refused(self, _: int, frame: RefusedFrame) -> None:
        path = self._target(frame.to).path
        reason = frame.why if frame.why in ("no_actor", "ended", "unreadable", FORBIDDEN) else "no_actor"
        self.note(self.record.dead(path, reason, frame.tell))

    def lose(self, unacknowledged: list[tuple[int, LinkFrame]]) -> None:
        """Settle everything that is open, because the link is lost.

        Args:
            unacknowledged: The data frames that the other node has not acknowledged, with their numbers.
        """
        self.is_lost = True
        for number, frame in unacknowledged:
            if isinstance(frame, TellFrame):
                path = self._targets[frame.to].path
                self.note(self.record.dead(path, LINK_LOST, number))
        calls, self._calls = self._calls, {}
        for call in calls.values():
            was_sent = self._wire.channel(call.channel).was_sent(call.number)
            call.slot.fail(LinkLost(self.node, "unknown" if was_sent else "not_sent"))
        watches, self._watches = self._watches, {}
        for subscription in watches.values():
            subscription.settle(self._lost_down(subscription.path))
        self._room.unpark_all()

    def _lost_down(self, path: str) -> Down:
        node = self.node
        return Down(
            actor=f"{node}:{path}",
            incarnation=0,
            state=State.FAILED,
            cause=Cause("runtime", LINK_LOST),
            error=LinkLost(node, "unknown"),
            seq=0,
            path=path,
        )


def _end_of(slot: ReplySlot) -> CallEnd:
    if slot.is_withdrawn:
        return "withdrawn"
    if slot.error is None:
        return "answered"
    return "lost" if isinstance(slot.error, LinkLost) else "failed"


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
            self._calls.record.note_settled("watch", self._number, "withdrawn")
            self._calls.unwatch(self._number)

    def settle(self, down: Down) -> None:
        """Notify the subscriber, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            self._calls.record.note_settled("watch", self._number, "lost" if self._calls.is_lost else "answered")
            try:
                callback(down)
            except Exception as error:  # noqa: BLE001 - the boundary: a subscriber must not harm the link, nor other subscribers
                self._calls.note(WatchFailed(error=describe(error)))
