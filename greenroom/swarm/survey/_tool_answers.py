"""Reading what the tools answer: numbered lines of Read, paths of Glob, counts and matches of Grep, items of TaskList.

What the tool says it left out is kept, never taken for nothing. An answer in an unknown form gives less, never an
exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import attrs

_NUMBERED: Final = re.compile(r" *(\d+)\t")
_GOES_ON: Final = re.compile(r"\(.* goes on: read the rest with offset=(\d+)\)")
_CUT: Final = re.compile(r"\.\.\. \(cut: the line has \d+ characters or more\)$")
_MORE: Final = re.compile(r"\(there is more: go on with offset=(\d+), or narrow the search\)")
_TOTAL: Final = re.compile(r"\(the first \d+ of (\d+) files; ")
_SKIPPED: Final = re.compile(r"\((skipped, [a-z ]+|folders that cannot be listed|not all UTF-8, [a-z ]+): (.*)\)")
_AND_MORE: Final = re.compile(r", and (\d+) more$")
_ITEM: Final = re.compile(r"#?(\d+)\b.*\b(pending|in_progress|completed)\b(?:.*\b(?:owner|by):? ?([\w@.-]+))?")


@attrs.frozen
class ReadAnswer:
    """One answer of Read."""

    lines: tuple[str, ...]
    next_offset: int | None
    """The line at which the file continues; None at its end."""
    is_utf8: bool
    cut_lines: tuple[int, ...]
    """Numbers of the lines of which only the start is there."""


def parse_page(answer: str) -> ReadAnswer:
    """Read an answer of Read."""
    lines = []
    cut = []
    next_offset = None
    is_utf8 = True
    for line in answer.split("\n"):
        number = _NUMBERED.match(line)
        if number is not None:
            text = line[number.end() :]
            if _CUT.search(text):
                text = _CUT.sub("", text)
                cut.append(int(number[1]))
            lines.append(text)
        elif goes_on := _GOES_ON.fullmatch(line):
            next_offset = int(goes_on[1])
        elif " is not all UTF-8: " in line:
            is_utf8 = False
    return ReadAnswer(tuple(lines), next_offset, is_utf8, tuple(cut))


@attrs.frozen
class Names:
    """One answer of Glob."""

    paths: tuple[str, ...]
    total: int
    """Files that matched, listed or not."""
    notes: tuple[str, ...]
    """Places that could not be read, in the tool's words."""


def parse_names(answer: str) -> Names:
    """Read an answer of Glob."""
    paths, notes = _split_notes(answer)
    total = len(paths)
    kept = []
    for note in notes:
        if found := _TOTAL.match(note):
            total = int(found[1])
        elif not note.startswith("(no file matches ") and not _SKIPPED.fullmatch(note):  # searches say that, too
            kept.append(note)
    return Names(tuple(paths), total, tuple(kept))


@attrs.frozen
class SkippedFiles:
    """Files that a search could not look at, or not as they are."""

    count: int
    names: tuple[str, ...]
    """As far as the tool gave them."""

    def __add__(self, other: SkippedFiles) -> SkippedFiles:
        """Return the files of both; those that a walk of the whole folder met were met by both, and count once."""
        if not set(self.names).isdisjoint(other.names):
            return max(self, other, key=lambda one: one.count)
        return SkippedFiles(self.count + other.count, (*self.names, *other.names))

    @property
    def text(self) -> str:
        """The names, and how many more there are."""
        rest = self.count - len(self.names)
        return ", ".join(self.names) + (f", and {rest:,} more" if rest else "")


@attrs.frozen
class GrepAnswer:
    """One answer of Grep that counts matching lines."""

    counts: dict[str, int]
    next_offset: int | None
    skipped: dict[str, SkippedFiles]
    """By what happened to them."""


def parse_counts(answer: str) -> GrepAnswer:
    """Read an answer of Grep in the mode `count`."""
    lines, notes = _split_notes(answer)
    counts = {}
    for line in lines:
        path, _, number = line.rpartition(":")
        if path and number.isdecimal():
            counts[path] = int(number)
    return GrepAnswer(counts, next_offset_of(answer), _skipped(notes))


@attrs.frozen
class Match:
    """A line that Grep found."""

    path: str
    line: int
    text: str


def parse_matches(answer: str) -> tuple[Match, ...]:
    """Read an answer of Grep in the mode `content`, without its lines of context."""
    found = []
    for line in _split_notes(answer)[0]:
        match = re.match(r"(.+?):(\d+):(.*)", line)
        if match is not None:
            found.append(Match(match[1], int(match[2]), match[3]))
    return tuple(found)


def next_offset_of(answer: str) -> int | None:
    """Return the offset at which a search continues, None if it is complete."""
    more = _MORE.search(answer)
    return int(more[1]) if more else None


@attrs.frozen
class BoardItem:
    """An item as TaskList shows it."""

    id: str
    status: str
    owner: str
    subject: str = ""
    """Empty where the answer does not say."""
    findings: str = ""
    """Empty where the answer does not show them."""


def parse_items(answer: str) -> tuple[BoardItem, ...]:
    """Read an answer of TaskList: JSON with `tasks`, or one line per item."""
    try:
        entries = json.loads(answer)
    except ValueError:
        found = [_ITEM.search(line) for line in answer.split("\n")]
        return tuple(BoardItem(diagnostic[1], diagnostic[2], diagnostic[3] or "") for diagnostic in found if diagnostic)
    if isinstance(entries, dict):
        entries = entries.get("tasks", [])
    return tuple(_items_of(entries)) if isinstance(entries, list) else ()


def parse_full_item(answer: str) -> BoardItem | None:
    """Read an answer of TaskGet; None if it shows no item."""
    try:
        entry = json.loads(answer)["task"]
    except (ValueError, KeyError, TypeError):
        return None
    return next(_items_of([entry]), None)


def _items_of(entries: list[Any]) -> Iterator[BoardItem]:
    for entry in entries:
        if isinstance(entry, dict) and "id" in entry:
            words = [str(entry.get(key) or "") for key in ("status", "owner", "subject", "findings")]
            yield BoardItem(str(entry["id"]), *words)


def _split_notes(answer: str) -> tuple[list[str], list[str]]:
    """Part an answer into its lines and the notes at its end, each of which is a line in parentheses."""
    lines = [line for line in answer.split("\n") if line]
    notes: list[str] = []
    while lines and lines[-1].startswith("(") and lines[-1].endswith(")"):
        notes.insert(0, lines.pop())
    return lines, notes


def _skipped(notes: list[str]) -> dict[str, SkippedFiles]:
    skipped = {}
    for note in notes:
        found = _SKIPPED.fullmatch(note)
        if found is not None:
            more = _AND_MORE.search(found[2])
            named = found[2][: more.start()] if more else found[2]
            names = tuple(named.split(", "))
            skipped[found[1]] = SkippedFiles(len(names) + (int(more[1]) if more else 0), names)
    return skipped
