"""SIGINT and SIGTERM outside of a command's own handling: before its work begins, and while it leaves.

Only the standard library is imported, since the program begins with this.

- Before the work nothing is open that would have to be closed: a signal exits at once.
- After the work the outcome is decided, and only its last lines are missing: one signal is held, a second one exits at once.
- Once all is printed and the interpreter shuts down, signals are ignored: they could only falsify the exit code.
"""

import atexit
import os
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ExitSignals:
    """The handler of a program's signals when no command handles them."""

    def __init__(self) -> None:
        self._is_leaving = False
        self._is_one_held = False

    def __call__(self, number: int, _: object) -> None:
        """Exit without a traceback, or hold the signal."""
        if self._is_leaving and not self._is_one_held:
            self._is_one_held = True
            return
        os._exit(128 + number)

    def hold(self) -> None:
        """Hold the next signal instead of exiting."""
        self._is_leaving = True


_HANDLER = ExitSignals()


def exit_quietly_on_signals() -> None:
    """Handle the signals of this program, except those that it was started to ignore.

    An exception instead could surface anywhere: within an import, a destructor or Trio's own start.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # such as after `nohup` or in the background of a script
            signal.signal(number, _HANDLER)
    atexit.register(_ignore)


def hold_signals() -> None:
    """Hold the next signal until the program has exited; no effect in a process that is not the program's."""
    _HANDLER.hold()


def _ignore() -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is _HANDLER:  # the interpreter would restore the default, which kills
            signal.signal(number, signal.SIG_IGN)
