"""Words of a shell script: quotes, expansions and everything nested in them.

Rule 1: what bash would run inside a word (`$(...)`, backticks, `<(...)`) is handed on to be parsed as a script. Rule 2:
what is not understood for certain raises `Unparsable`; nothing is guessed. Rule 3: work is linear in the script, and
nesting is limited.
Must not know: rules, modes, tools, and the grammar of commands.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from greenroom.permissions._shell_words import Expansion, Unparsable, Word

MAX_DEPTH: Final = 12
META: Final = frozenset(" \t\n;&|()<>")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARITHMETIC: Final = re.compile(r"[A-Za-z0-9_+\-*/%<>=!&|^~?:,() \t\n$#{}]")
_PARAMETER: Final = re.compile(r"[#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[*@#?$!-])(?:\[(?:[@*]|[0-9]+)\])?")
_OPERATORS: Final = ("}", ":", "-", "=", "+", "?", "#", "%", "/", "^", ",")
_ARRAY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_RANGE: Final = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\..*)?")
MAX_BRACED: Final = 10_000
"""How many words the braces of one word may become unasked: the shell makes them all before anything runs."""
_GLOB: Final = re.compile(r"[*?\[]")

Origin: TypeAlias = Literal["", "plain", "any"]


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


class Lexer:
    """Reads words at a position of a script; a subclass parses what is nested (`script_until`, `nested_script`)."""

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

    def script_until_paren(self) -> None:
        """Parse commands up to the closing parenthesis, and step behind it."""
        raise NotImplementedError

    def nested_script(self, text: str) -> None:
        """Parse a script in a text of its own."""
        raise NotImplementedError

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
