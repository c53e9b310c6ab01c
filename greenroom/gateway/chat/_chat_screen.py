"""The screen of a chat: lines that stay, below them a few that are drawn anew, and the line that is being typed.

Without a terminal there are only the first.
"""

from __future__ import annotations

import re
import shutil
from typing import Final, TextIO, final

from greenroom.core.texts import printable_text
from greenroom.terminal import Key, Press

_CLEAR: Final = "\r\x1b[J"
_MIN_WIDTH: Final = 20


@final
class ChatScreen:
    """Standard output, or a terminal."""

    def __init__(self, out: TextIO, *, is_live: bool) -> None:
        self.is_live = is_live
        """True if it is a terminal, on which something can be drawn anew."""
        self._out = out
        self._drawn = 0

    def show(self, lines: list[str]) -> None:
        """Add lines that stay."""
        if lines:
            self._erase()
            texts = [printable_text(line) for line in lines]
            if self.is_live:
                texts = [part for text in texts for part in wrapped(text, self._width)]
            self._out.write("".join(f"{text}\n" for text in texts))
            self._out.flush()

    @property
    def _width(self) -> int:
        return max(_MIN_WIDTH, shutil.get_terminal_size().columns) - 1

    def draw(self, partial: str, status: str, typed: str) -> None:
        """Draw what changes: the end of a text that grows, a line about what happens, and what is being typed."""
        if not self.is_live:
            return
        width = self._width
        self._erase()
        below = [_tail(partial, width)] if partial else []
        below += [f"[{status}]"[:width]] if status else []
        below.append("> " + _tail(typed, width - 2))
        self._out.write("\n".join(below))
        self._out.flush()
        self._drawn = len(below)

    def erase(self) -> None:
        """Remove what was drawn."""
        self._erase()
        self._out.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._out.write(f"\x1b[{self._drawn - 1}A{_CLEAR}" if self._drawn > 1 else _CLEAR)
            self._drawn = 0


def wrapped(text: str, columns: int) -> list[str]:
    """Return a line as lines of at most a number of columns, broken at spaces; a longer word stays whole, for the terminal to break."""
    lines, room = [""], columns
    for word in re.split(r"(?<= )(?=[^ ])", text):
        cells = cells_of(word.rstrip(" "))
        if cells > room and room < columns:
            lines, room = [*lines, ""], columns
        lines[-1] += word
        room -= cells_of(word)
    return [line.rstrip(" ") for line in lines]


def cells_of(text: str) -> int:
    """Return the columns that a printable text takes."""
    return sum(1 if ord(sign) < 0x1100 else 2 for sign in text)


def _tail(text: str, columns: int) -> str:
    """Return the end of a text that fits into a number of columns."""
    text, room = printable_text(text), columns
    at = len(text)
    while at and room >= (cells := cells_of(text[at - 1])):
        room -= cells
        at -= 1
    return text[at:]


@final
class LineEditor:
    """A line, with the lines before it."""

    def __init__(self) -> None:
        self.text = ""
        self._before: list[str] = []
        self._at = 0

    def press(self, key: Press) -> str | None:
        """Take a key into account; return the line if it is complete."""
        match key:
            case Key.ENTER:
                done, self.text = self.text, ""
                if done.strip():
                    self._before.append(done)
                self._at = len(self._before)
                return done
            case Key.BACKSPACE:
                self.text = self.text[:-1]
            case Key.UP | Key.DOWN:
                self._at = max(0, min(len(self._before), self._at + (1 if key is Key.DOWN else -1)))
                self.text = self._before[self._at] if self._at < len(self._before) else ""
            case str():
                self.text += key
        return None
