"""A pseudo-terminal with a model of its screen: what a person would see, cell by cell."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyte
import trio

from greenroom.terminal.screen import ScreenLook, ScreenSize
from greenroom.terminal.screen._cells import ScreenLine, encoded

Cells = list[list[Any]]
"""Characters with their styles, by line and column."""


class PseudoTerminal:
    """Our end of a terminal, and the model that is fed what comes out of it."""

    def __init__(self, end: int, theirs: int) -> None:
        self.end, self.theirs = end, theirs
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)

    def resize(self, size: ScreenSize) -> None:
        """Change the size, as a window does."""
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", size.height, size.width, 0, 0))
        self._screen.resize(size.height, size.width)

    def type(self, text: str) -> None:
        """Send what a keyboard sends."""
        os.write(self.end, text.encode())
        if text:  # the kernel hands it over in its own time
            select.select([self.theirs], [], [], 5.0)

    async def settle(self) -> None:
        """Wait, in virtual time, until nothing more is drawn."""
        quiet = 0
        while quiet < 3:
            await trio.sleep(0.2)
            quiet = 0 if self.feed() else quiet + 1

    def overwrite(self, text: str) -> None:
        """Show what something else has written on the terminal."""
        self._stream.feed(text.encode())

    def cells(self) -> Cells:
        """Return what is shown."""
        return cells_of(self._screen)

    def feed(self) -> bool:
        """Show what has come; return False if nothing has."""
        if not select.select([self.end], [], [], 0.002)[0]:
            return False
        try:
            data = os.read(self.end, 65_536)
        except BlockingIOError:
            return False
        self._stream.feed(data)
        return True


def cells_of(screen: pyte.Screen) -> Cells:
    """Return the characters of a model with their styles."""
    return [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]


def expected_cells(lines: Sequence[ScreenLine], size: ScreenSize, look: ScreenLook) -> Cells:
    """Return what a terminal shows that is given these lines afresh."""
    screen = pyte.Screen(size.width, size.height)
    stream = pyte.Stream(screen)
    stream.feed("\x1b[?7l")
    for at, line in enumerate(lines):
        stream.feed(f"\x1b[{at + 1};1H{encoded(line, look)}")
    return cells_of(screen)


@contextmanager
def open_pseudo_terminal() -> Iterator[PseudoTerminal]:
    """Open a terminal that never blocks, on either end."""
    end, theirs = pty.openpty()
    tty.setraw(theirs)
    os.set_blocking(end, False)
    os.set_blocking(theirs, False)
    try:
        yield PseudoTerminal(end, theirs)
    finally:
        for descriptor in (end, theirs):
            try:
                os.close(descriptor)
            except OSError:
                continue
