"""Timers that send messages to their own actor, once or periodically.

Rule 1: a timer ends with its incarnation, and on request with the state that it was set in; one that was set in a turn
starts with the turn's commit, counted from the call. Rule 2: a cancelled timer delivers nothing more, not even a message
that is already queued. Rule 3: a tick is skipped while a message of the timer is queued; its messages are system mail.
Must not know: how turns are run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, final

import attrs

from greenroom.mailbox import Envelope, Lane, Mailbox
from greenroom.waiting import Timer, Timers

_MANY: Final = 64


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class SendTimer:
    """A message to come; created by `ctx.send_after` and `ctx.send_every`."""

    _mailbox: Mailbox[Any]
    _service: Timers
    _message: Any
    _lane: Lane
    _period_s: float | None
    due_t: float
    """When the next message is due, on the run's clock."""
    for_state: bool
    """True if it ends at the next change of the actor's state."""
    _here: Callable[[], int]
    _parent: int
    _among: dict[SendTimer, None]
    """The timers of the incarnation."""
    is_open: bool = True
    """True if a message is still to come."""
    _timer: Timer | None = None
    _sent: list[Envelope[Any]] = attrs.Factory(list)
    """The last message, and earlier ones that are still leased: their turns may return them."""

    def __repr__(self) -> str:
        return f"<SendTimer of {self._mailbox.owner!r} {'at' if self.is_open else 'over, was due at'} {self.due_t:g}>"

    def start(self) -> None:
        """Start the timer, unless it was cancelled."""
        if not self.is_open:
            return
        size = len(self._among)
        if size >= _MANY and size & (size - 1) == 0:  # at each power of two: remove those whose messages were served
            for timer in [timer for timer in self._among if not timer.is_open and not timer.is_waiting]:
                del self._among[timer]
        self._among[self] = None
        self._wait()

    def cancel(self) -> None:
        """Cancel the timer, and withdraw its queued message. No effect if all its messages were served."""
        self.end()
        self._among.pop(self, None)
        for envelope in self._sent:
            self._mailbox.withdraw(envelope, parent=self._here())

    @property
    def is_waiting(self) -> bool:
        """True if a message of the timer is queued."""
        return any(self._mailbox.lanes.is_waiting(envelope) for envelope in self._sent)

    def end(self) -> None:
        """Cancel the timer, but leave its queued message."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = self._service.after(max(0.0, self.due_t - self._service.now()), self._fire)

    def _fire(self) -> None:
        mailbox = self._mailbox
        if not self.is_waiting:
            mailbox.put_nowait(self._message, self._lane, parent=self._parent, is_system=True)
            still_leased = [envelope for envelope in self._sent if envelope in mailbox.leased]
            self._sent = [*still_leased, mailbox.pin_last(self._lane)]
        if self._period_s is not None:
            now = self._service.now()
            missed = (now - self.due_t) // self._period_s
            # If the clock is too coarse for the period, it must not be due again in this very step.
            self.due_t = max(self.due_t + (missed + 1) * self._period_s, math.nextafter(now, math.inf))
            self._wait()
            return
        self.is_open = False
        if not self.for_state:
            self._among.pop(self, None)
