"""Conditions and patterns of a shell script: `[[ ... ]]`, arithmetic in loops, the words of `for`, the patterns of `case`, and what may stand between commands.

Rule 1: `[[` counts as one command whose words are what is compared. Rule 2: what bash would refuse raises `Unparsable`.
Must not know: rules, modes, tools.
"""

from __future__ import annotations

import re
from typing import Final

from greenroom.permissions._shell_commands import META, CommandReader
from greenroom.permissions._shell_drafts import Builder, Draft, literal
from greenroom.permissions._shell_words import Unparsable, Word

MAX_NESTING: Final = 30
"""Maximum nesting of compound commands."""

_UNARY: Final = re.compile(r"-[a-zA-Z]")
_BINARY: Final = frozenset(
    ("=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef")
)


class ConditionReader(CommandReader):
    """Reads conditions and what may stand between commands; a subclass parses the lists."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.nesting = 0
        self.functions: set[str] = set()
        """The functions that the script has defined so far."""

    def nest(self, step: int) -> None:
        """Go one level of compound commands deeper, or out again."""
        self.nesting += step
        if self.nesting > MAX_NESTING:
            raise Unparsable("it is nested too deeply")

    def skip_comment(self) -> None:
        """Step to the end of the line."""
        stop = self.text.find("\n", self.at)
        self.at = self.end if stop < 0 else stop

    def skip_newlines(self) -> None:
        """Step over blanks, lines and comments; here-documents are read on the way."""
        while True:
            self.skip_blanks()
            if self.peek("#"):
                self.skip_comment()
            elif self.peek("\n"):
                self.at += 1
                self.read_here_documents()
            else:
                return

    def is_word(self, name: str) -> bool:
        """True if a word of the shell's grammar stands here."""
        after = self.text[self.at + len(name) : self.at + len(name) + 1]
        return self.peek(name) and (not after or after in META)

    def head(self, *words: Word) -> None:
        """Note the head of a compound command as a command of its own."""
        self.drafts.append(Draft(words=list(words)))

    def arithmetic_part(self) -> None:
        """Parse one token in the head of an arithmetic loop."""
        self.has_arithmetic = True
        char = self.text[self.at]
        if char in "'\"\\[]\n":
            raise Unparsable("its arithmetic is not plain")
        if char == "(":
            self.at += 1
            self.nest(1)
            while self.at < self.end and not self.peek(")"):
                self.arithmetic_part()
            self.nest(-1)
            self.at += 1
        elif char == ")":
            raise Unparsable("its arithmetic is not plain")
        elif char in "$`":
            self.quoted(char, Builder(), escapes="")
        else:
            self.at += 1

    def patterns(self) -> list[Word]:
        """Read the patterns of one branch of `case`, and the parenthesis behind them."""
        words: list[Word] = []
        if self.peek("("):
            self.at += 1
        while True:
            self.skip_blanks()
            before = self.at
            word = self.word()
            self.skip_blanks()
            if self.at == before or not word.raw or not (self.peek("|") or self.peek(")")):
                raise Unparsable("a pattern of a case is not understood")
            words.append(
                Word(word.raw, word.value, (word.value,) if word.value is not None else (None,), word.expansions)
            )
            self.at += 1
            if self.text[self.at - 1] == ")":
                return words

    def loop_words(self) -> list[Word]:
        """Read the words that a `for` goes through."""
        words: list[Word] = []
        self.skip_newlines()
        if self.is_word("in"):
            self.at += 2
            while True:
                self.skip_blanks()
                if self.at >= self.end:
                    raise Unparsable("a loop is not closed")
                if self.text[self.at] in ";\n#":
                    break
                if self.text[self.at] in META and not self.text.startswith(("<(", ">("), self.at):
                    raise Unparsable(f"unexpected {self.text[self.at]!r}, expected a word")
                words.append(self.word())
        if self.peek(";") and not self.peek(";;") and not self.peek(";&"):
            self.at += 1
        self.skip_newlines()
        return words

    def test(self) -> None:
        """Read `[[ ... ]]` as one command whose words are what is compared."""
        words = [literal("[[")]
        self._test_or(words)
        if not self.is_word("]]"):
            raise Unparsable("a test is not understood")
        self.at += 2
        self.head(*words)

    def _test_or(self, words: list[Word]) -> None:
        while True:
            self._test_term(words)
            self.skip_newlines()
            if not (self.peek("||") or self.peek("&&")):
                return
            self.at += 2

    def _test_term(self, words: list[Word]) -> None:
        self.skip_newlines()
        while self.is_word("!"):
            self.at += 1
            self.skip_newlines()
        if self.peek("("):
            self.at += 1
            self.nest(1)
            self._test_or(words)
            self.nest(-1)
            if not self.peek(")"):
                raise Unparsable("a test is not understood")
            self.at += 1
            return
        first = self._test_word(words)
        self.skip_blanks()
        if _UNARY.fullmatch(first.raw) and not self.peek("]]"):
            self._test_word(words)
            return
        operator = next((known for known in _BINARY if self.is_word(known)), None)
        if operator is not None:
            self.at += len(operator)
            words.append(literal(operator))
            self.skip_blanks()
            self._test_word(words, is_pattern=operator in ("=", "==", "!=", "=~"), is_regex=operator == "=~")

    def _test_word(self, words: list[Word], *, is_pattern: bool = False, is_regex: bool = False) -> Word:
        if self.at >= self.end or self.is_word("]]"):
            raise Unparsable("a test is not understood")
        first, built, parts = self.at, Builder(), 0
        while self.at < self.end:
            char = self.text[self.at]
            if is_regex and char in "()|":
                parts += (char == "(") - (char == ")")
                if parts < 0:
                    break
                self.at += 1
                built.literal(char)
            elif char in META and not self.text.startswith(("<(", ">("), self.at):
                break
            else:
                read = self.word()
                built.pieces += read.pieces
                built.text.append(read.value or "")
                built.expansions += read.expansions
                built.has_expansion = built.has_expansion or read.value is None
        if self.at == first or parts > 0:
            raise Unparsable("a test is not understood")
        word = built.word(self.text[first : self.at])
        if is_pattern or word.value is not None:  # no word of a test means files
            word = Word(word.raw, word.value, (word.value,), word.expansions)
        words.append(word)
        return word
