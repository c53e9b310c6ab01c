"""Subscriptions to the ends of actors, and the graph of actors that wait for each other.

Rule 1: a subscription is notified at most once, and never after it was cancelled. Rule 2: a wait is registered before its
task sleeps, and counts until that task is woken; not longer, otherwise an answered ask would look like a cycle.
Must not know: how turns are run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.actors._states import State
from greenroom.core import Cause
from greenroom.mailbox import Delivery, Envelope, Lane, Mailbox
from greenroom.waiting import ReplySlot

DOWNS_KEPT: Final = 8
"""Number of past incarnations whose `Down` is kept for late subscribers."""
FORGOTTEN: Final = Cause("runtime", "the details of this end are no longer known")

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Signal:
    """A notification of the runtime to an actor; it travels in lane `now`, outside the capacity."""


@final
@attrs.frozen(kw_only=True)
class Down(Signal):
    """The end of a watched actor; exactly one per watch."""

    actor: str
    incarnation: int
    state: State
    """The end state of its last incarnation."""
    cause: Cause | None
    error: BaseException | None
    """The error, if it failed: same class and attributes as the one raised; its traceback is a note of text."""
    seq: int
    """`seq` of the `actor.end` event."""
    path: str = ""
    """Its path in the tree, which ends with its name."""


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Subscription:
    """A subscription to the end of an actor, returned by `ref.watch`, `ctx.watch` and `ctx.turn.link`."""

    path: str
    """The path of the watched actor."""
    incarnation: int | None = None
    """The incarnation that is watched; None for the last one, whichever that is."""
    callback: Callable[[Down], object] | None = None
    """Called at the end."""
    _mailbox: Mailbox[Any] | None = None
    """Gets the `Down` at the end, if there is no callback."""
    _on_cancel: Callable[[], object] | None = None
    down: Down | None = None
    """The end of the actor; None while it lives, and if the subscription was cancelled first."""
    is_open: bool = True
    """True until it is notified or cancelled."""
    is_ending: bool = False
    """True if this is a link whose turn has ended first, so that the linked actor is being killed."""
    _envelope: Envelope[Any] | None = None
    _settled: trio.Event | None = None
    _tables: tuple[dict[Any, Any], ...] = ()

    def __repr__(self) -> str:
        kind = "callback" if self.callback is not None else "link" if self._mailbox is None else "signal"
        return f"<Subscription to {self.path!r}: {kind}, {'open' if self.is_open else 'over'}>"

    @property
    def is_waiting(self) -> bool:
        """True while the subscriber waits: as long as it is open."""
        return self.is_open

    def join(self, table: dict[Any, Any], value: object = None) -> None:
        """Add it to a table, which it leaves when it is over."""
        table[self] = value
        self._tables = (*self._tables, table)

    def close(self) -> None:
        """Unsubscribe; a `Down` that was already delivered stays."""
        self.is_open = False
        for table in self._tables:
            table.pop(self, None)
        if self._settled is not None:
            self._settled.set()

    def deliver(self, down: Down) -> None:
        """Notify the subscriber; the callback may raise."""
        self.down = down
        self.close()
        if self.callback is not None:
            self.callback(down)
        elif (
            self._mailbox is not None
            and self._mailbox.put_nowait(down, Lane.NOW, parent=down.seq, is_system=True) is Delivery.ACCEPTED
        ):
            self._envelope = self._mailbox.pin_last(Lane.NOW)  # the next incarnation has to watch again

    def cancel(self) -> None:
        """Unsubscribe, and withdraw a `Down` that waits in the subscriber's mailbox. No effect if it was notified."""
        if self.is_open:
            self.close()
            if self._on_cancel is not None:
                self._on_cancel()
        elif self._envelope is not None and self._mailbox is not None:
            self._mailbox.withdraw(self._envelope)

    def unlink(self) -> None:
        """Release a linked actor, which then outlives the turn; the same as `cancel`."""
        self.cancel()

    async def wait(self) -> Down | None:
        """Wait until the actor has terminated and return how it ended; None if the subscription was cancelled.

        If cancelled, only this wait ends; the turn of a link still waits, unless it is unlinked.
        """
        if self._settled is None:
            self._settled = trio.Event()
            if not self.is_open:
                self._settled.set()
        await self._settled.wait()
        return self.down


Wait = Subscription | ReplySlot
"""An edge of the graph: a link or an ask."""


def cycle_of(waiter: T, target: T, waits_of: Callable[[T], Mapping[Wait, T] | None]) -> list[T]:
    """Return the cycle that a wait of `waiter` for `target` would close, `waiter` at both ends; empty if there is none."""
    if target is waiter:
        return [waiter, waiter]
    seen = {target}
    trails = [[waiter, target]]
    while trails:
        trail = trails.pop()
        for wait, further in (waits_of(trail[-1]) or {}).items():
            if not wait.is_waiting:
                continue
            if further is waiter:
                return [*trail, waiter]
            if further not in seen:
                seen.add(further)
                trails.append([*trail, further])
    return []
