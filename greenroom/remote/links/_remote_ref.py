"""References to actors of another node.

Rule: `accepted` means that the link keeps the message until the mailbox over there has a place for it. Must not know: sockets,
connections.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Generic, TypeVar, final

from greenroom.actors import CURRENT, AbortStatus, Down
from greenroom.actors._ref import AcceptedRequest
from greenroom.core import AskTimedOut, UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.remote.links._remote_calls import RemoteCalls, RemoteSubscription, RemoteTarget
from greenroom.remote.wire import AbortFrame, AskFrame, KillFrame, LinkFrame, StopFrame, TellFrame
from greenroom.waiting import ReplySlot

M = TypeVar("M", contravariant=True)
R = TypeVar("R")
REMOTE_ASK_S: Final = 30.0
"""Default timeout of an ask of an actor of another node, in seconds."""


def _cause() -> int:
    """Return the number of the event that leads to what is sent; 0 outside of actors."""
    here = CURRENT.get()
    return 0 if here is None else here.seq


@final
class RemoteRef(Generic[M]):
    """A reference to an actor of another node. It belongs to that start of the node: when the link is lost, it is closed permanently.

    `get_state`, `statistics`, `suspend`, `resume`, `drain`, `withdraw`, `notify`, `pinned` and the states of a `Ref` are not offered: they
    need an answer in the same step.
    """

    __slots__ = ("_calls", "_target")

    def __init__(self, calls: RemoteCalls, target: RemoteTarget) -> None:
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
        return self._calls.node

    @property
    def path(self) -> str:
        """The actor's path over there."""
        return self._target.path

    def number_on(self, calls: RemoteCalls) -> int | None:
        """Return the actor's number on a link; None if it is reached over another one."""
        return self._target.number if calls is self._calls else None

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
        if calls.is_lost:
            return Delivery.CLOSED
        value = calls.write(message)
        if target.places <= 0:
            return Delivery.FULL
        frame = TellFrame(to=target.number, lane=lane.value, value=value, size=size_bytes, parent=_cause())
        sent = calls.put(frame)
        if sent is None:
            return Delivery.FULL
        target.places -= 1
        return Delivery.ACCEPTED

    async def wait_room(self) -> None:
        """Wait until the mailbox over there and the link have a place for a message; return at once if the link is lost."""
        await self._calls.wait_room(self._target)

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

        Wait cycles across links are not detected; the deadlines of the asks end them.

        Args:
            request: The message; its type determines the type of the answer.
            timeout_s: Timeout in seconds, counted on both sides; it must be finite.
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
            value=calls.write(request),
            size=size_bytes,
            cascade=cascade,
            parent=_cause(),
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
        """Abort the actor's current turn, and return the outcome. If cancelled, the order is carried out all the same.

        Raises:
            RemoteError: This node may not abort over there.
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
        if not self._calls.is_lost:
            self._calls.put(frame)
