"""Results of a search, in the form of the answer."""

from __future__ import annotations

from collections import deque
from typing import Final, Literal, TypeAlias

import attrs

from greenroom.tools.builtin._file_reader import Block
from greenroom.tools.builtin._search_answers import MAX_ANSWER_CHARACTERS, clipped

LINE_CHARACTERS: Final = 500

OutputMode: TypeAlias = Literal["content", "files_with_matches", "count"]


@attrs.frozen(kw_only=True)
class Shape:
    """The form of the answer."""

    mode: OutputMode
    before: int
    """Lines of context before a match."""
    after: int
    """Lines of context after a match."""
    is_numbered: bool


@attrs.define
class FoundLines:
    """The lines of the answer."""

    skip: int
    """Lines to leave out first."""
    most: float
    """Lines to keep."""
    lines: list[str] = attrs.field(factory=list)
    has_more: bool = False
    """True if there was a line beyond those: then the search can end."""
    is_any: bool = False
    """True if anything matched, skipped or not."""
    room: int = MAX_ANSWER_CHARACTERS

    def told(self, mode: OutputMode, offset: int) -> dict[str, object]:
        """Return what hooks are told of it: the paths, or the lines in one piece."""
        lines = self.lines
        told: dict[str, object] = {"mode": mode, "numFiles": 0, "filenames": []}
        if mode == "files_with_matches":
            told |= {"numFiles": len(lines), "filenames": lines}
        elif mode == "content":
            told |= {"content": "\n".join(lines), "numLines": len(lines)}
        else:
            matches = sum([int(line.rpartition(":")[2]) for line in lines])
            told |= {"numFiles": len(lines), "content": "\n".join(lines), "numMatches": matches}
        if self.has_more:
            told["appliedLimit"] = len(lines)
        return {**told, "appliedOffset": offset} if offset else told

    def add(self, line: str) -> None:
        """Add the next line."""
        self.is_any = True
        if self.skip:
            self.skip -= 1
            return
        self.room -= len(line) + 1
        if len(self.lines) >= self.most or (self.room < 0 and self.lines):
            self.has_more = True
        elif not self.has_more:
            self.lines.append(line)


@attrs.define
class Excerpt:
    """One file while it is searched."""

    name: str
    shape: Shape
    found: FoundLines
    matches: int = 0
    """Lines that matched so far."""
    _waiting: deque[tuple[int, str]] = attrs.field(init=False)
    _number: int = attrs.field(init=False, default=1)
    _due: int = attrs.field(init=False, default=0)
    _last: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._waiting = deque(maxlen=self.shape.before)

    @property
    def is_done(self) -> bool:
        """True if the rest of the file cannot change the answer."""
        return self.found.has_more or (self.shape.mode == "files_with_matches" and self.matches > 0)

    def feed(self, block: Block, matching: list[int]) -> None:
        """Add the next lines of the file, with the indices of those that match, from 0 and in order."""
        first = self._number
        self._number += block.count
        self.matches += len(matching)
        if self.shape.mode != "content":
            return
        if not matching and not self._due:
            # Nearly every block of nearly every file comes here: do not look at its lines for nothing.
            if self.shape.before:
                self._waiting.extend(enumerate(block.lines, first))
            return
        marked = set(matching)
        for at, text in enumerate(block.lines):
            self._feed_line(first + at, text, is_match=at in marked)
            if self.found.has_more:
                return

    def _feed_line(self, number: int, text: str, *, is_match: bool) -> None:
        if is_match:
            self._set_apart(number - len(self._waiting))
            while self._waiting:
                self._show(*self._waiting.popleft(), "-")
            self._show(number, text, ":")
            self._due = self.shape.after
        elif self._due:
            self._show(number, text, "-")
            self._due -= 1
        else:
            self._waiting.append((number, text))

    def close(self) -> None:
        """The file has ended, or `is_done`."""
        if self.matches and self.shape.mode == "files_with_matches":
            self.found.add(self.name)
        elif self.matches and self.shape.mode == "count":
            self.found.add(f"{self.name}:{self.matches}")

    def _set_apart(self, number: int) -> None:
        has_context = self.shape.before or self.shape.after
        if has_context and self.found.is_any and (self._last == 0 or number > self._last + 1):
            self.found.add("--")

    def _show(self, number: int, text: str, mark: str) -> None:
        self._last = number
        place = f"{self.name}{mark}{number}{mark}" if self.shape.is_numbered else f"{self.name}{mark}"
        self.found.add(place + clipped(text, LINE_CHARACTERS))
