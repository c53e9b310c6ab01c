"""An agent's conversation at a moment of a run: the lines of its transcript that had been written by then.

Lines of a transcript bear the wall clock, and a journal says when its clock began. Memory is bounded by 16 bytes a line.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from datetime import datetime
from pathlib import Path
from typing import Final, final

from greenroom.core import JournalError
from greenroom.terminal.screen import TalkPart, talk_parts
from greenroom.trace import FileState, GrowingFile, parse_line

MAX_PARTS: Final = 200
"""Parts of a conversation that are shown, the latest."""
MAX_BYTES: Final = 256 * 1024
"""Bytes of lines that are read for a moment, the latest; at least one line."""
_TIMESTAMP: Final = re.compile(rb'"timestamp":\s?"([^"]{19,40})"')
_EARLY_BYTES: Final = 2_000
"""Bytes of a line in which its time stands."""


@final
class PlayedTalk:
    """The conversation that is open on the screen; at most one is kept in memory.

    Args:
        folder: The folder of the transcripts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._file: GrowingFile | None = None
        self._times = array("d")
        """The latest time up to each line, in seconds of the epoch."""
        self._places = array("Q")
        self._shown = (-1, -1)
        self._parts: tuple[TalkPart, ...] = ()

    def parts(self, transcript: str, at: datetime) -> tuple[TalkPart, ...]:
        """Return the conversation at a date and time; nothing where the transcript cannot be read."""
        try:
            if transcript != self._name or self._file is None:
                self._open(transcript)
            self._read_on()
            return self._until(bisect_right(self._times, at.timestamp()))
        except JournalError:
            return ()

    def close(self) -> None:
        """Close the transcript."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, transcript: str) -> None:
        self.close()
        self._name, self._times, self._places, self._shown = transcript, array("d"), array("Q"), (-1, -1)
        if not transcript or Path(transcript).name != transcript:  # a journal may say anything
            raise JournalError(transcript, "not a file of the folder of transcripts")
        self._file = GrowingFile(self._folder / transcript)

    def _read_on(self) -> None:
        file = self._file
        assert file is not None
        while file.state is FileState.SAME:
            place = file.place
            content = file.read()
            if not content:
                return
            for line in content.split(b"\n")[:-1]:
                self._places.append(place)
                self._times.append(max(self._times[-1] if self._times else 0.0, _time_of(line)))
                place += len(line) + 1

    def _until(self, count: int) -> tuple[TalkPart, ...]:
        file = self._file
        assert file is not None
        end = self._places[count] if count < len(self._places) else file.place
        first = min(bisect_right(self._places, end - MAX_BYTES), max(0, count - 1))
        begin = self._places[first] if count else end
        if (begin, end) != self._shown:
            parts: list[TalkPart] = []
            for line in file.read_range(begin, end).split(b"\n")[:-1]:
                try:
                    parts += talk_parts(parse_line(line))
                except ValueError:  # a damaged line
                    continue
            self._shown, self._parts = (begin, end), tuple(parts[-MAX_PARTS:])
        return self._parts


def _time_of(line: bytes) -> float:
    """Return the time of a line in seconds of the epoch; 0 for a line without one, which is as old as the line before it."""
    found = _TIMESTAMP.search(line, 0, _EARLY_BYTES)
    try:
        return datetime.fromisoformat(found[1].decode()).timestamp() if found is not None else 0.0
    except (ValueError, OverflowError):
        return 0.0
