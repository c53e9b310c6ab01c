"""Simple commands of a shell script: assignments, words, redirections and here-documents.

Rule 1: what bash would run inside of a word or a here-document is parsed as a script of its own. Rule 2: what is not
understood for certain raises `Unparsable`.
Must not know: rules, modes, tools, and the grammar of lists.
"""

from __future__ import annotations

import re
from typing import Final, final

import attrs

from greenroom.permissions._shell_lexer import META, Builder, Lexer
from greenroom.permissions._shell_words import Command, Redirect, Unparsable, Word

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[A-Za-z0-9_]*\])?\+?=")
# Where an assignment may stand, bash reads on to the bracket that closes a subscript, whatever lies between.
_SUBSCRIPT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[(?![A-Za-z0-9_]*\]\+?=)")
_DESCRIPTOR_NAME: Final = re.compile(r"\{[A-Za-z_][A-Za-z0-9_\[\]]*\}")
_DESCRIPTOR: Final = re.compile(r"[0-9]+-?|-")
_REDIRECTS: Final = ("<<-", "<<<", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">&", ">|", ">")
_TAKE_ARRAYS: Final = frozenset(("declare", "export", "local", "readonly", "typeset"))
_GLOB: Final = re.compile(r"[*?\[]")


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


class CommandReader(Lexer):
    """Reads simple commands; a subclass parses the lists that they stand in."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.drafts: list[Draft] = []
        self.here: list[HereDocument] = []

    def new_reader(self, text: str) -> CommandReader:
        """Return a reader for a text of its own, one level deeper."""
        raise NotImplementedError

    def simple_command(self) -> Draft | None:
        """Parse a simple command; None if it is the name of a function, with the position after its parentheses."""
        draft, first = Draft(), self.at
        while True:
            self.skip_blanks()
            if self.at >= self.end or self.peek("#"):
                break
            if self.redirect(draft):
                continue
            if self.peek("("):
                if len(draft.words) != 1 or draft.words[0].has_gap or draft.assignments or draft.redirects:
                    raise Unparsable("a parenthesis stands where none can")
                self.empty_parentheses()
                return None
            if self.text[self.at] in META and not self.text.startswith(("<(", ">("), self.at):
                break
            self._take(self.word(), draft)
        if self.at == first:
            what = repr(self.text[self.at]) if self.at < self.end else "the end"
            raise Unparsable(f"unexpected {what}, expected a command")
        self.drafts.append(draft)
        return draft

    def empty_parentheses(self) -> None:
        """Read `()` behind the name of a function."""
        self.at += 1
        self.skip_blanks()
        if not self.peek(")"):
            raise Unparsable("a parenthesis stands where none can")
        self.at += 1

    def _take(self, word: Word, draft: Draft) -> None:
        is_redirected = self.peek("<") or self.peek(">")
        if is_redirected and not self.text.startswith(("<(", ">("), self.at):
            if word.raw.isdecimal():
                return  # the number of a descriptor
            if _DESCRIPTOR_NAME.fullmatch(word.raw):
                raise Unparsable("a descriptor has a name")
        if draft.words or _ASSIGNMENT.match(word.raw) is None:
            takes_assignments = not draft.words or draft.words[0].value in _TAKE_ARRAYS
            if takes_assignments and _SUBSCRIPT.match(word.raw):
                raise Unparsable("an assignment has an unusual subscript")
            if _is_array(word) and (not draft.words or draft.words[0].value not in _TAKE_ARRAYS):
                raise Unparsable("an array stands where none can")
            draft.words.append(word)
        else:
            draft.assignments.append(word)

    def redirect(self, draft: Draft) -> bool:
        """Read a redirection, if one stands here."""
        if self.text.startswith(("<(", ">("), self.at):
            return False
        operator = next((known for known in _REDIRECTS if self.peek(known)), None)
        if operator is None:
            return False
        self.at += len(operator)
        self.skip_blanks()
        if self.at >= self.end or (self.text[self.at] in META and not self.text.startswith(("<(", ">("), self.at)):
            raise Unparsable("a redirection has no target")
        target = self.word()
        if target.raw.isdecimal() and (self.peek("<") or self.peek(">")):
            raise Unparsable("a redirection has no target")
        if operator in ("<<", "<<-"):
            is_literal = any(char in target.raw for char in "'\"\\")
            if (target.value is None and not is_literal) or "$" in target.raw or "`" in target.raw:
                raise Unparsable("the end of a here-document is not plain")
            delimiter = target.value if target.value is not None else target.raw
            self.here.append(HereDocument(delimiter, is_literal, operator == "<<-", draft.texts))
        elif operator == "<<<":
            draft.texts.append(target)
        elif operator not in ("<&", ">&") or not _DESCRIPTOR.fullmatch(target.raw):
            draft.redirects.append(Redirect(operator, target))
        return True

    # --- here-documents ------------------------------------------------------------------------------------------

    def read_here_documents(self) -> None:
        """Read the texts of the here-documents that begin with this line."""
        waiting, self.here = self.here, []
        for document in waiting:
            document.texts.append(self._here_document(document))

    def _here_document(self, document: HereDocument) -> Word:
        lines: list[str] = []
        while True:
            if self.at >= self.end:
                raise Unparsable("a here-document has no end")
            stop = self.text.find("\n", self.at)
            stop = self.end if stop < 0 else stop
            line = self.text[self.at : stop]
            self.at = min(stop + 1, self.end)
            line = line.lstrip("\t") if document.strips_tabs else line
            if line == document.delimiter:
                break
            # In a substitution bash also takes a line that only begins with the delimiter; the reading must not differ.
            if self.depth and line.startswith(document.delimiter) and ")" in line:
                raise Unparsable("a here-document may end in the middle of a line")
            if not document.is_literal and line.endswith("\\"):
                raise Unparsable("a line of a here-document is continued in the next")
            lines.append(line)
        body = "\n".join(lines) + "\n"
        if document.is_literal:
            return Word(body, body, (body,))
        return self._expanded(body)

    def _expanded(self, body: str) -> Word:
        inner = self.new_reader(body)
        inner.is_quoted = True
        built = Builder()
        while inner.at < inner.end:
            inner.quoted(body[inner.at], built, escapes="$`\\\n")
        self.drafts += inner.drafts
        self.has_arithmetic = self.has_arithmetic or inner.has_arithmetic
        return built.word(body)

    # --- variables that the script sets --------------------------------------------------------------------------

    def note_origins(self, draft: Draft) -> None:
        """Note which variables a command that certainly ran has set, and whether their text may be a pattern."""
        if not draft.words:
            for word in draft.assignments:
                name, _, text = word.raw.partition("=")
                if name.isidentifier():
                    self.origins[name] = "any" if _GLOB.search(text) or not is_plain(word) else "plain"
        elif draft.words[0].value == "read":
            values = [word.value or "" for word in draft.words[1:]]
            names = values[1:] if values[:1] == ["-r"] else values
            if names and all(name.isidentifier() for name in names):
                self.origins.update(dict.fromkeys(names, "any"))


def is_plain(word: Word) -> bool:
    """True if nothing takes part in a word but text and variables whose text holds no pattern."""
    return word.value is not None or (
        len(word.pieces) > 0
        and bool(word.expansions)
        and all(part.kind == "variable" and part.origin == "plain" for part in word.expansions)
    )


def _is_array(word: Word) -> bool:
    return _ASSIGNMENT.match(word.raw) is not None and "=(" in word.raw and word.raw.endswith(")")
