"""Messages that an actor sends itself later: once, or again and again.

Rule 1: a timer ends with its incarnation, and on request with the state that it was set in; one that was set in a turn
runs from the turn's commit, counted from the call. Rule 2: who cancels a timer hears nothing more of it, not even what
is queued. Rule 3: a timer sends nothing while a message of it waits; they are notices of the runtime, never refused.
Must not know: how turns are run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

from greenroom.core import UsageError
from greenroom.mailbox import Envelope, Lane
from greenroom.waiting import Timer

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell


_MANY: Final = 64


@final
class SendTimer:
    """A message to come; made by `ctx.send_after` and `ctx.send_every`."""

    __slots__ = (
        "_cell",
        "_lane",
        "_message",
        "_parent",
        "_period_s",
        "_sent",
        "_timer",
        "due_t",
        "for_state",
        "is_open",
    )

    def __init__(
        self, cell: Cell[Any], delay_s: float, message: Any, lane: Lane, period_s: float | None, *, for_state: bool
    ) -> None:
        if not delay_s >= 0 or (period_s is not None and not period_s > 0):
            raise UsageError(
                f"a timer needs a delay of 0 s or more, and a period above 0 s, not {period_s or delay_s!r}"
            )
        self._cell = cell
        self._message = message
        self._lane = lane
        self._period_s = period_s
        self._timer: Timer | None = None
        self._sent: list[Envelope[Any]] = []
        """The last message, and earlier ones that are not over: a turn that handled one may give it back."""
        self._parent = cell.seq
        self.due_t = cell.recorder.now() + delay_s
        """When the message comes next, by the run's clock."""
        self.for_state = for_state
        self.is_open = True
        """Whether a message is still to come."""

    def __repr__(self) -> str:
        return f"<SendTimer of {self._cell.path!r} {'at' if self.is_open else 'over, was due at'} {self.due_t:g}>"

    def start(self) -> None:
        """Begin to wait, unless it was cancelled."""
        if not self.is_open:
            return
        timers = self._cell.timers
        if timers is None:
            timers = self._cell.timers = {}
        size = len(timers)
        if size >= _MANY and size & (size - 1) == 0:  # at each power of two: what was served is over
            for one in [one for one in timers if not one.is_open and not one.is_waiting]:
                del timers[one]
        timers[self] = None
        self._wait()

    def cancel(self) -> None:
        """Send nothing any more, and take back what waits in the mailbox; nothing happens when all was served."""
        self.end()
        if self._cell.timers is not None:
            self._cell.timers.pop(self, None)
        for envelope in self._sent:
            self._cell.mailbox.withdraw(envelope, parent=self._cell.here())

    @property
    def is_waiting(self) -> bool:
        """Whether a message of it waits in the mailbox."""
        return any(self._cell.mailbox.is_waiting(envelope) for envelope in self._sent)

    def end(self) -> None:
        """Send nothing any more."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = self._cell.shared.timers.after(max(0.0, self.due_t - self._cell.recorder.now()), self._fire)

    def _fire(self) -> None:
        cell = self._cell
        if not self.is_waiting:
            cell.mailbox.put_nowait(self._message, self._lane, parent=self._parent, is_system=True)
            cell.mailbox.pin_last(self._lane)
            leased = cell.mailbox.leased
            self._sent = [*(one for one in self._sent if one in leased), cell.mailbox.last(self._lane)]
        if self._period_s is not None:
            now = cell.recorder.now()
            missed = (now - self.due_t) // self._period_s
            # A period that the clock is too coarse for must not be due again in this very step, for ever.
            self.due_t = max(self.due_t + (missed + 1) * self._period_s, math.nextafter(now, math.inf))
            self._wait()
            return
        self.is_open = False
        if not self.for_state and cell.timers is not None:
            del cell.timers[self]


def end_timers(cell: Cell[Any]) -> None:
    """End all timers of an incarnation; what they have queued is pinned to it, and ends with it."""
    timers, cell.timers = cell.timers, None
    for timer in timers or ():
        timer.end()


def end_state_timers(cell: Cell[Any]) -> None:
    """End the timers of the state that an actor leaves, with what they have queued."""
    for timer in [one for one in cell.timers or () if one.for_state]:
        timer.cancel()
