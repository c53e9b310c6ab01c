"""What a shell script is made of, as far as rules look at it: words, redirections, simple commands.

Rule 1: a word knows what it is worth only where the shell would change nothing; every other part of it is a gap that may
stand for any text. Rule 2: nothing here runs, expands or looks at the disk.
Must not know: rules, modes, tools.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

Pieces: TypeAlias = tuple[str | None, ...]
"""Text in order; None is a gap: text that only the shell knows, of any length, also several words or none."""


@final
@attrs.frozen
class Word:
    """One word of a command.

    Attributes:
        raw: As it is written, quotes included.
        value: Without quotes, glob characters as they are; None where an expansion takes part.
        pieces: The value with a gap for each expansion and each glob character.
    """

    raw: str
    value: str | None
    pieces: Pieces

    @property
    def has_gap(self) -> bool:
        """Whether the shell may make other text of it: an expansion, a glob or a brace."""
        return None in self.pieces


@final
@attrs.frozen
class Redirect:
    """A redirection to or from a file; copies of descriptors and here-documents are none."""

    operator: str
    target: Word

    @property
    def is_write(self) -> bool:
        """Whether the file may be written."""
        return self.operator != "<"


@final
@attrs.frozen(kw_only=True)
class Command:
    """A simple command.

    Attributes:
        assignments: The assignments in front; the whole command where there are no words.
        words: The program and its arguments.
        redirects: Files that it reads or writes by redirection.
        texts: Here-documents and here-strings that it reads.
    """

    assignments: tuple[Word, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    texts: tuple[Word, ...] = ()

    @property
    def raw(self) -> str:
        """The assignments and words as written, one space between them."""
        return " ".join(word.raw for word in (*self.assignments, *self.words))


class Unparsable(Exception):
    """The script cannot be read with certainty; `args[0]` says why."""
