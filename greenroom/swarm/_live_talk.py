"""Conversations of a run that goes on, read from its transcripts as these grow."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.store import read_transcript
from greenroom.terminal.screen import TalkPart, talk_parts

MAX_PARTS: Final = 200
"""Parts of a conversation that are kept, the latest."""
MAX_BYTES: Final = 256 * 1024
"""Bytes that are read at once; what is before them is left out."""


@final
@attrs.define
class LiveTalk:
    """The conversation that is open on the screen; at most one is kept in memory."""

    folder: Path
    """The folder of the transcripts."""
    _name: str = ""
    _read_bytes: int = 0
    _parts: deque[TalkPart] = attrs.field(factory=lambda: deque(maxlen=MAX_PARTS))

    def parts(self, transcript: str) -> tuple[TalkPart, ...]:
        """Return what a transcript holds by now; nothing where it cannot be read."""
        if transcript != self._name:
            self._name, self._read_bytes = transcript, 0
            self._parts.clear()
        path = self.folder / transcript
        try:
            size = path.stat().st_size if transcript else 0
        except OSError:
            return tuple(self._parts)
        if size > self._read_bytes:
            self._read(path, size)
        return tuple(self._parts)

    def _read(self, path: Path, size: int) -> None:
        lines = read_transcript(path, start=max(self._read_bytes, size - MAX_BYTES), end=size)
        try:
            for line in lines:
                self._parts.extend(talk_parts(line))
        except UsageError:
            return
        self._read_bytes = size - lines.torn_bytes  # the rest of a line that is being written comes later
