"""Words and commands of a shell script that are not complete yet.

Must not know: rules, modes, tools, and the grammar of the shell.
"""

from __future__ import annotations

import re
from typing import Final, final

import attrs

from greenroom.permissions._shell_words import Command, Expansion, Redirect, Word

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_RANGE: Final = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\..*)?")
MAX_BRACED: Final = 10_000
"""Maximum number of words that the braces of one word may become unasked: the shell makes them all before anything runs."""


@final
class Builder:
    """Collects one word."""

    __slots__ = ("brace", "expansions", "has_expansion", "has_pattern", "pieces", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.pieces: list[str | None] = []
        self.expansions: list[Expansion] = []
        self.has_expansion = False
        self.has_pattern = False
        self.brace = 0  # 1: an unquoted brace is open; 2: and what makes it expand came after it

    def literal(self, text: str) -> None:
        self.text.append(text)
        self.pieces.append(text)

    def glob(self, char: str) -> None:
        self.has_pattern = True
        self.text.append(char)
        self.pieces.append(None)

    def gap(self, *expansions: Expansion) -> None:
        self.has_expansion = True
        self.expansions += expansions
        self.pieces.append(None)

    def word(self, raw: str) -> Word:
        if self.brace == 2:
            more = (Expansion("variable", raw),) if _words_of_braces(raw) > MAX_BRACED else ()
            return Word(raw, None, (None,), (*self.expansions, *more), self.has_pattern)
        value = None if self.has_expansion else "".join(self.text)
        return Word(raw, value, tuple(self.pieces), tuple(self.expansions), self.has_pattern)


def _words_of_braces(raw: str) -> int:
    """Return at most how many words the braces of a word become."""
    count = 1
    for found in _BRACES.finditer(raw):
        span = _RANGE.fullmatch(found[1])
        count *= abs(int(span[2]) - int(span[1])) + 1 if span else found[1].count(",") + 1
    return count


@final
@attrs.frozen
class HereDocument:
    """A here-document whose text has not been read yet."""

    delimiter: str
    is_literal: bool
    strips_tabs: bool
    texts: list[Word]


@final
@attrs.define
class Draft:
    """A command whose here-documents may still have to be read."""

    assignments: list[Word] = attrs.field(factory=list)
    words: list[Word] = attrs.field(factory=list)
    redirects: list[Redirect] = attrs.field(factory=list)
    texts: list[Word] = attrs.field(factory=list)

    def finished(self) -> Command:
        """Return the command."""
        return Command(
            assignments=tuple(self.assignments),
            words=tuple(self.words),
            redirects=tuple(self.redirects),
            texts=tuple(self.texts),
        )


def literal(text: str) -> Word:
    """Return a word that stands for itself."""
    return Word(text, text, (text,))


def is_plain(word: Word) -> bool:
    """True if nothing takes part in a word but text and variables whose text holds no pattern."""
    return word.value is not None or (
        len(word.pieces) > 0
        and bool(word.expansions)
        and all(part.kind == "variable" and part.origin == "plain" for part in word.expansions)
    )
