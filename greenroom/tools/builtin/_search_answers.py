"""Texts that the search tools share: lists that are cut, and what a search passed over.

Rule 1: what is left out is said in the last lines, in parentheses, with the way to get it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from greenroom.tools.builtin._file_reader import Binary, TooLarge, Unreadable, reason_of, shown_path
from greenroom.tools.builtin._walk import MAX_DEPTH, MAX_ENTRIES, Walk

MAX_ANSWER_CHARACTERS: Final = 60_000
"""Maximum size of one answer, before its notes; roughly 15,000 tokens."""
MAX_NAMED: Final = 5
"""Maximum number of files that one note names."""


@attrs.define
class Skipped:
    """The files that a search skipped, for its notes."""

    binary: list[Path] = attrs.field(factory=list)
    unreadable: list[tuple[Path, str]] = attrs.field(factory=list)
    too_large: list[Path] = attrs.field(factory=list)
    bad_encoding: list[Path] = attrs.field(factory=list)
    """Searched, with the bad bytes replaced."""
    long_lines: int = 0
    """Lines of which only the start was searched."""

    def add(self, path: Path, error: Unreadable | OSError) -> None:
        """Record a file that could not be searched."""
        match error:
            case Binary():
                self.binary.append(path)
            case TooLarge():
                self.too_large.append(path)
            case Unreadable():
                self.unreadable.append((path, error.reason))
            case OSError():
                self.unreadable.append((path, reason_of(error)))

    def notes(self, cwd: Path) -> list[str]:
        """Return one line for each kind of thing that there was."""
        reasons = [f"{shown_path(path, cwd)}: {reason}" for path, reason in self.unreadable]
        found = [
            _note("skipped, binary", [shown_path(path, cwd) for path in self.binary]),
            _note("skipped, cannot be read", reasons),
            _note("skipped, too large for multiline", [shown_path(path, cwd) for path in self.too_large]),
            _note("not all UTF-8, bad bytes replaced", [shown_path(path, cwd) for path in self.bad_encoding]),
        ]
        if self.long_lines:
            found.append(f"(very long lines, searched only at their start: {self.long_lines})")
        return [note for note in found if note]


def walk_notes(walk: Walk, cwd: Path) -> list[str]:
    """Return what a walk left out."""
    notes = []
    if walk.is_cut:
        limits = f"{MAX_ENTRIES} entries, {MAX_DEPTH} folders deep"
        notes.append(f"(the folder is too large to see all of it ({limits}): give a folder below it as path)")
    if walk.hidden:
        notes.append(
            f"(left out, because rules keep them from being read: {walk.hidden} file{'s' * (walk.hidden > 1)})"
        )
    folders = [f"{shown_path(path, cwd)}: {reason}" for path, reason in walk.unreadable]
    special = [shown_path(path, cwd) for path in sorted(walk.special)]
    notes += [_note("folders that cannot be listed", folders), _note("skipped, not a regular file", special)]
    return [note for note in notes if note]


def fitting(lines: Sequence[str], most: int) -> int:
    """Return how many of the lines fit into an answer: at most `most`, and within its size."""
    room = MAX_ANSWER_CHARACTERS
    for at, line in enumerate(lines[:most]):
        room -= len(line) + 1
        if room < 0:
            return at
    return min(most, len(lines))


def clipped(line: str, most: int) -> str:
    """Return a line, or its start and how long it is."""
    return line if len(line) <= most else f"{line[:most]}... (cut: the line has {len(line)} characters or more)"


def _note(what: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f", and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"({what}: {', '.join(names[:MAX_NAMED])}{more})"
