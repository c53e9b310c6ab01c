"""Words and simple commands of a shell script: quotes, expansions, redirections, here-documents, and everything nested in them.

Rule 1: what bash would run inside a word (`$(...)`, backticks, `<(...)`) or a here-document is handed on to be parsed as a
script. Rule 2: what is not understood for certain raises `Unparsable`; nothing is guessed. Rule 3: work is linear in the
script, and nesting is limited.
Must not know: rules, modes, tools, and the grammar of lists.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from greenroom.permissions._shell_drafts import Builder, Draft, HereDocument, is_plain
from greenroom.permissions._shell_words import Expansion, Redirect, Unparsable, Word

MAX_DEPTH: Final = 12
META: Final = frozenset(" \t\n;&|()<>")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARITHMETIC: Final = re.compile(r"[A-Za-z0-9_+\-*/%<>=!&|^~?:,() \t\n$#{}]")
_PARAMETER: Final = re.compile(r"[#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[*@#?$!-])(?:\[(?:[@*]|[0-9]+)\])?")
_OPERATORS: Final = ("}", ":", "-", "=", "+", "?", "#", "%", "/", "^", ",")
_ARRAY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_GLOB: Final = re.compile(r"[*?\[]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[A-Za-z0-9_]*\])?\+?=")
# Where an assignment may stand, bash reads on to the bracket that closes a subscript, whatever lies between.
_SUBSCRIPT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[(?![A-Za-z0-9_]*\]\+?=)")
_DESCRIPTOR_NAME: Final = re.compile(r"\{[A-Za-z_][A-Za-z0-9_\[\]]*\}")
_DESCRIPTOR: Final = re.compile(r"[0-9]+-?|-")
_REDIRECTS: Final = ("<<-", "<<<", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">&", ">|", ">")
_TAKE_ARRAYS: Final = frozenset(("declare", "export", "local", "readonly", "typeset"))

Origin: TypeAlias = Literal["", "plain", "any"]


class CommandReader:
    """Reads words and simple commands at a position of a script; a subclass parses the lists that they stand in."""

    def __init__(self, text: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unparsable("it is nested too deeply")
        self.text = text
        self.depth = depth
        self.at = 0
        self.end = len(text)
        self.has_arithmetic = False
        self.origins: dict[str, Origin] = {}
        """The variables that the script certainly has set at this position."""
        self.is_quoted = False
        self.drafts: list[Draft] = []
        self.here: list[HereDocument] = []

    def script_until_paren(self) -> None:
        """Parse commands up to the closing parenthesis, and step behind it."""
        raise NotImplementedError

    def nested_script(self, text: str) -> None:
        """Parse a script in a text of its own."""
        raise NotImplementedError

    def new_reader(self, text: str) -> CommandReader:
        """Return a reader for a text of its own, one level deeper."""
        raise NotImplementedError

    # --- words ---------------------------------------------------------------------------------------------------

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def skip_blanks(self) -> None:
        while self.at < self.end:
            if self.text[self.at] in " \t":
                self.at += 1
            elif self.peek("\\\n"):
                self.at += 2
            else:
                return

    def word(self) -> Word:
        """Read the word that begins here; there is one."""
        if self.peek("#"):
            raise Unparsable("unexpected comment, expected a word")
        first, built = self.at, Builder()
        while self.at < self.end:
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                self.script_until_paren()
                built.gap()
            elif char == "(" and _ARRAY.fullmatch(self.text, first, self.at):
                self._array(built)
                if self.at < self.end and self.text[self.at] not in META:
                    raise Unparsable("text stands right behind an array")
            elif char in META:
                break
            else:
                self._unquoted(char, built)
        return built.word(self.text[first : self.at])

    def _unquoted(self, char: str, built: Builder) -> None:
        step = self._QUOTES.get(char)
        if step is not None:
            step(self, built)
            return
        self.at += 1
        if char in "*?[":
            built.glob(char)
            return
        if char == "{":
            built.brace = max(built.brace, 1)
        elif built.brace == 1 and (char == "," or (char == "." and self.peek("."))):
            built.brace = 2
        elif ord(char) > 127 and char.isspace():
            raise Unparsable("it has a space that is none for the shell")
        built.literal(char)

    def _array(self, built: Builder) -> None:
        self.at += 1
        built.gap()
        while True:
            self.skip_blanks()
            if self.at >= self.end:
                raise Unparsable("an array is not closed")
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                return
            if char == "\n":
                self.at += 1
            elif char in META or char == "#":
                raise Unparsable(f"unexpected {char!r} in an array")
            else:
                built.expansions += self.word().expansions

    def _escape(self, built: Builder) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if not escaped:
            raise Unparsable("it ends in a backslash")
        if escaped != "\n":
            built.literal(escaped)

    def _single_quotes(self, built: Builder) -> None:
        close = self.text.find("'", self.at + 1)
        if close < 0:
            raise Unparsable("a quote is not closed")
        built.literal(self.text[self.at + 1 : close])
        self.at = close + 1

    def _double_quotes(self, built: Builder) -> None:
        self.at += 1
        built.literal("")
        was_quoted, self.is_quoted = self.is_quoted, True
        while self.at < self.end:
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                self.is_quoted = was_quoted
                return
            self.quoted(char, built, escapes='$`"\\\n')
        raise Unparsable("a quote is not closed")

    def quoted(self, char: str, built: Builder, *, escapes: str) -> None:
        """Parse one token in a context where only `$`, backticks and backslashes are special."""
        if char == "\\" and self.at + 1 < self.end and self.text[self.at + 1] in escapes:
            self._escape(built)
        elif char == "$" and self.text[self.at + 1 : self.at + 2] not in ("'", '"'):
            self._dollar(built)
        elif char == "`":
            self._backticks(built, '$`\\"' if '"' in escapes else "$`\\")
        else:
            self.at += 1
            built.literal(char)

    def _backticks(self, built: Builder, escapes: str = "$`\\") -> None:
        inner: list[str] = []
        at = self.at + 1
        while at < self.end and self.text[at] != "`":
            if self.text[at] == "\\" and at + 1 < self.end and self.text[at + 1] in escapes:
                at += 1
            inner.append(self.text[at])
            at += 1
        if at >= self.end:
            raise Unparsable("a backtick is not closed")
        self.nested_script("".join(inner))
        self.at = at + 1
        built.gap(Expansion("command", "".join(inner), self.is_quoted))

    def _dollar(self, built: Builder) -> None:
        first, is_quoted = self.at, self.is_quoted
        after = self.text[self.at + 1 : self.at + 2]
        if self.peek("$(("):
            self.at += 3
            self.arithmetic()
            built.gap(*self.names_in(self.text[first + 3 : self.at - 2]))
        elif after == "(":
            self.at += 2
            self.is_quoted = False
            self.script_until_paren()
            self.is_quoted = is_quoted
            built.gap(Expansion("command", self.text[first + 2 : self.at - 1], is_quoted))
        elif after == "{":
            self.at += 2
            self._parameter(built)
        elif after == "[":
            raise Unparsable("it has the old form of arithmetic")
        elif after == "'":
            self._ansi_quotes(built)
        elif after == '"':
            self.at += 1
            self._double_quotes(built)
        elif (name := _NAME.match(self.text, self.at + 1)) is not None:
            self.at = name.end()
            built.gap(self.variable(name[0]))
        elif after and after in "*@#?$!-0123456789":
            self.at += 2
            built.gap(self.variable(after))
        else:
            self.at += 1
            built.literal("$")

    def variable(self, name: str) -> Expansion:
        """Return the expansion of a variable at this position."""
        return Expansion("variable", name, self.is_quoted, self.origins.get(name, ""))

    def names_in(self, expression: str) -> list[Expansion]:
        """Return what an arithmetic expression reads: variables by name, with or without `$`; expansions count by themselves."""
        names = dict.fromkeys(_NAME.findall(re.sub(r"\b0[xX][0-9A-Fa-f]+\b", "0", expression)))
        return [Expansion("expression", name, is_quoted=True, origin=self.origins.get(name, "")) for name in names]

    def _ansi_quotes(self, built: Builder) -> None:
        self.at += 2
        first = self.at
        while self.at < self.end and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= self.end:
            raise Unparsable("a quote is not closed")
        inner = self.text[first : self.at]
        self.at += 1
        if "\\" in inner:
            built.gap()
        else:
            built.literal(inner)

    def arithmetic(self) -> None:
        """Read up to the `))` that closes an arithmetic expression, and step behind it."""
        self.has_arithmetic = True
        depth = 0
        while self.at < self.end:
            char = self.text[self.at]
            if char == ")" and depth == 0:
                if not self.peek("))"):
                    break
                self.at += 2
                return
            if char in "$`" and self.text[self.at + 1 : self.at + 2] != "'":
                self.quoted(char, Builder(), escapes="$`\\")
                continue
            if _ARITHMETIC.match(char) is None:
                raise Unparsable("its arithmetic is not plain")
            depth += (char == "(") - (char == ")")
            self.at += 1
        raise Unparsable("an arithmetic expression is not closed")

    def _parameter(self, built: Builder) -> None:
        named = _PARAMETER.match(self.text, self.at)
        if named is None:
            raise Unparsable("it has an unusual parameter expansion")
        self.at = named.end()
        if not self.text.startswith(_OPERATORS, self.at):
            raise Unparsable("it has an unusual parameter expansion")
        is_part = self.peek(":") and self.text[self.at + 1 : self.at + 2] not in ("-", "=", "+", "?")
        self.has_arithmetic = self.has_arithmetic or is_part
        name = named[0].partition("[")[0]
        operator = self.text[self.at : self.at + 2].lstrip(":")[:1]
        name, first, place = name.removeprefix("#") or name, self.at, len(built.expansions)
        built.gap(self.variable(name))
        while self.at < self.end:
            char = self.text[self.at]
            if char == "}":
                text = self.text[first : self.at]
                if operator == "=" or (operator and operator in "-+?/" and not self.is_quoted and _GLOB.search(text)):
                    # It sets the variable, or what is put in is a pattern: no list of harmless names holds such a name.
                    built.expansions[place] = Expansion("variable", name + operator)
                if is_part:
                    built.expansions += self.names_in(text)
                self.at += 1
                return
            if char in "'\"":
                # Whether a quote in here means one depends on the quotes around: what could be either is refused.
                raise Unparsable("a parameter expansion has quotes in it")
            if char in "<>" and self.text.startswith("(", self.at + 1):
                raise Unparsable("a parameter expansion has another process in it")
            inner = Builder()
            if char == "\\":
                self._escape(inner)
            else:
                self.quoted(char, inner, escapes="")
            built.expansions += inner.expansions
        raise Unparsable("a parameter expansion is not closed")

    _QUOTES: Final = {
        "\\": _escape,
        "'": _single_quotes,
        '"': _double_quotes,
        "`": _backticks,
        "$": _dollar,
    }

    # --- commands ------------------------------------------------------------------------------------------------

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


def _is_array(word: Word) -> bool:
    return _ASSIGNMENT.match(word.raw) is not None and "=(" in word.raw and word.raw.endswith(")")
