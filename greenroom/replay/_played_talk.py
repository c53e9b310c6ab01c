"""An agent's conversation at a moment of a run: the lines of its transcript that had been written by then.

Lines of a transcript bear the wall clock, and a journal says when its clock began. Memory is bounded by 16 bytes a line.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final, final

from greenroom.core import JournalError
from greenroom.terminal.screen import TalkPart, talk_parts
from greenroom.trace import TimedLines, parse_line

MAX_PARTS: Final = 200
"""Parts of a conversation that are shown, the latest."""
MAX_BYTES: Final = 256 * 1024
"""Bytes of lines that are read for a moment, the latest; at least one line."""


@final
class PlayedTalk:
    """The conversation that is open on the screen; at most one is kept in memory.

    Args:
        folder: The folder of the transcripts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._lines: TimedLines | None = None
        self._shown = (-1, -1)
        self._parts: tuple[TalkPart, ...] = ()

    def parts(self, transcript: str, at: datetime) -> tuple[TalkPart, ...]:
        """Return the conversation at a date and time; nothing where the transcript cannot be read."""
        try:
            if transcript != self._name or self._lines is None:
                self.close()
                self._name, self._shown = transcript, (-1, -1)
                self._lines = TimedLines(self._folder, transcript)
            self._lines.read_on()
            return self._until(self._lines, self._lines.count_at(at.timestamp()))
        except JournalError:
            return ()

    def close(self) -> None:
        """Close the transcript."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    def _until(self, lines: TimedLines, count: int) -> tuple[TalkPart, ...]:
        first = lines.begin_within(count, MAX_BYTES)
        if (first, count) != self._shown:
            parts: list[TalkPart] = []
            for line in lines.lines(first, count):
                try:
                    parts += talk_parts(parse_line(line))
                except ValueError:  # a damaged line
                    continue
            self._shown, self._parts = (first, count), tuple(parts[-MAX_PARTS:])
        return self._parts
