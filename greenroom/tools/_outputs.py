"""Output of a command, as shown to a model: all of it, or its start and end with the path of the rest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs

INLINE_CHARACTERS: Final = 30_000
"""Maximum number of characters of a command's output that are shown; Claude Code's number."""
_BYTES_PER_CHARACTER: Final = 4


@attrs.frozen
class Output:
    """The output of a command."""

    text: str
    """All of it, or head and tail with a line between them that says so; without the line feeds at its end."""
    size_bytes: int
    is_cut: bool


def read_output(path: Path, most: int = INLINE_CHARACTERS) -> Output:
    """Return what is in a file of output; a missing one is empty.

    Args:
        path: The file; it may still be written to.
        most: How many characters are shown.

    Raises:
        OSError: It cannot be read.
    """
    room = most * _BYTES_PER_CHARACTER
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= 2 * room:
                text = _text(file.read(2 * room))
                if len(text) <= most:
                    return Output(text.rstrip("\r\n"), size, is_cut=False)
                head = tail = text
            else:
                head = _text(file.read(room))
                file.seek(size - room)
                tail = _text(file.read(room))
    except FileNotFoundError:
        return Output("", 0, is_cut=False)
    half = most // 2
    note = f"... (cut: {size} bytes in all, of which this is the start and the end; the whole output: {path}) ..."
    return Output(f"{head[:half]}\n{note}\n{tail[-half:].rstrip()}", size, is_cut=True)


def read_tail(path: Path, most: int) -> str:
    """Return the last characters of a file of output, from the start of a line if possible; "" without a file."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - most * _BYTES_PER_CHARACTER))
            text = _text(file.read(most * _BYTES_PER_CHARACTER)).strip()
    except OSError:
        return ""
    if len(text) <= most:
        return text
    tail = text[-most:]
    return tail.partition("\n")[2] or tail


def _text(content: bytes) -> str:
    # A NUL is legal in text, and poison for terminals and for some readers of JSON.
    return content.decode("utf-8", errors="replace").replace("\0", "\ufffd")
