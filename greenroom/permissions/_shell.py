"""Parser of shell scripts that finds the commands that bash would run, without running anything.

Rule 1: every simple command that bash could run from the script is found, wherever it is: in lists, pipes, loops,
functions, substitutions, here-documents. The structure around it is dropped; the heads of loops and of `case`, `[[` and
`((` count as commands of these names. Rule 2: a script that is not understood for certain raises `Unparsable`, and so
does every script that bash would refuse.

Must not know: rules, modes, tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, final

from greenroom.permissions._options import names
from greenroom.permissions._shell_commands import MAX_DEPTH, META
from greenroom.permissions._shell_conditions import ConditionReader
from greenroom.permissions._shell_drafts import Builder, Draft, is_plain, literal
from greenroom.permissions._shell_words import Command, Unparsable, Word

MAX_CHARS: Final = 10_000
"""A longer script is not read."""

HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that are invisible, or change the visible order: they disguise a script, or are not text at all."""
_CONTINUED: Final = re.compile(r"(?<![ \t\n])\\\n")
_CONSTANT: Final = (["true"], [":"], ["false"])
"""Conditions of loops that never change."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LATE_EXPANSION: Final = re.compile(r"\$[({]|`")
# What these are given may be a subscript, and a subscript is expanded once more.
_EVALUATE_SUBSCRIPTS: Final = names(
    "[ [[ (( declare export getopts let local mapfile printf read readarray readonly test typeset unset wait"
)
_ENDS: Final = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}", ")", ";;", ";&", ";;&"))
"""Tokens that end a list if its context expects them."""
_RESERVED_WORDS: Final = frozenset(
    ("!", "[[", "case", "coproc", "for", "function", "if", "in", "select", "time", "until", "while", "{", *_ENDS)
)
_BEGUN: Final = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*=(?!=)")
_GRAMMAR_WORD: Final = re.compile(r"[a-z]+|[!{}]|\[\[")


def parse_script(text: str) -> tuple[Command, ...]:
    """Return every simple command of a script, in the order of the text; commands within words come first.

    Raises:
        Unparsable: It is empty, too long, nested too deeply, or not understood for certain.
    """
    if len(text) > MAX_CHARS:
        raise Unparsable(f"it has more than {MAX_CHARS} characters")
    if HIDDEN.search(text):
        raise Unparsable("it has control characters")
    if _CONTINUED.search(text):
        raise Unparsable("a line is continued in the middle of a word")
    parser = _Parser(text, 0)
    parser.read_script()
    if not parser.drafts:
        raise Unparsable("it is empty")
    commands = tuple(draft.finished() for draft in parser.drafts)
    if parser.has_arithmetic or any(
        command.words and command.words[0].value in _EVALUATE_SUBSCRIPTS for command in commands
    ):
        _refuse_late_expansion(commands)
    return commands


def _refuse_late_expansion(commands: tuple[Command, ...]) -> None:
    """Refuse quoted text that arithmetic could run: it evaluates the value of a variable, subscripts included."""
    for command in commands:
        for word in (*command.assignments, *command.words, *command.texts):
            if _LATE_EXPANSION.search("".join(piece or "" for piece in word.pieces)):
                raise Unparsable("a text in it may be expanded by arithmetic")


@final
class _Parser(ConditionReader):
    # --- nesting -------------------------------------------------------------------------------------------------

    def new_reader(self, text: str) -> _Parser:
        inner = _Parser(text, self.depth + 1)
        inner.origins = dict(self.origins)
        inner.nesting = self.nesting
        inner.functions = self.functions
        return inner

    def script_until_paren(self) -> None:
        if self.depth >= MAX_DEPTH:
            raise Unparsable("it is nested too deeply")
        if self.peek(
            "("
        ):  # bash tries `<((` as arithmetic first, and then reads the text with other rules, without `case`
            raise Unparsable("`((` opens commands here")
        here, self.here = self.here, []
        origins, self.origins = self.origins, dict(self.origins)
        first = self.at
        self.depth += 1
        self._list(frozenset((")",)), may_be_empty=True)
        self.at += 1
        self.depth -= 1
        if self.here or (here and "\n" in self.text[first : self.at]):
            raise Unparsable("the start of a here-document is ambiguous")
        self.here, self.origins = here, origins

    def nested_script(self, text: str) -> None:
        inner = self.new_reader(text)
        inner.read_script()
        self.drafts += inner.drafts
        self.has_arithmetic = self.has_arithmetic or inner.has_arithmetic

    def read_script(self) -> None:
        """Read the whole text as a list of commands."""
        self._list(frozenset(), may_be_empty=True)
        if self.here:
            raise Unparsable("a here-document is not terminated")

    # --- lists ---------------------------------------------------------------------------------------------------

    def _list(self, ends: frozenset[str], *, may_be_empty: bool = False) -> str:
        """Read commands up to one of the ends, which is not stepped over, and return it; "" for the end of the text."""
        is_empty = True
        while True:
            self.skip_newlines()
            end = self._end()
            if end is not None:
                if end not in ends and (end or ends):
                    raise Unparsable(f"unexpected {end!r}, expected a command" if end else f"{min(ends)!r} is missing")
                if is_empty and not may_be_empty:
                    raise Unparsable("a list of commands is empty")
                return end
            self._and_or()
            is_empty = False
            if not self._separator() and self._end() is None:
                raise Unparsable("text stands behind a command")

    def _end(self) -> str | None:
        """Return the token that ends a list here, "" at the end of the text; None if a command may begin."""
        self.skip_blanks()
        if self.at >= self.end:
            return ""
        for mark in (";;&", ";;", ";&", ")"):
            if self.peek(mark):
                return mark
        word = self._grammar_word()
        return word if word in _ENDS else None

    def _grammar_word(self) -> str:
        """Return the word of the shell's grammar that stands here; empty for none."""
        found = _GRAMMAR_WORD.match(self.text, self.at)
        if found is None or (found.end() < self.end and self.text[found.end()] not in META):
            return ""
        return found[0] if found[0] in _RESERVED_WORDS else ""

    def _separator(self) -> bool:
        self.skip_blanks()
        if self.peek("#"):
            self.skip_comment()
        if self.peek("\n"):
            self.skip_newlines()
            return True
        if self.peek(";") and not self.peek(";;") and not self.peek(";&"):
            self.at += 1
            return True
        if self.peek("&") and not self.peek("&>"):
            self.at += 1
            return True
        return False

    def _and_or(self) -> None:
        place, origins = len(self.drafts), dict(self.origins)
        is_alone = self._pipeline()
        self.skip_blanks()
        is_background = self.peek("&") and not self.peek("&&")
        # What a pipe or a command in the background sets, it sets in a shell of its own.
        if is_background or not is_alone:
            self.origins = origins
        elif len(self.drafts) > place:
            self.note_origins(self.drafts[-1])
        origins = dict(self.origins)
        while self.peek("&&") or self.peek("||"):
            self.at += 2
            self.skip_newlines()
            self._pipeline()
            self.origins = dict(origins)
            self.skip_blanks()

    def _pipeline(self) -> bool:
        """Read a pipeline; True if it is a single command."""
        self._prefixes()
        is_simple = self._command()
        self.skip_blanks()
        is_alone = True
        while self.peek("|") and not self.peek("||"):
            self.at += 2 if self.peek("|&") else 1
            self.skip_newlines()
            self._command()
            self.skip_blanks()
            is_alone = False
        return is_alone and is_simple

    def _prefixes(self) -> None:
        while True:
            self.skip_blanks()
            if self.is_word("!"):
                self.at += 1
            elif self.is_word("time"):
                self.at += 4
                for option in ("-p", "--"):
                    self.skip_blanks()
                    if self.is_word(option):
                        self.at += 2
            else:
                return

    def _expect(self, name: str) -> None:
        self.skip_newlines()
        if not self.is_word(name):
            raise Unparsable(f"{name!r} is missing")
        self.at += len(name)

    # --- commands ------------------------------------------------------------------------------------------------

    def _command(self) -> bool:
        """Read a command; True if it is a simple one."""
        if self._end() is not None:
            raise Unparsable("a command is missing")
        if self._compound():
            self._redirects()
            return False
        if self._grammar_word():
            raise Unparsable("unexpected reserved word, expected a command")
        first = self.at
        if self.simple_command() is None:
            self._body(self.text[first : self.at].partition("(")[0].strip())
            return False
        return True

    def _compound(self) -> bool:
        self.nest(1)
        is_compound = self._compound_here()
        self.nest(-1)
        return is_compound

    def _compound_here(self) -> bool:
        if self.peek("(("):
            self.at += 1
            self._arithmetic_command()
            return True
        if self.peek("("):
            self.at += 1
            before = len(self.drafts)
            self.script_until_paren()
            if len(self.drafts) == before:
                raise Unparsable("a list of commands is empty")
            return True
        name = self._grammar_word()
        if name not in self._COMPOUND:
            return False
        self.at += len(name)
        self._COMPOUND[name](self)
        return True

    def _redirects(self) -> None:
        draft = Draft()
        while True:
            self.skip_blanks()
            first = self.at
            while self.at < self.end and self.text[self.at].isdecimal():
                self.at += 1
            if not self.redirect(draft):
                self.at = first
                break
        if draft.redirects or draft.texts or self.here:
            self.drafts.append(draft)

    def _body(self, name: str) -> None:
        """Read the body of a function; it may run later, when what is set here no longer is.

        One that calls a function of the script may never end, and start ever more processes: it counts as a command of its own.
        """
        origins, self.origins = self.origins, {}
        self.functions.add(name)
        place = len(self.drafts)
        self.skip_newlines()
        if not self._compound():
            raise Unparsable("a function has no body")
        self._redirects()
        if any(draft.words and draft.words[0].value in self.functions for draft in self.drafts[place:]):
            self.head(literal("function"), literal(name))
        self.origins = origins

    def _arithmetic_command(self) -> None:
        """Read `((...))`: arithmetic for bash, and two subshells for a plain `sh`, whose commands count as well."""
        self.at += 1
        first = self.at
        self.arithmetic()
        text = self.text[first : self.at - 2]
        built = Builder()
        built.gap(*self.names_in(text))
        self.head(literal("(("), built.word(text))
        try:
            self.nested_script(text)
        except Unparsable:
            return  # no shell runs it as commands

    def _refuse(self) -> None:
        raise Unparsable("it has a coprocess")

    def _if(self) -> None:
        self._list(frozenset(("then",)))
        self.at += len("then")
        while True:
            end = self._list(frozenset(("elif", "else", "fi")))
            self.at += len(end)
            if end == "fi":
                return
            if end == "else":
                self._list(frozenset(("fi",)))
                self.at += len("fi")
                return
            self._list(frozenset(("then",)))
            self.at += len("then")

    def _while(self) -> None:
        origins, place = dict(self.origins), len(self.drafts)
        self._list(frozenset(("do",)))
        condition = self.drafts[place:]
        if len(condition) == 1 and [word.value for word in condition[0].words] in _CONSTANT:
            self.head(literal("while"))  # nothing but its body may end it
        self._do()
        self.origins = origins

    def _do(self) -> None:
        self._expect("do")
        self._list(frozenset(("done",)))
        self.at += len("done")

    def _braces(self) -> None:
        self._list(frozenset(("}",)))
        self.at += 1

    def _for(self) -> None:
        self.skip_blanks()
        if self.peek("(("):
            self._counting_loop()
            return
        name = _NAME.match(self.text, self.at)
        if name is None or self.text[name.end() : name.end() + 1] not in ("", *META):
            raise Unparsable("the variable of a loop has no plain name")
        self.at = name.end()
        words = self.loop_words()
        self.head(literal("for"), literal(name[0]), *words)
        origins = dict(self.origins)
        is_plain_list = all(is_plain(word) or not word.expansions for word in words)
        has_pattern = any("*" in text or "?" in text or "[" in text for text in map(_quoted_text, words))
        self.origins[name[0]] = "plain" if is_plain_list and not has_pattern else "any"
        if self.is_word("{"):
            self.at += 1
            self._braces()
        else:
            self._do()
        self.origins = origins

    def _counting_loop(self) -> None:
        self.at += 2
        first, parts = self.at, 1
        begun = _BEGUN.match(self.text, first)
        origins = dict(self.origins)
        if begun is not None:
            self.origins[begun[1]] = "plain"
        while self.at < self.end and not self.peek("))"):
            parts += self.peek(";")
            self.arithmetic_part()
        if not self.peek("))") or parts != 3:
            raise Unparsable("a loop is not closed, or has no three parts")
        built = Builder()
        built.gap(*self.names_in(self.text[first : self.at]))
        self.head(literal("(("), built.word(self.text[first : self.at]))
        self.at += 2
        self.skip_blanks()
        if self.peek(";") and not self.peek(";;") and not self.peek(";&"):
            self.at += 1
        self.skip_newlines()
        if self.is_word("{"):
            self.at += 1
            self._braces()
        else:
            self._do()
        self.origins = origins

    def _function(self) -> None:
        self.skip_blanks()
        name = None if self.at >= self.end or self.text[self.at] in META else self.word()
        if name is None or name.has_gap:
            raise Unparsable("a function has no plain name")
        self.skip_blanks()
        if self.peek("("):
            self.empty_parentheses()
        self._body(name.value or "")

    def _case(self) -> None:
        self.skip_blanks()
        if self.at >= self.end or self.text[self.at] in META:
            raise Unparsable("a case has no word")
        words = [self.word()]
        place = len(self.drafts)
        self._expect("in")
        while True:
            self.skip_newlines()
            if self.is_word("esac"):
                self.at += len("esac")
                self.drafts.insert(place, Draft(words=[literal("case"), *words]))
                return
            words += self.patterns()
            origins = dict(self.origins)
            end = self._list(frozenset((";;", ";&", ";;&", "esac")), may_be_empty=True)
            self.origins = origins
            if end != "esac":
                self.at += len(end)

    _COMPOUND: Final[dict[str, Callable[[_Parser], None]]] = {
        "coproc": _refuse,
        "for": _for,
        "select": _for,
        "function": _function,
        "case": _case,
        "[[": ConditionReader.test,
        "if": _if,
        "while": _while,
        "until": _while,
        "{": _braces,
    }


def _quoted_text(word: Word) -> str:
    return "".join(piece or "" for piece in word.pieces)
