"""Ctrl+C as a ladder: the first asks to stop, the second kills, the third leaves at once.

First the ordered stop of what is open, each turn with its grace; before anything is open, the scope around the opening is
cancelled instead. Only the command line handles signals, around the session, so that the second one finds somebody. Signals
that arrive in one tick count once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, final

import trio

from greenroom._exit_signals import hold_signals

EXIT_CODES: Final = {signal.SIGINT: 130, signal.SIGTERM: 143}


@final
class Ladder:
    """The number of signals so far, and the action for each; see `climbing`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.stop_scope = trio.CancelScope()
        """Around the work: cancelled by the first signal as long as there is nothing that can be stopped."""
        self.stop: Callable[[str], None] = self.stop_scope.cancel
        """Begins to stop everything in order; set by the code that opens something to stop."""
        self.kill: Callable[[str], None] = self.stop_scope.cancel
        """Ends everything at once; set by the code that opens something to kill."""
        self.leave: Callable[[], None] = lambda: None
        """Puts the terminal in order before the process exits."""
        self.exit_code: int | None = None
        """The exit code that the first signal decided; None if there was none."""
        self._rung = 0
        self._say = say

    def climb(self, signal_number: int) -> None:
        """Go one rung up; the third does not return."""
        self._rung += 1
        name = signal.Signals(signal_number).name
        code = EXIT_CODES.get(signal.Signals(signal_number), 128 + signal_number)
        if self._rung == 1:
            self.exit_code = code
            self._say(f"{name}: stopping; repeat to kill what runs")
            self.stop(f"{name} asked to stop")
        elif self._rung == 2:
            self._say(f"{name}: killing what runs; repeat to exit immediately")
            self.kill(f"{name} asked to kill what runs")
        else:
            self.leave()
            os._exit(code)  # what the journal holds stays valid: a run may be cut anywhere


def _handled() -> list[signal.Signals]:
    hangup = getattr(signal, "SIGHUP", None)
    is_default = hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL
    return [signal.SIGINT, signal.SIGTERM, *([hangup] if hangup is not None and is_default else [])]


@asynccontextmanager
async def climbing(ladder: Ladder) -> AsyncIterator[None]:
    """Handle signals with the ladder while the block runs; those that come later wait for the command's last line.

    They are SIGINT, SIGTERM, and SIGHUP (the terminal was closed) unless the process was started to ignore that, as with `nohup`.
    """
    with trio.open_signal_receiver(*_handled()) as signals:
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                async for number in signals:
                    ladder.climb(number)

            nursery.start_soon(listen, name="greenroom signals")
            try:
                yield
            finally:
                hold_signals()  # first: a receiver that closes passes on what it has not delivered
                nursery.cancel_scope.cancel("the work is done")
