"""The lines of a transcript by their time, without their contents.

Lines bear the wall clock. Memory is bounded by 16 bytes a line. Nothing is written.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from datetime import datetime
from pathlib import Path
from typing import Final, final

from greenroom.core import JournalError
from greenroom.trace._growing_file import FileState, GrowingFile

_TIMESTAMP: Final = re.compile(rb'"timestamp":\s?"([^"]{19,40})"')
_EARLY_BYTES: Final = 2_000
"""Bytes of a line in which its time stands."""


@final
class TimedLines:
    """The lines of a file that may grow.

    Args:
        folder: A folder.
        name: The name of a file in it, from a journal, which may say anything.

    Raises:
        JournalError: It is not the name of a file of this folder, or it cannot be opened.
    """

    def __init__(self, folder: Path, name: str) -> None:
        if not name or "\0" in name or Path(name).name != name:
            raise JournalError(name, "not a file of the folder of transcripts")
        self._file = GrowingFile(folder / name)
        self._times = array("d")
        """The latest time up to each line, in seconds of the epoch."""
        self._places = array("Q")

    def __len__(self) -> int:
        """Return the number of lines read."""
        return len(self._places)

    def read_on(self) -> None:
        """Read what is new.

        Raises:
            JournalError: It cannot be read.
        """
        file = self._file
        while file.state is FileState.SAME:
            place = file.place
            content = file.read()
            if not content:
                return
            for line in content.split(b"\n")[:-1]:
                self._places.append(place)
                self._times.append(max(self._times[-1] if self._times else 0.0, _time_of(line)))
                place += len(line) + 1

    def count_at(self, epoch_s: float) -> int:
        """Return how many lines had been written at a time, in seconds of the epoch."""
        return bisect_right(self._times, epoch_s)

    def begin_within(self, end: int, max_bytes: int) -> int:
        """Return the first of the last lines before a line that take a number of bytes at most; at least one line."""
        return min(bisect_right(self._places, self._place(end) - max_bytes), max(0, end - 1))

    def lines(self, begin: int, end: int) -> list[bytes]:
        """Return the lines from one number up to, and without, another.

        Raises:
            JournalError: They cannot be read.
        """
        begin, end = max(0, begin), min(end, len(self))
        if begin >= end:
            return []
        return self._file.read_range(self._places[begin], self._place(end)).split(b"\n")[:-1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _place(self, number: int) -> int:
        return self._places[number] if number < len(self._places) else self._file.place


def _time_of(line: bytes) -> float:
    """Return the time of a line in seconds of the epoch; 0 for a line without one, which is as old as the line before it."""
    found = _TIMESTAMP.search(line, 0, _EARLY_BYTES)
    try:
        return datetime.fromisoformat(found[1].decode()).timestamp() if found is not None else 0.0
    except (ValueError, OverflowError):
        return 0.0
