"""Parts of a text that is longer than a channel takes.

Rule 1: the bodies of the parts, one after the other, are the text. Rule 2: no part is over the limit, in the channel's own measure.
Rule 3: a text is cut between paragraphs, else between lines, else between characters, never inside one. Rule 4: a code fence that a cut
leaves open is closed, and opened again in the next part.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import UsageError

Measure: TypeAlias = Callable[[str], int]
"""Returns the length of a text as a channel counts it; it must not fall when the text grows."""

_FENCE: Final = re.compile(r"^((?:> )?)(`{3,}|~{3,})([^\n`]{0,40})$", re.MULTILINE)
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")
_SKIN: Final = range(0x1F3FB, 0x1F400)
_FLAG: Final = range(0x1F1E6, 0x1F200)


def utf8_bytes(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def utf16_units(text: str) -> int:
    """Return the length of a text in units of UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@final
@attrs.frozen
class CutPart:
    """A part of a text."""

    body: str
    """A piece of the text itself."""
    opening: str = ""
    """The fence that is opened again."""
    closing: str = ""
    """The fence that is closed."""

    @property
    def text(self) -> str:
        """The text to send."""
        return self.opening + self.body + self.closing


def cut_parts(text: str, limit: int, measure: Measure = len) -> tuple[CutPart, ...]:
    """Return a text in parts; the last line of the text stands on the last part if it fits there.

    Args:
        text: The text; an empty one has no part.
        limit: The greatest length of a part.
        measure: The channel's measure.

    Raises:
        UsageError: The limit is below the length of a single character.
    """
    return tuple(_cut(text, limit, measure))


def cut_line(line: str, limit: int, measure: Measure = len) -> tuple[str, ...]:
    """Return a single line in pieces that are within a limit and, one after the other, are the line.

    Args:
        line: A text without line breaks; an empty one has no piece.
        limit: The greatest length of a piece.
        measure: The channel's measure.

    Raises:
        UsageError: The limit is below the length of a single character.
    """
    pieces, start = [], 0
    while start < len(line):
        rest = line[start:]
        end = len(rest) if measure(rest) <= limit else _place(rest, limit, measure)
        pieces.append(rest[:end])
        start += end
    return tuple(pieces)


def _cut(text: str, limit: int, measure: Measure) -> Iterator[CutPart]:
    start, fence = 0, ""
    while start < len(text):
        rest = text[start:]
        opening = _opening(fence)
        if measure(opening + rest) <= limit:
            yield CutPart(rest, opening)
            return
        room = limit - measure(opening) - (measure(_longest_closing(text)) if "```" in text or "~~~" in text else 0)
        if room < max(limit // 2, 8):  # no room for fences: the text itself comes first
            opening, room, fence = "", limit, ""
            body = rest[: _place(rest, room, measure)]
            closing = ""
        else:
            body = rest[: _place(rest, room, measure)]
            fence = _fence_after(fence, body)
            closing = _closing(fence, body)
        yield CutPart(body, opening, closing)
        start += len(body)


def _place(text: str, room: int, measure: Measure) -> int:
    """Return the length of the first part: text that fits, up to the best place for a cut."""
    low, high = 0, min(len(text), room)
    if measure(text[:high]) > room:
        while low < high - 1:
            middle = (low + high) // 2
            low, high = (middle, high) if measure(text[:middle]) <= room else (low, middle)
    else:
        low = high
    if low == 0:
        raise UsageError(f"limit must be at least the length of a character, got room for {room}")
    for mark in ("\n\n", "\n"):
        found = text.rfind(mark, low // 4, low)
        if found > 0:
            return found + len(mark)
    return next((place for place in range(low, max(0, low - 64), -1) if _is_between(text, place)), low)


def _is_between(text: str, place: int) -> bool:
    """True if no character, as a reader sees it, is on both sides of a place."""
    if place >= len(text):
        return True
    before, behind = text[place - 1], text[place]
    is_part = unicodedata.combining(behind) != 0 or unicodedata.category(behind) in {"Mn", "Me", "Mc"}
    is_joined = behind in _JOINERS or before == "\u200d" or ord(behind) in _SKIN
    is_pair = (ord(before) in _FLAG and ord(behind) in _FLAG) or (before == "\r" and behind == "\n")
    return not (is_part or is_joined or is_pair)


# --- fences -----------------------------------------------------------------------------------------------------------


def _fence_after(fence: str, body: str) -> str:
    """Return the line of the fence that is open behind a body; empty for none."""
    for found in _FENCE.finditer(body):
        if not fence:
            fence = found[0]
        elif found[2].startswith(_signs(fence)) and not found[3].strip():
            fence = ""
    return fence


def _signs(fence: str) -> str:
    found = _FENCE.match(fence)
    return found[2] if found is not None else ""


def _opening(fence: str) -> str:
    return f"{fence}\n" if fence else ""


def _closing(fence: str, body: str) -> str:
    if not fence:
        return ""
    found = _FENCE.match(fence)
    assert found is not None
    return f"{'' if body.endswith(chr(10)) else chr(10)}{found[1]}{found[2]}"


def _longest_closing(text: str) -> str:
    return max((f"\n{found[1]}{found[2]}" for found in _FENCE.finditer(text)), key=len, default="")
