"""Keys of the terminal, one by one, while something else is drawn on it.

The terminal is left as it was found, however the block is left. A process in the background of its shell touches no
terminal: the shell would stop it. Ctrl+C stays a signal.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Final, TypeAlias, final

import trio


class Key(Enum):
    """A key that is not a character."""

    UP = "up"
    DOWN = "down"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"
    END = "end"
    """Ctrl+D."""


Press: TypeAlias = Key | str
"""A key, or the character that it types."""

TERMINAL: Final = "/dev/tty"
_READ: Final = 1_024
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[@-~]|O[A-Za-z])")
_NAMED: Final = {
    "\x1b[A": Key.UP,
    "\x1bOA": Key.UP,
    "\x1b[B": Key.DOWN,
    "\x1bOB": Key.DOWN,
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x1b": Key.ESCAPE,
    "\x04": Key.END,
}


def keys_in(text: str) -> Iterator[Press]:
    """Yield the keys of what a terminal sent at once; sequences that mean nothing here are left out."""
    at = 0
    while at < len(text):
        found = _SEQUENCE.match(text, at)
        piece = found[0] if found is not None else text[at]
        at += len(piece)
        key = _NAMED.get(piece)
        if key is not None:
            yield key
        elif piece.isprintable():
            yield piece


@final
class Keyboard:
    """Reads keys; made by `open_keyboard`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    async def read(self) -> list[Press]:
        """Wait for keys and return them; none at the end of the terminal. Cancelled, nothing is lost."""
        while True:
            await trio.lowlevel.wait_readable(self._descriptor)
            try:
                data = os.read(self._descriptor, _READ)
            except BlockingIOError:
                continue
            except OSError:  # the terminal went away
                return []
            if not data:
                return []
            keys = list(keys_in(self._decoder.decode(data)))
            if keys:
                return keys


@contextmanager
def open_keyboard() -> Iterator[Keyboard | None]:
    """Make the terminal send each key at once, without echo; None if no terminal of ours can be read."""
    descriptor = _open_terminal()
    if descriptor is None:
        yield None
        return
    import termios

    before = termios.tcgetattr(descriptor)
    now = termios.tcgetattr(descriptor)
    now[3] &= ~(termios.ICANON | termios.ECHO)
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, now)
        yield Keyboard(descriptor)
    finally:
        with suppress(termios.error):  # the terminal went away
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        os.close(descriptor)


def _open_terminal() -> int | None:
    """Return a descriptor of its own, which alone does not block: others share what a terminal's standard input is."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        is_ours = os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        is_ours = False
    if not is_ours:
        os.close(descriptor)
        return None
    return descriptor
