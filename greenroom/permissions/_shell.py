"""Which commands a shell script would run: a reader of bash's grammar, for rules, that runs nothing.

Rule 1: every simple command that bash could run from the script is found, wherever it stands: in lists, pipes, loops,
functions, substitutions, here-documents. The structure around it is not kept. Rule 2: what is not understood for certain
raises `Unparsable`; whoever asks then takes the script as one that needs a person. Rule 3: a script that bash would refuse
may be accepted; one that bash would run is never read as fewer commands.
Must not know: rules, modes, tools.
"""

from __future__ import annotations

import re
from typing import Final, final

import attrs

from greenroom.permissions._shell_lexer import MAX_DEPTH, META, Builder, Lexer
from greenroom.permissions._shell_words import Command, Redirect, Unparsable, Word

MAX_CHARS: Final = 10_000
"""A longer script is not read (agents 1.127)."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[A-Za-z0-9_]*\])?\+?=")
_ODD_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[.*\]\+?=", re.DOTALL)
_DESCRIPTOR_NAME: Final = re.compile(r"\{[A-Za-z_][A-Za-z0-9_\[\]]*\}")
_DESCRIPTOR: Final = re.compile(r"[0-9]+-?|-")
_LATE_EXPANSION: Final = re.compile(r"\[.*(?:\$[({]|`)", re.DOTALL)
# What these are given may be a subscript, and a subscript is expanded once more.
_EVALUATE_SUBSCRIPTS: Final = frozenset(
    (
        "[",
        "[[",
        "declare",
        "export",
        "let",
        "local",
        "mapfile",
        "printf",
        "read",
        "readonly",
        "test",
        "typeset",
        "unset",
    )
)
_REDIRECTS: Final = ("<<-", "<<<", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">&", ">|", ">")
_SKIPPED: Final = frozenset(("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"))


@final
@attrs.frozen
class _HereDocument:
    delimiter: str
    is_literal: bool
    strips_tabs: bool
    texts: list[Word]


@final
@attrs.define
class _Draft:
    """A command whose here-documents may still have to be read."""

    assignments: list[Word] = attrs.field(factory=list)
    words: list[Word] = attrs.field(factory=list)
    redirects: list[Redirect] = attrs.field(factory=list)
    texts: list[Word] = attrs.field(factory=list)

    def finished(self) -> Command:
        return Command(
            assignments=tuple(self.assignments),
            words=tuple(self.words),
            redirects=tuple(self.redirects),
            texts=tuple(self.texts),
        )


def parse_script(text: str) -> tuple[Command, ...]:
    """Return every simple command of a script, in the order of the text; commands within words come first.

    Raises:
        Unparsable: It is too long, nested too deeply, or not understood for certain.
    """
    if len(text) > MAX_CHARS:
        raise Unparsable(f"it has more than {MAX_CHARS} characters")
    if _CONTROL.search(text):
        raise Unparsable("it has control characters")
    parser = _Parser(text, 0)
    parser.read_list(None)
    commands = tuple(draft.finished() for draft in parser.drafts)
    if parser.has_arithmetic or any(one.words and one.words[0].value in _EVALUATE_SUBSCRIPTS for one in commands):
        _refuse_late_expansion(commands)
    return commands


def _refuse_late_expansion(commands: tuple[Command, ...]) -> None:
    """Refuse quoted text that arithmetic could run: it evaluates the value of a variable, subscripts included."""
    for one in commands:
        for word in (*one.assignments, *one.words, *one.texts):
            if _LATE_EXPANSION.search("".join(piece or "" for piece in word.pieces)):
                raise Unparsable("a text in it may be expanded by arithmetic")


@final
class _Parser(Lexer):
    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.drafts: list[_Draft] = []
        self._here: list[_HereDocument] = []

    # --- nesting -------------------------------------------------------------------------------------------------

    def script_until_paren(self) -> None:
        if self.depth >= MAX_DEPTH:
            raise Unparsable("it is nested too deeply")
        here, self._here = self._here, []
        first = self.at
        self.depth += 1
        self.read_list(")")
        self.depth -= 1
        if self._here or (here and "\n" in self.text[first : self.at]):
            raise Unparsable("it is not clear where a here-document begins")
        self._here = here

    def nested_script(self, text: str) -> None:
        inner = _Parser(text, self.depth + 1)
        inner.read_list(None)
        self.drafts += inner.drafts
        self.has_arithmetic = self.has_arithmetic or inner.has_arithmetic

    # --- lists ---------------------------------------------------------------------------------------------------

    def read_list(self, closer: str | None) -> None:
        """Read commands up to the end of the text, `)`, or the end of a branch of `case` (`;;` or `esac`)."""
        while True:
            self._skip_to_command()
            if self.at >= self.end:
                if closer is not None:
                    raise Unparsable(f"{closer!r} is missing")
                self._read_here_documents()
                return
            if self.peek(")"):
                if closer != ")":
                    raise Unparsable("a parenthesis was not opened")
                self.at += 1
                return
            if closer == "esac" and self._ends_branch():
                return
            self._command()

    def _ends_branch(self) -> bool:
        for separator in (";;&", ";;", ";&"):
            if self.peek(separator):
                self.at += len(separator)
                return True
        return self._is_word("esac")

    def _skip_to_command(self) -> None:
        while self.at < self.end:
            self.skip_blanks()
            if self.peek("#"):
                stop = self.text.find("\n", self.at)
                self.at = self.end if stop < 0 else stop
            elif self.peek("\n"):
                self.at += 1
                self._read_here_documents()
            elif self.peek(";") and not self.peek(";;") and not self.peek(";&"):
                self.at += 1
            elif self.peek("&") and not self.peek("&>"):
                self.at += 2 if self.peek("&&") else 1
            elif self.peek("|"):
                self.at += 2 if self.text[self.at + 1 : self.at + 2] in ("|", "&") else 1
            else:
                return

    def _is_word(self, name: str) -> bool:
        after = self.text[self.at + len(name) : self.at + len(name) + 1]
        return self.peek(name) and (not after or after in META)

    # --- commands ------------------------------------------------------------------------------------------------

    def _command(self) -> None:
        char = self.text[self.at]
        if char == "(":
            self.at += 1
            if self.peek("("):
                self._arithmetic_command()
            else:
                self.script_until_paren()
            return
        for name, read in self._RESERVED.items():
            if self._is_word(name):
                self.at += len(name)
                read(self)
                return
        self._simple_command()

    def _arithmetic_command(self) -> None:
        """Read `((...))`: arithmetic for bash, and two subshells for a plain `sh`, whose commands count as well."""
        self.at += 1
        first = self.at
        self.arithmetic()
        try:
            self.nested_script(self.text[first : self.at - 2])
        except Unparsable:
            return  # no shell runs it as commands

    def _skip(self) -> None:
        """Step behind a word after which a command may begin."""

    def _time(self) -> None:
        self.skip_blanks()
        if self._is_word("-p"):
            self.at += 2

    def _refuse(self) -> None:
        raise Unparsable("it has a coprocess")

    def _for(self) -> None:
        self.skip_blanks()
        if self.peek("(("):
            self.at += 2
            while self.at < self.end and not self.peek("))"):
                self._arithmetic_part()
            if not self.peek("))"):
                raise Unparsable("a loop is not closed")
            self.at += 2
            return
        self.word()
        self._skip_newlines()
        if self._is_word("in"):
            self.at += 2
            self._words_until(";\n")

    def _arithmetic_part(self) -> None:
        self.has_arithmetic = True
        char = self.text[self.at]
        if char in "'\"\\[]":
            raise Unparsable("its arithmetic is not plain")
        if char == "(":
            self.at += 1
            while self.at < self.end and not self.peek(")"):
                self._arithmetic_part()
            self.at += 1
        elif char in "$`":
            self.quoted(char, Builder(), escapes="")
        else:
            self.at += 1

    def _words_until(self, ends: str) -> None:
        while True:
            self.skip_blanks()
            if self.at >= self.end or self.text[self.at] in ends:
                return
            if self.text[self.at] in META or self.text[self.at] == "#":
                raise Unparsable(f"{self.text[self.at]!r} stands where a word should")
            self.word()

    def _skip_newlines(self) -> None:
        self.skip_blanks()
        while self.peek("\n") or self.peek("#"):
            self._skip_to_newline_or_comment()
            self.skip_blanks()

    def _skip_to_newline_or_comment(self) -> None:
        if self.peek("#"):
            stop = self.text.find("\n", self.at)
            self.at = self.end if stop < 0 else stop
        else:
            self.at += 1
            self._read_here_documents()

    def _function(self) -> None:
        self.skip_blanks()
        self.word()
        self.skip_blanks()
        if self.peek("("):
            self._empty_parentheses()

    def _empty_parentheses(self) -> None:
        self.at += 1
        self.skip_blanks()
        if not self.peek(")"):
            raise Unparsable("a parenthesis stands where none can")
        self.at += 1

    def _case(self) -> None:
        self.skip_blanks()
        if self.at >= self.end:
            raise Unparsable("a case is not closed")
        self.word()
        self._skip_newlines()
        if not self._is_word("in"):
            raise Unparsable("a case has no 'in'")
        self.at += 2
        while True:
            self._skip_newlines()
            if self.at >= self.end:
                raise Unparsable("a case is not closed")
            if self._is_word("esac"):
                self.at += 4
                return
            self._patterns()
            self.read_list("esac")

    def _patterns(self) -> None:
        if self.peek("("):
            self.at += 1
        while True:
            self.skip_blanks()
            before = self.at
            self.word()
            self.skip_blanks()
            if self.at == before or not (self.peek("|") or self.peek(")")):
                raise Unparsable("a pattern of a case is not understood")
            self.at += 1
            if self.text[self.at - 1] == ")":
                return

    def _test(self) -> None:
        """Read `[[ ... ]]` as one command whose words are what is compared."""
        words = [Word("[[", "[[", ("[[",))]
        self.drafts.append(_Draft(words=words))
        while True:
            self._skip_newlines()
            if self.at >= self.end:
                raise Unparsable("a test is not closed")
            if self._is_word("]]"):
                self.at += 2
                return
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                words.append(self.word())
            elif char in "()<>|&":
                self.at += 1
            elif char in META:
                raise Unparsable("a test is not understood")
            else:
                words.append(self.word())

    # --- simple commands -----------------------------------------------------------------------------------------

    def _simple_command(self) -> None:
        draft, first = _Draft(), self.at
        while True:
            self.skip_blanks()
            if self.at >= self.end or self.peek("#"):
                break
            if self._redirect(draft):
                continue
            if self.peek("("):
                if len(draft.words) != 1 or draft.assignments or draft.redirects:
                    raise Unparsable("a parenthesis stands where none can")
                self._empty_parentheses()  # a function: its body is read as what comes next
                return
            if self.text[self.at] in META and not self.text.startswith(("<(", ">("), self.at):
                break
            self._take(self.word(), draft)
        if self.at == first:
            raise Unparsable(f"{self.text[self.at]!r} stands where a command should")
        self.drafts.append(draft)

    def _take(self, word: Word, draft: _Draft) -> None:
        is_redirected = self.peek("<") or self.peek(">")
        if is_redirected and not self.text.startswith(("<(", ">("), self.at):
            if word.raw.isdecimal():
                return  # the number of a descriptor
            if _DESCRIPTOR_NAME.fullmatch(word.raw):
                raise Unparsable("a descriptor has a name")
        if draft.words or _ASSIGNMENT.match(word.raw) is None:
            if not draft.words and _ODD_ASSIGNMENT.match(word.raw):
                raise Unparsable("an assignment has an unusual subscript")
            draft.words.append(word)
        else:
            draft.assignments.append(word)

    def _redirect(self, draft: _Draft) -> bool:
        if self.text.startswith(("<(", ">("), self.at):
            return False
        operator = next((one for one in _REDIRECTS if self.peek(one)), None)
        if operator is None:
            return False
        self.at += len(operator)
        self.skip_blanks()
        if self.at >= self.end or (self.text[self.at] in META and not self.text.startswith(("<(", ">("), self.at)):
            raise Unparsable("a redirection has no target")
        target = self.word()
        if operator in ("<<", "<<-"):
            is_literal = any(char in target.raw for char in "'\"\\")
            if (target.value is None and not is_literal) or "$" in target.raw or "`" in target.raw:
                raise Unparsable("the end of a here-document is not plain")
            delimiter = target.value if target.value is not None else target.raw
            self._here.append(_HereDocument(delimiter, is_literal, operator == "<<-", draft.texts))
        elif operator == "<<<":
            draft.texts.append(target)
        elif operator not in ("<&", ">&") or not _DESCRIPTOR.fullmatch(target.raw):
            draft.redirects.append(Redirect(operator, target))
        return True

    def _read_here_documents(self) -> None:
        waiting, self._here = self._here, []
        for one in waiting:
            one.texts.append(self._here_document(one))

    def _here_document(self, one: _HereDocument) -> Word:
        lines: list[str] = []
        while self.at < self.end:
            stop = self.text.find("\n", self.at)
            stop = self.end if stop < 0 else stop
            line = self.text[self.at : stop]
            self.at = min(stop + 1, self.end)
            line = line.lstrip("\t") if one.strips_tabs else line
            if line == one.delimiter:
                break
            # In a substitution bash also takes a line that only begins with the delimiter; the reading must not differ.
            if self.depth and line.startswith(one.delimiter) and ")" in line:
                raise Unparsable("a here-document may end in the middle of a line")
            if not one.is_literal and line.endswith("\\"):
                raise Unparsable("a line of a here-document goes on in the next")
            lines.append(line)
        body = "\n".join(lines) + "\n"
        if one.is_literal:
            return Word(body, body, (body,))
        return self._expanded(body)

    def _expanded(self, body: str) -> Word:
        inner = _Parser(body, self.depth + 1)
        built = Builder()
        while inner.at < inner.end:
            inner.quoted(body[inner.at], built, escapes="$`\\\n")
        self.drafts += inner.drafts
        self.has_arithmetic = self.has_arithmetic or inner.has_arithmetic
        return built.word(body)

    _RESERVED: Final = {
        **dict.fromkeys(_SKIPPED, _skip),
        "time": _time,
        "coproc": _refuse,
        "for": _for,
        "select": _for,
        "function": _function,
        "case": _case,
        "[[": _test,
    }
