"""Batches of the lines that a monitored command prints, with a bound on their rate.

Rule 1: each line is in one batch, or counted as suppressed; the next batch has the count. Rule 2: batches keep the order of their
lines. Rule 3: no window of a minute has more than `MAX_BATCHES` batches. Must not know: the clock, Trio, processes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, final

import attrs

BATCH_S: Final = 0.2
"""Lines that come within this time are one batch."""
MAX_BATCHES: Final = 20
"""Maximum number of batches in `WINDOW_S`; further lines are counted."""
WINDOW_S: Final = 60.0
FLOOD_S: Final = 30.0
"""A command whose lines are suppressed for this long is ended."""
PAUSE_S: Final = WINDOW_S / MAX_BATCHES
"""A pause of this length ends a flood: lines that are so far apart keep the limit."""
MAX_LINES: Final = 100
"""Maximum number of lines of a batch; further ones are counted."""
LINE_CHARS: Final = 1_000
"""Maximum number of characters of a line; the rest is cut."""
MAX_CHARS: Final = 10_000
"""Maximum number of characters of a batch with more than one line."""
_LINE_BYTES: Final = 4 * LINE_CHARS + 4


@final
@attrs.frozen(kw_only=True)
class LineBatch:
    """Lines that are reported together."""

    number: int
    """From 1; batches that were not accepted have one, too."""
    lines: tuple[str, ...]
    suppressed: int = 0
    """Number of lines since the previous batch that are in none."""


@final
@attrs.define(eq=False)
class LineBatches:
    """The lines of one command: those that come together, those that are suppressed, and whether it floods."""

    suppressed: int = 0
    """Number of lines that are suppressed, and that no batch has told yet."""
    is_flooding: bool = False
    """True once lines were suppressed for `FLOOD_S` without a pause."""
    _lines: list[str] = attrs.field(factory=list)
    _cut: int = 0
    _opened_s: float = -math.inf
    _sent_s: deque[float] = attrs.field(factory=deque)
    _number: int = 0
    _flood_s: tuple[float, float] | None = None
    """When the first and the latest lines of the present flood were suppressed."""

    @property
    def waiting(self) -> int:
        """Number of lines of the batch that is not complete yet."""
        return len(self._lines) + self._cut

    def add(self, lines: Sequence[str], now_s: float, *, more: int = 0) -> LineBatch | None:
        """Add lines, and return the batch that they do not belong to any more, if it is to be reported.

        Args:
            lines: The lines, in order.
            now_s: When they came; never before an earlier call.
            more: Number of lines that came after them and are only counted.
        """
        if not lines and not more:
            return self.tick(now_s)
        batch = self.tick(now_s)
        if not self.waiting:
            self._opened_s = now_s
        for line in lines:
            if self._has_room(line):
                self._lines.append(line)
            else:
                self._cut += 1
        self._cut += more
        return batch

    def tick(self, now_s: float) -> LineBatch | None:
        """Return the batch that is complete at this time, if it is to be reported."""
        return self.close(now_s) if self.waiting and now_s - self._opened_s >= BATCH_S else None

    def close(self, now_s: float) -> LineBatch | None:
        """Complete the batch at once, and return it if it is to be reported."""
        if not self.waiting:
            return None
        lines, cut = tuple(self._lines), self._cut
        self._lines, self._cut = [], 0
        while self._sent_s and now_s - self._sent_s[0] >= WINDOW_S:
            self._sent_s.popleft()
        if len(self._sent_s) >= MAX_BATCHES:
            self.suppressed += len(lines) + cut
            self._note_flood(now_s)
            return None
        self._sent_s.append(now_s)
        self._flood_s = None
        self._number += 1
        batch = LineBatch(number=self._number, lines=lines, suppressed=self.suppressed + cut)
        self.suppressed = 0
        return batch

    def refuse(self, batch: LineBatch) -> None:
        """Count the lines of a batch that nobody has accepted."""
        self.suppressed += len(batch.lines) + batch.suppressed

    def _has_room(self, line: str) -> bool:
        if self._cut or len(self._lines) >= MAX_LINES:  # once a line is cut, those behind it are, too
            return False
        return not self._lines or sum(map(len, self._lines)) + len(line) <= MAX_CHARS

    def _note_flood(self, now_s: float) -> None:
        first_s, latest_s = self._flood_s or (now_s, now_s)
        if now_s - latest_s >= PAUSE_S:
            first_s = now_s
        self._flood_s = (first_s, now_s)
        self.is_flooding = self.is_flooding or now_s - first_s >= FLOOD_S


@final
@attrs.define(eq=False)
class LineSplitter:
    """Splits what a command prints into lines; the beginning of a line that is not complete is kept."""

    _start: bytes = b""

    def feed(self, content: bytes) -> tuple[list[str], int]:
        """Return at most `MAX_LINES` complete lines, and the number of further ones."""
        count = content.count(b"\n")
        if not count:
            self._start = (self._start + content[:_LINE_BYTES])[:_LINE_BYTES]
            return [], 0
        *lines, rest = content.split(b"\n", MAX_LINES) if count >= MAX_LINES else content.split(b"\n")
        lines[0] = self._start + lines[0]
        self._start = rest.rpartition(b"\n")[2][:_LINE_BYTES]
        return [_text(line) for line in lines], count - len(lines)

    def end(self) -> list[str]:
        """Return the last line, if it has no line feed at its end."""
        start, self._start = self._start, b""
        return [_text(start)] if start else []


def _text(line: bytes) -> str:
    text = line[:_LINE_BYTES].decode("utf-8", errors="replace").rstrip("\r")
    return text if len(text) <= LINE_CHARS and len(line) <= _LINE_BYTES else f"{text[: LINE_CHARS - 1]}…"
