"""Requests of another node for actors of this one: messages, asks, watches and orders, for published actors only.

Rule 1: only what was published is reached, and only under a number that this link gave; anything else is `no_actor`, as what does not exist.
Rule 2: a message that was accepted waits here until the mailbox has a place for it, and its sender has a limited number of places.
Rule 3: an order that overtakes what it speaks of is remembered until that has come. This module must not know of connections.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import AbortResult, Down, Ref, Subscription
from greenroom.core import Closed, Event, UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.remote.links._link_permits import LinkPermit, LinkVerb
from greenroom.remote.links._link_record import LinkRecord
from greenroom.remote.links._link_states import LinkForbade
from greenroom.remote.links._published_actors import PublishedActors
from greenroom.remote.wire import (
    AbortedFrame,
    AbortFrame,
    AnswerFrame,
    AskFrame,
    CancelFrame,
    CreditFrame,
    DownFrame,
    FindFrame,
    FoundFrame,
    KillFrame,
    LinkFrame,
    MessageCodec,
    ReferenceCodec,
    RefusedFrame,
    StopFrame,
    TellFrame,
    UnreadableValue,
    UnwatchFrame,
    WatchFrame,
)
from greenroom.waiting import ReplySlot

PLACES: Final = 256
"""Places that an actor has for the messages of one link."""
_RETURNED_AT: Final = 64
"""Places are given back in groups of this size."""
MAX_OPEN_CALLS: Final = 4_096
"""Asks, watches, searches and aborts of one link that may be open; as many of each from the other side."""
MAX_FOUND: Final = 65_536
"""Actors of one node to which a link may carry references; each stays known while the link lasts."""
_MAX_WHY: Final = 2_000
_TOO_LATE: Final = "no time was left"
FORBIDDEN: Final = "forbidden"
_LANES: Final[Mapping[str, Lane]] = {lane.value: lane for lane in Lane}


def _sendable(text: str) -> str:
    """Return a text as a frame can hold it: truncated, and without lone surrogates, as those of a file's name."""
    return text[:_MAX_WHY].encode(errors="replace").decode()


@final
@attrs.define(eq=False)
class _Served:
    """An actor that the other node has found."""

    ref: Ref[Any]
    waiting: deque[tuple[int, Lane, int, int, Any]] = attrs.field(factory=deque)
    """Messages for which the mailbox had no place: number of the frame, lane, size, event that led to it, message."""
    returned: int = 0
    """Places that are free again, and that the other node has not been told of."""


@final
@attrs.define(eq=False)
class _ServedAsk:
    """An ask of the other node."""

    target: _Served
    slot: ReplySlot
    envelope: Any
    is_cascading: bool
    forget: Callable[[], None]


@final
class ServedActors:
    """The actors that one link may reach here.

    Args:
        node: Name of the other node.
        send: Sends a frame to it.
        codec: Reads messages, and writes answers.
        published: The actors that may be found.
        nursery: For messages that wait for a place.
        after: Calls a function after a delay in seconds, and returns what cancels it.
        note: Records an event.
        record: Records how each message is settled.
        permit: What the other node may do.
    """

    def __init__(
        self,
        node: str,
        send: Callable[[LinkFrame], object],
        codec: MessageCodec,
        published: PublishedActors,
        nursery: trio.Nursery,
        after: Callable[[float, Callable[[], object]], Callable[[], None]],
        note: Callable[[Event], object],
        record: LinkRecord,
        permit: LinkPermit,
    ) -> None:
        self._node = node
        self._permit = permit
        self._forbade: set[LinkVerb] = set()
        self._send = send
        self._codec = codec
        self.references: ReferenceCodec | None = None
        """Writes and reads references to actors; set by the link."""
        self._published = published
        self._nursery = nursery
        self._after = after
        self._note = note
        self._record = record
        self._actors: dict[int, _Served] = {}
        self._numbers: dict[str, int] = {}  # by the actor's id
        self._last = 0
        self._asks: dict[int, _ServedAsk] = {}
        self._watches: dict[int, Subscription] = {}
        self._overtook: OrderedDict[tuple[str, int], None] = OrderedDict()
        self.handlers: Final[Mapping[type[LinkFrame], Callable[[int, Any], None]]] = {
            FindFrame: self._find,
            TellFrame: self._tell,
            AskFrame: self._ask,
            CancelFrame: self._cancel,
            WatchFrame: self._watch,
            UnwatchFrame: self._unwatch,
            AbortFrame: self._abort,
            StopFrame: self._stop,
            KillFrame: self._kill,
        }
        """The function for each kind of frame, called with its number."""

    def _find(self, _: int, frame: FindFrame) -> None:
        ref = self._published.find(frame.path) if self._permit.may_find(frame.path) else None
        if ref is None or (self._last >= MAX_FOUND and ref.id not in self._numbers):
            self._send(FoundFrame(find=frame.find, to=0))
            return
        number, places = self._numbered(ref)
        self._send(FoundFrame(find=frame.find, to=number, path=ref.path, places=places))

    def _numbered(self, ref: Ref[Any]) -> tuple[int, int]:
        """Return the number of an actor for the other node, and the places that this grants: none if it has a number already."""
        number = self._numbers.get(ref.id)
        if number is not None:
            return number, 0
        if self._last >= MAX_FOUND:
            raise UsageError(
                f"the link to {self._node!r} has had references to {MAX_FOUND:,} actors, and takes no more"
            )
        number = self._last = self._last + 1
        self._numbers[ref.id] = number
        self._actors[number] = _Served(ref)
        return number, PLACES

    def share(self, ref: Ref[Any]) -> int:
        """Publish an actor to the other node, as long as the link lasts; return its number.

        Raises:
            UsageError: The link has had references to 65,536 actors.
        """
        number, places = self._numbered(ref)
        if places:
            self._send(FoundFrame(find=0, to=number, path=ref.path, places=places))
        return number

    def ref(self, number: int) -> Ref[Any] | None:
        """Return the actor of a number; None if there is none, or it was withdrawn."""
        target = self._actors.get(number)
        return None if target is None else target.ref

    def withdraw(self, ref: Ref[Any]) -> None:
        """Forget an actor: to the other node it is one that does not exist. What it has sent already is handled."""
        number = self._numbers.pop(ref.id, None)
        if number is not None:
            del self._actors[number]

    def _permitted(self, verb: LinkVerb, to: int) -> bool:
        """Return True if the other node may do something; the first time that it may not is recorded."""
        if verb in self._permit.may:
            return True
        self._note_forbidden(verb, to)
        return False

    def _actor(self, verb: LinkVerb, to: int) -> _Served | None:
        """Return the actor of a number; None if there is none. A number that this link never gave is recorded."""
        if not 0 < to <= self._last:
            self._note_forbidden(verb, to)
        return self._actors.get(to)

    def _note_forbidden(self, verb: LinkVerb, to: int) -> None:
        if verb not in self._forbade:
            self._forbade.add(verb)
            target = self._actors.get(to)
            self._note(LinkForbade(node=self._node, verb=verb.value, path="" if target is None else target.ref.path))

    # --- messages ---------------------------------------------------------------------------------------------------

    def _tell(self, number: int, frame: TellFrame) -> None:
        target = self._actor(LinkVerb.TELL, frame.to)
        lane = _LANES.get(frame.lane)
        if target is None or lane is None:
            self._refuse(None, number, frame.to, "no_actor")
            return
        if not self._permitted(LinkVerb.TELL, frame.to):
            self._refuse(target, number, frame.to, FORBIDDEN)
            return
        try:
            message = self._codec.read(frame.value, self.references)
        except UnreadableValue:
            self._refuse(target, number, frame.to, "unreadable")
            return
        mailbox = target.ref.cell.mailbox
        parent = self._record.caused(frame.parent)
        if target.waiting and lane is not Lane.NOW:
            if (
                len(target.waiting) >= PLACES
            ):  # more than it has places: only a peer that does not count them sends that
                self._refuse(None, number, frame.to, "no_actor")
                return
            target.waiting.append((number, lane, frame.size, parent, message))
            return
        delivery = self._put(mailbox.put_nowait, message, lane, frame.size, parent)
        if delivery is Delivery.FULL:
            target.waiting.append((number, lane, frame.size, parent, message))
            self._nursery.start_soon(self._forward, frame.to, target)
        elif delivery is Delivery.CLOSED:
            self._refuse(target, number, frame.to, "ended")
        else:
            self._placed(target, number, frame.to)

    @staticmethod
    def _put(put: Callable[..., Delivery], message: Any, lane: Lane, size: int, parent: int) -> Delivery:
        try:
            return put(message, lane, size, parent)
        except UsageError:  # larger than the whole mailbox: it will never fit
            return Delivery.CLOSED

    async def _forward(self, to: int, target: _Served) -> None:
        """Put messages as the mailbox takes them, until none is left. If cancelled, the others are dead letters."""
        try:
            while target.waiting:
                number, lane, size, parent, message = target.waiting[0]
                try:
                    await target.ref.cell.mailbox.put(message, lane, size_bytes=size, parent=parent)
                except (Closed, UsageError):
                    target.waiting.popleft()
                    self._refuse(target, number, to, "ended")
                else:
                    target.waiting.popleft()
                    self._placed(target, number, to)
        finally:
            for number, *_ in target.waiting:
                self._note(self._record.dead(target.ref.path, "link_lost", 0))
                self._record.note_settled("tell", number, "lost")
            target.waiting.clear()

    def _placed(self, target: _Served, number: int, to: int) -> None:
        self._record.note_settled("tell", number, "placed")
        self._return_place(target, to)

    def _refuse(self, target: _Served | None, number: int, to: int, why: str) -> None:
        self._record.note_settled("tell", number, "refused")
        self._send(RefusedFrame(tell=number, to=to, why=why))
        if target is not None:
            self._return_place(target, to)

    def _return_place(self, target: _Served, to: int) -> None:
        target.returned += 1
        if target.returned >= _RETURNED_AT:
            self._send(CreditFrame(to=to, places=target.returned))
            target.returned = 0

    # --- asks -------------------------------------------------------------------------------------------------------

    def _ask(self, _: int, frame: AskFrame) -> None:
        if self._was_overtaken("ask", frame.ask):
            return
        target = self._actor(LinkVerb.ASK, frame.to)
        lane = _LANES.get(frame.lane)
        if target is None or lane is None or frame.ask in self._asks:
            self._send(AnswerFrame(ask=frame.ask, error="ActorEnded", why="no such actor"))
            return
        if not self._permitted(LinkVerb.ASK, frame.to):
            self._send(AnswerFrame(ask=frame.ask, error="Forbidden", why="this node may not ask"))
            return
        if not frame.left_s:
            self._send(AnswerFrame(ask=frame.ask, error="AskTimedOut", why=_TOO_LATE))
            return
        try:
            request = self._codec.read(frame.value, self.references)
        except UnreadableValue as error:
            self._send(AnswerFrame(ask=frame.ask, error="UnreadableValue", why=str(error)))
            return
        slot = ReplySlot()
        cell = target.ref.cell
        put = functools.partial(cell.mailbox.put_nowait, reply=slot)
        is_full = bool(target.waiting) or len(self._asks) >= MAX_OPEN_CALLS
        parent = self._record.caused(frame.parent)
        delivery = Delivery.FULL if is_full else self._put(put, request, lane, frame.size, parent)
        if delivery is not Delivery.ACCEPTED:
            kind = "Undelivered" if delivery is Delivery.FULL else "ActorEnded"
            self._send(AnswerFrame(ask=frame.ask, error=kind, why=delivery.value))
            return
        expire = self._after(frame.left_s, functools.partial(self._expire, frame.ask))
        served = _ServedAsk(target, slot, cell.mailbox.newest(lane), frame.cascade, expire)
        self._asks[frame.ask] = served
        slot.callback = functools.partial(self._answer, frame.ask)

    def _expire(self, number: int) -> None:
        """Withdraw an ask whose time is up, so that it is not run for nobody."""
        self._take_back(self._asks.pop(number))
        self._send(AnswerFrame(ask=number, error="AskTimedOut", why=_TOO_LATE))

    def _answer(self, number: int) -> None:
        served = self._asks.pop(number)
        served.forget()
        value, failure = served.slot.value, served.slot.error
        if failure is not None:
            self._send(AnswerFrame(ask=number, error=type(failure).__name__, why=_sendable(str(failure))))
            return
        try:
            self._send(AnswerFrame(ask=number, value=self._codec.write(value, self.references)))
        except UsageError as unsendable:
            self._send(AnswerFrame(ask=number, error="UsageError", why=_sendable(str(unsendable))))

    def _cancel(self, _: int, frame: CancelFrame) -> None:
        served = self._asks.pop(frame.ask, None)
        if served is None:
            self._remember("ask", frame.ask)
        else:
            self._take_back(served)

    def _take_back(self, served: _ServedAsk) -> None:
        served.forget()
        served.slot.close()
        cell = served.target.ref.cell
        if cell.turn.envelope is not served.envelope:
            cell.mailbox.withdraw(served.envelope, is_known=True)
        elif served.is_cascading:
            served.target.ref.abort_turn(cell.turn.token, why="the asker was cancelled")

    # --- ends -------------------------------------------------------------------------------------------------------

    def _watch(self, _: int, frame: WatchFrame) -> None:
        if self._was_overtaken("watch", frame.watch) or frame.watch in self._watches:
            return
        target = self._actor(LinkVerb.WATCH, frame.to) if len(self._watches) < MAX_OPEN_CALLS else None
        if target is None:
            self._send(DownFrame(watch=frame.watch, state="failed", incarnation=0, who="runtime", why="no such actor"))
            return
        if not self._permitted(LinkVerb.WATCH, frame.to):
            self._send(DownFrame(watch=frame.watch, state="failed", incarnation=0, who="runtime", why=FORBIDDEN))
            return
        subscription = target.ref.watch(functools.partial(self._down, frame.watch))
        if subscription.is_open:
            self._watches[frame.watch] = subscription

    def _down(self, number: int, down: Down) -> None:
        self._watches.pop(number, None)
        self._send(
            DownFrame(
                watch=number,
                state=down.state.value,
                incarnation=down.incarnation,
                who=_sendable(down.cause.who) if down.cause is not None else "",
                why=_sendable(down.cause.why) if down.cause is not None else "",
                error=_sendable(f"{type(down.error).__name__}: {down.error}") if down.error is not None else "",
                parent=down.seq,
            )
        )

    def _unwatch(self, _: int, frame: UnwatchFrame) -> None:
        subscription = self._watches.pop(frame.watch, None)
        if subscription is None:
            self._remember("watch", frame.watch)
        else:
            subscription.cancel()

    def _abort(self, _: int, frame: AbortFrame) -> None:
        target = self._actor(LinkVerb.ABORT, frame.to)
        if not self._permitted(LinkVerb.ABORT, frame.to):
            self._send(AbortedFrame(abort=frame.abort, status=FORBIDDEN))
            return
        result: AbortResult | None = None if target is None else target.ref.abort_turn(why=self._why(frame.why))
        self._send(AbortedFrame(abort=frame.abort, status="idle" if result is None else result.status.value))

    def _stop(self, _: int, frame: StopFrame) -> None:
        target = self._ordered(frame.to)
        if target is not None:
            target.ref.stop(grace_s=frame.grace_s, why=self._why(frame.why))

    def _kill(self, _: int, frame: KillFrame) -> None:
        target = self._ordered(frame.to)
        if target is not None:
            target.ref.kill(self._why(frame.why))

    def _ordered(self, to: int) -> _Served | None:
        """Return the actor that is to end; None if there is none, or the other node may not end it, which it is told."""
        target = self._actor(LinkVerb.STOP, to)
        if target is None or self._permitted(LinkVerb.STOP, to):
            return target
        self._send(RefusedFrame(tell=0, to=to, why=FORBIDDEN))
        return None

    def _why(self, why: str) -> str:
        return f"{why[:1_000] or 'no reason'} (node {self._node})"

    # --- orders that came first, and the end of the link ---------------------------------------------------------------

    def _remember(self, what: str, number: int) -> None:
        self._overtook[what, number] = None
        if len(self._overtook) > MAX_OPEN_CALLS:
            self._overtook.popitem(last=False)

    def _was_overtaken(self, what: str, number: int) -> bool:
        return (what, number) in self._overtook and self._overtook.pop((what, number)) is None

    def lose(self) -> None:
        """Withdraw the asks and watches of a lost link. Messages that still wait when the link's actor ends are dead letters here."""
        for served in self._asks.values():
            self._take_back(served)
        for subscription in self._watches.values():
            subscription.cancel()
        self._asks.clear()
        self._watches.clear()
        self._overtook.clear()
