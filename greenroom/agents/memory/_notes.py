"""The notes that an agent starts with, and what it is told about its memory.

At most the first 200 lines, and at most 25 KB of them: the rest is left for Read. Rendering is pure. Must not
know: whose notes they are.
"""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.agents._definition import MemoryScope
from greenroom.agents.memory._folders import MEMORY_FILE, MemoryFolder
from greenroom.core.sources import Unusable, read_start
from greenroom.core.texts import escape_text

NOTES_LINES: Final = 200
NOTES_BYTES: Final = 25_000
_READ_BYTES: Final = 4 * NOTES_BYTES

_ABOUT: Final = (
    "You have a folder for notes that outlive this conversation: {folder}\n{whose}\n\n"
    "Read and write files there with Read, Write and Edit; make the folder by writing the first file. You start with the "
    "beginning of MEMORY.md, so keep that an index: short lines, details in files of their own beside it. Note what will "
    "help the next time: decisions, conventions, what went wrong and why. Correct what turns out wrong. Keep no secrets, and "
    "nothing that the project's files say already."
)
_WHOSE: Final = {
    MemoryScope.USER: "It is yours in every project of this user, so keep what holds everywhere.",
    MemoryScope.PROJECT: "It belongs to this project and is shared with all who work on it.",
    MemoryScope.LOCAL: "It belongs to this checkout of the project alone.",
    None: "It belongs to this project, in all its checkouts.",
}


@final
@attrs.frozen(kw_only=True)
class Notes:
    """The part of `MEMORY.md` that is read."""

    text: str = ""
    is_cut: bool = False
    """True if there is more in the file."""


def cut_notes(text: str) -> Notes:
    """Return the first 200 lines of a text, and of these at most 25,000 bytes."""
    lines = text.split("\n")
    first = "\n".join(lines[:NOTES_LINES])
    content = first.encode("utf-8", "replace")
    kept = content[:NOTES_BYTES].decode("utf-8", "ignore")
    is_cut = len(content) > NOTES_BYTES or any(line.strip() for line in lines[NOTES_LINES:])
    return Notes(text=kept.strip("\n"), is_cut=is_cut)


def read_notes(memory: MemoryFolder) -> Notes:
    """Return the notes of a folder; none where there are none, or where they cannot be read. It blocks."""
    try:
        return cut_notes(read_start(memory.file, _READ_BYTES).replace("\r\n", "\n"))
    except Unusable:
        return Notes()


def render_memory(memory: MemoryFolder | None, notes: Notes) -> str:
    """Return what the system prompt says about the memory of an agent; empty for one without."""
    if memory is None:
        return ""
    parts = ["# Your memory", _ABOUT.format(folder=memory.folder, whose=_WHOSE[memory.scope])]
    if notes.is_cut:
        parts.append(
            f"{MEMORY_FILE} is longer than what you see: only the first {NOTES_LINES} lines and {NOTES_BYTES:,} bytes are "
            "shown. Tidy it up: keep what matters, and move details into files of their own."
        )
    parts.append(f"## {MEMORY_FILE}\n\n{escape_text(notes.text)}" if notes.text else f"{MEMORY_FILE} is empty so far.")
    return "\n\n".join(parts)
