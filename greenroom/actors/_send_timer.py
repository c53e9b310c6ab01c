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

from greenroom.core import UsageError
from greenroom.mailbox import Envelope, Lane, Mailbox
from greenroom.waiting import Timer, Timers

_MANY: Final = 64


@final
class SendTimer:
    """A message to come; created by `ctx.send_after` and `ctx.send_every`."""

    __slots__ = (
        "_among",
        "_here",
        "_lane",
        "_mailbox",
        "_message",
        "_now",
        "_parent",
        "_period_s",
        "_sent",
        "_service",
        "_timer",
        "due_t",
        "for_state",
        "is_open",
    )

    def __init__(
        self,
        mailbox: Mailbox[Any],
        service: Timers,
        message: Any,
        lane: Lane,
        *,
        delay_s: float,
        period_s: float | None,
        for_state: bool,
        now: Callable[[], float],
        here: Callable[[], int],
        parent: int,
        among: dict[SendTimer, None],
    ) -> None:
        if not delay_s >= 0 or (period_s is not None and not period_s > 0):
            raise UsageError(f"a timer's delay must be 0 s or more, its period above 0 s, got {period_s or delay_s!r}")
        self._mailbox = mailbox
        self._service = service
        self._message = message
        self._lane = lane
        self._period_s = period_s
        self._now = now
        self._here = here
        self._parent = parent
        self._among = among
        self._timer: Timer | None = None
        self._sent: list[Envelope[Any]] = []
        """The last message, and earlier ones that are still leased: their turns may return them."""
        self.due_t = now() + delay_s
        """When the next message is due, on the run's clock."""
        self.for_state = for_state
        self.is_open = True
        """True if a message is still to come."""

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
        self._timer = self._service.after(max(0.0, self.due_t - self._now()), self._fire)

    def _fire(self) -> None:
        mailbox = self._mailbox
        if not self.is_waiting:
            mailbox.put_nowait(self._message, self._lane, parent=self._parent, is_system=True)
            mailbox.pin_last(self._lane)
            leased = mailbox.leased
            self._sent = [
                *(envelope for envelope in self._sent if envelope in leased),
                mailbox.lanes.of(self._lane)[-1],
            ]
        if self._period_s is not None:
            now = self._now()
            missed = (now - self.due_t) // self._period_s
            # If the clock is too coarse for the period, it must not be due again in this very step.
            self.due_t = max(self.due_t + (missed + 1) * self._period_s, math.nextafter(now, math.inf))
            self._wait()
            return
        self.is_open = False
        if not self.for_state:
            self._among.pop(self, None)
