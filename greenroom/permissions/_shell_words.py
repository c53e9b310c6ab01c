"""Parts of a shell script that rules use: words, redirections, simple commands.

Rule 1: a word has a value only if the shell leaves it unchanged; every other part of it is a gap that may stand for any
text. Rule 2: nothing here runs, expands or reads the disk.

Must not know: rules, modes, tools.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

Pieces: TypeAlias = tuple[str | None, ...]
"""Text in order; None is a gap: text that only the shell knows, of any length, also several words or none."""


@final
@attrs.frozen
class Expansion:
    """One expansion in a word.

    Attributes:
        kind: Whether a variable, a command, or the text of an expression stands for the text.
        text: The name of the variable, the script of the command, or the names in the expression.
        is_quoted: Whether it stands in double quotes, so that no pattern in its text means files.
        origin: For a variable that the script itself certainly sets before: `plain` where its text holds no pattern, else `any`.
    """

    kind: Literal["variable", "command", "expression"]
    text: str
    is_quoted: bool = False
    origin: Literal["", "plain", "any"] = ""


@final
@attrs.frozen
class Word:
    """One word of a command.

    Attributes:
        raw: As it is written, quotes included.
        value: Without quotes, glob characters as they are; None where an expansion takes part.
        pieces: The value with a gap for each expansion and each glob character.
        expansions: What the shell puts into it; braces and patterns are none.
        has_pattern: Whether a pattern of file names stands in it.
    """

    raw: str
    value: str | None
    pieces: Pieces
    expansions: tuple[Expansion, ...] = ()
    has_pattern: bool = False

    @property
    def is_process(self) -> bool:
        """True if it is the output or input of a command, `<(...)` or `>(...)`, and nothing else."""
        is_alone = self.pieces == (None,) and not self.expansions and not self.has_pattern
        return is_alone and self.raw.startswith(("<(", ">(")) and self.raw.endswith(")")

    @property
    def has_gap(self) -> bool:
        """True if the shell may change it: by an expansion, a glob or a brace."""
        return None in self.pieces


@final
@attrs.frozen
class Redirect:
    """A redirection to or from a file; copies of descriptors and here-documents are none."""

    operator: str
    target: Word

    @property
    def is_write(self) -> bool:
        """True if the file may be written."""
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


_GIT_VALUES: Final = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source")
)


def program(words: Sequence[Word]) -> str:
    """Return the name of the program without its folder; empty where only the shell could tell."""
    first = words[0].value if words else None
    return posixpath.basename(first) if first and (not words[0].has_gap or first == "[") else ""


def git_command(words: Sequence[Word]) -> int:
    """Return the index of the git command after the options of git itself; past the end if there is none."""
    at = 1
    while at < len(words):
        value = words[at].value
        if value is None or not value.startswith("-"):
            break
        at += 2 if value in _GIT_VALUES else 1
    return at
