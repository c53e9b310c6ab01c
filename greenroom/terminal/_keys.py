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

import attrs
import trio


class Key(Enum):
    """A key that is not a character."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    SHIFT_LEFT = "shift left"
    SHIFT_RIGHT = "shift right"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    TAB = "tab"
    SHIFT_TAB = "shift tab"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"
    END = "end"
    """Ctrl+D."""
    REDRAW = "redraw"
    """Ctrl+L."""


@final
@attrs.frozen
class MousePress:
    """A use of the mouse, by column and row from 0; sent only where a program has asked for it."""

    x: int
    y: int
    wheel: int = 0
    """1 where the wheel was turned down, -1 where it was turned up, 0 for a click."""


KeyPress: TypeAlias = Key | str
"""A key, or the character that it types."""
Press: TypeAlias = KeyPress | MousePress
"""All that a terminal sends."""

TERMINAL: Final = "/dev/tty"
_READ: Final = 1_024
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;?<]*[@-~]|O[A-Za-z])")
_UNFINISHED: Final = re.compile(r"\x1b(?:\[[0-9;?<]{0,32}|O)\Z")
_MOUSE: Final = re.compile(r"\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})M")
_WHEEL: Final = {0: 0, 64: -1, 65: 1}
"""What a button of the mouse turns the wheel by; others mean nothing here."""
_NAMED: Final = {
    "\x1b[A": Key.UP,
    "\x1bOA": Key.UP,
    "\x1b[B": Key.DOWN,
    "\x1bOB": Key.DOWN,
    "\x1b[C": Key.RIGHT,
    "\x1bOC": Key.RIGHT,
    "\x1b[D": Key.LEFT,
    "\x1bOD": Key.LEFT,
    "\x1b[1;2C": Key.SHIFT_RIGHT,
    "\x1b[1;2D": Key.SHIFT_LEFT,
    "\x1b[5~": Key.PAGE_UP,
    "\x1b[6~": Key.PAGE_DOWN,
    "\t": Key.TAB,
    "\x1b[Z": Key.SHIFT_TAB,
    "\x0c": Key.REDRAW,
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
        mouse = _MOUSE.fullmatch(piece)
        if key is not None:
            yield key
        elif mouse is not None:
            if (button := int(mouse[1])) in _WHEEL:
                yield MousePress(int(mouse[2]) - 1, int(mouse[3]) - 1, _WHEEL[button])
        elif piece.isprintable():
            yield piece


@final
class Keyboard:
    """Reads keys; made by `open_keyboard`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""

    @property
    def descriptor(self) -> int:
        """The terminal, open for reading and writing, which never blocks."""
        return self._descriptor

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
            text = self._unfinished + self._decoder.decode(data)
            cut = _UNFINISHED.search(text)  # the rest of a sequence follows; a lone escape is a key
            self._unfinished = cut[0] if cut is not None else ""
            keys = list(keys_in(text.removesuffix(self._unfinished)))
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
