"""The alternate screen of a terminal: lines in, the fewest bytes that show them out.

Rule 1: nothing blocks: what a slow or stopped terminal does not take is kept, and no newer lines are added before it has
gone. Rule 2: a terminal that went away is no error; nothing is shown any more. Rule 3: the terminal is left as it was,
however the block is left. After a change of size everything is drawn again.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, final

from greenroom.terminal.screen._cells import ScreenLine, encoded
from greenroom.terminal.screen._layout import ScreenSize
from greenroom.terminal.screen._screen_look import ScreenLook

# Alternate screen, no cursor, no wrapping at the edge, mouse with its position as text.
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1000h\x1b[?1006h\x1b[2J"
_LEAVE: Final = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?7h\x1b[?25h\x1b[?1049l"
_BEGIN: Final = "\x1b[?2026h"
_END: Final = "\x1b[?2026l"
"""Around a change, for terminals that can show it at once; others ignore it."""
FALLBACK: Final = ScreenSize(width=80, height=24)
LEAVE_S: Final = 0.5
"""Seconds that a terminal has for taking the last bytes."""


@final
class TerminalScreen:
    """A terminal in its alternate screen; made by `open_screen`.

    Attributes:
        is_gone: True once the terminal cannot be written to.
    """

    def __init__(self, descriptor: int, look: ScreenLook) -> None:
        self.look = look
        self.is_gone = False
        self._descriptor = descriptor
        self._size: ScreenSize | None = None
        self._shown: list[str] = []
        self._pending = bytearray(_ENTER.encode())
        self._is_open = True

    @property
    def size(self) -> ScreenSize:
        """The size of the terminal now."""
        try:
            width, height = os.get_terminal_size(self._descriptor)
        except OSError:
            return FALLBACK
        return ScreenSize(width=width, height=height) if width and height else FALLBACK

    @property
    def was_resized(self) -> bool:
        """True if the size is another one than at the last `show`."""
        return self._size is not None and self.size != self._size

    def show(self, lines: Sequence[ScreenLine], size: ScreenSize) -> bool:
        """Show lines that were made for a size; return False if the terminal has not yet taken the lines before."""
        if self.is_gone or not self._is_open or not self._flush():
            return False
        new = [encoded(line, self.look) for line in lines]
        parts = []
        if size != self._size:
            parts.append("\x1b[0m\x1b[2J")
            self._shown = []
        for at, text in enumerate(new):
            if at >= len(self._shown) or self._shown[at] != text:
                parts.append(f"\x1b[{at + 1};1H{text}\x1b[0m")
        self._shown, self._size = new, size
        if parts:
            self._pending += (_BEGIN + "".join(parts) + _END).encode("utf-8", "replace")
            self._flush()
        return True

    def redraw(self) -> None:
        """Draw everything at the next `show`: something else wrote on the terminal."""
        self._size = None

    def close(self) -> None:
        """Leave the alternate screen; a second call does nothing."""
        if not self._is_open:
            return
        self._is_open = False
        self._pending += _LEAVE.encode()
        end = time.monotonic() + LEAVE_S
        while not self._flush() and not self.is_gone and (left := end - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left)

    def _flush(self) -> bool:
        """Write what is pending; return True if nothing is left."""
        while self._pending and not self.is_gone:
            try:
                written = os.write(self._descriptor, self._pending)
            except BlockingIOError:
                return False
            except OSError:
                self.is_gone = True
                return False
            del self._pending[:written]
        return not self._pending


@contextmanager
def open_screen(descriptor: int, look: ScreenLook) -> Iterator[TerminalScreen]:
    """Enter the alternate screen of a terminal, and leave it at the end of the block.

    Args:
        descriptor: The terminal, open for reading and writing, which does not block.
        look: Its colors and signs.
    """
    screen = TerminalScreen(descriptor, look)
    try:
        yield screen
    finally:
        screen.close()
