"""A text file held whole, to be changed: how it is encoded, how its lines end, and replacing a part of it.

Rule 1: what is not replaced stays as it is, byte for byte, whatever its encoding and line ends. Rule 2: a model writes and
reads line feeds only; what it writes gets the line ends of the file. Must not know: disk and tools.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from typing import Final

import attrs

_BOM: Final = "\ufeff"
# Bytes that are no UTF-8 become lone surrogates, and the same bytes again.
_ERRORS: Final = "surrogateescape"


@attrs.frozen
class Text:
    """The content of a text file, with its line ends as line feeds."""

    plain: str
    """Without the byte order mark; `\\r\\n` is `\\n` here."""
    has_mark: bool
    """True if the file began with a byte order mark."""
    is_utf8: bool
    carriages: tuple[int, ...]
    """The line feeds of `plain` that have a carriage return before them in the file."""

    @property
    def line_end(self) -> str:
        """The line end of most lines."""
        return "\r\n" if 2 * len(self.carriages) > self.plain.count("\n") else "\n"

    def spans(self, wanted: str) -> list[tuple[int, int]]:
        """Return the places of `wanted` in `plain`, overlapping ones included."""
        found = []
        at = self.plain.find(wanted)
        while at >= 0:
            found.append((at, at + len(wanted)))
            at = self.plain.find(wanted, at + 1)
        return found

    def replaced(self, spans: list[tuple[int, int]], new: str) -> bytes:
        """Return the file's new content: `new` in the place of each span; the spans are in order and do not overlap."""
        original = self._original()
        written = new.replace("\n", self.line_end)
        parts = []
        done = 0
        for start, end in spans:
            parts += [original[done : self._place(start)], written]
            done = self._place(end)
        return encoded("".join([*parts, original[done:]]), has_mark=self.has_mark)

    def line_of(self, at: int) -> int:
        """Return the number of the line, from 1, on which a character of `plain` stands."""
        return self.plain.count("\n", 0, at) + 1

    def _original(self) -> str:
        parts = []
        done = 0
        for at in self.carriages:
            parts.append(self.plain[done:at])
            done = at
        return "\r".join([*parts, self.plain[done:]])

    def _place(self, at: int) -> int:
        return at + bisect_left(self.carriages, at)


def decoded(content: bytes) -> Text:
    """Return the text of a file's content; any bytes do."""
    try:
        text = content.decode("utf-8")
        is_utf8 = True
    except UnicodeDecodeError:
        text = content.decode("utf-8", errors=_ERRORS)
        is_utf8 = False
    has_mark = text.startswith(_BOM)
    pieces = text.removeprefix(_BOM).split("\r\n")
    carriages = []
    at = 0
    for piece in pieces[:-1]:
        at += len(piece)
        carriages.append(at)
        at += 1
    return Text("\n".join(pieces), has_mark, is_utf8, tuple(carriages))


def encoded(text: str, *, has_mark: bool) -> bytes:
    """Return text as the bytes of a file."""
    content = text.encode("utf-8", errors=_ERRORS)
    return codecs.BOM_UTF8 + content if has_mark else content


def plain(text: str) -> str:
    """Return what a model wrote, with line feeds only."""
    return text.replace("\r\n", "\n")


def line_count(text: str) -> int:
    """Return how many lines text has, as Read numbers them; a line feed at the end begins no new one."""
    return text.count("\n") + bool(text and not text.endswith("\n"))


def printable(text: str) -> str:
    """Return a text of a file with its invalid bytes replaced, for readers of Unicode."""
    return text.encode("utf-8", _ERRORS).decode("utf-8", "replace")
