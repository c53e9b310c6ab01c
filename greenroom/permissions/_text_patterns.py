"""Patterns with `*` over text, and over text with gaps that only the shell can fill.

Rule 1: `*` stands for any text, spaces and newlines included. Rule 2: work is linear in the text, whatever the pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, final

import attrs

from greenroom.permissions._shell_words import Pieces


@final
@attrs.frozen
class TextPattern:
    """A pattern of one rule.

    Attributes:
        text: Literal characters, and `*` for any text.
        has_tail: After a match of `text`, a space and anything may follow (`Bash(git log *)`).
    """

    text: str
    has_tail: bool = False

    @property
    def is_exact(self) -> bool:
        """True if it matches one text only."""
        return not self.has_tail and "*" not in self.text

    def matches(self, text: str) -> bool:
        """True if the whole text matches."""
        return _glob(self.text, text) or (self.has_tail and _glob(self.text + " *", text))

    def may_match(self, pieces: Pieces) -> bool:
        """True if the text could match for some content of its gaps."""
        return _meets(self.text, pieces) or (self.has_tail and _meets(self.text + " *", pieces))


def command_pattern(content: str) -> TextPattern:
    """Return the pattern of a shell rule: a `*` after the last space, or `:*` at the end, is a tail."""
    for tail in (":*", " *"):
        if content.endswith(tail) and content != tail:
            return TextPattern(_spaced(content[:-2]), has_tail=True)
    return TextPattern(_spaced(content))


def _spaced(text: str) -> str:
    # Outside quotes, any blanks separate words; the commands that patterns meet have single spaces.
    return text.strip() if any(quote in text for quote in "'\"\\") else " ".join(text.split())


def _glob(pattern: str, text: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


_STAR: Final = "*"


@lru_cache(maxsize=1_024)
def _automaton(pattern: str) -> tuple[dict[str, int], int, int]:
    """Return the positions of each character, those of stars, and the last state; all as bit sets."""
    reads: dict[str, int] = {}
    stars = 0
    state = 0
    for char in pattern:
        if char == _STAR:
            stars |= 1 << state
        else:
            reads[char] = reads.get(char, 0) | 1 << state
            state += 1
    return reads, stars, state


def _meets(pattern: str, pieces: Pieces) -> bool:
    reads, stars, last = _automaton(pattern)
    everything = (1 << last + 1) - 1
    states = 1
    for piece in pieces:
        if piece is None:
            # Any text: every state from the first one on can be reached.
            states = everything & -(states & -states)
            continue
        for char in piece:
            states = (states & reads.get(char, 0)) << 1 | states & stars
            if not states:
                return False
    return bool(states >> last & 1)
