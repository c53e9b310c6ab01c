"""Options of programs, by a table: known options, options with a value, and values that are paths.

Rule 1: an option that is not in the table is unknown, also as an abbreviation, and its effect is never guessed. Rule 2:
a word is an operand if the program takes it for one: after `--`, or because it does not begin with a dash.

Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.permissions._shell_words import Word

Operands: TypeAlias = Literal["none", "text", "names", "path", "paths", "pattern"]
Value: TypeAlias = Literal["", "text", "optional", "path"]

_VALUES: Final[Mapping[str, Value]] = {":": "text", "?": "optional", "@": "path"}
_LONG: Final = re.compile(r"(--?[A-Za-z0-9][A-Za-z0-9-]*)(=[?@]?)?")
_LONG_VALUES: Final[Mapping[str, Value]] = {"": "", "=": "text", "=?": "optional", "=@": "path"}


def names(text: str) -> frozenset[str]:
    """Return the words of a text, in the notation of the tables."""
    return frozenset(text.split())


@final
@attrs.frozen
class Spec:
    """The options of one program that read only what the command names, and write nothing.

    Attributes:
        operands: What words that are no options mean. `names` are texts, unless they hold a slash; `pattern` is a text,
            unless an option gave it, and paths behind it.
        short: The letters, each with the value that it takes.
        long: The names with their dashes, each with the value that it takes.
        has_number: Whether `-5` is an option.
    """

    operands: Operands
    short: Mapping[str, Value]
    long: Mapping[str, Value]
    has_number: bool = False


@final
@attrs.define
class Use:
    """The options and operands of one command."""

    options: dict[str, list[str]] = attrs.field(factory=dict)
    """The options with their values, `-n` and `--lines` as they were given."""
    paths: list[Word] = attrs.field(factory=list)
    texts: list[Word] = attrs.field(factory=list)
    operands: list[Word] = attrs.field(factory=list)

    def has(self, *names: str) -> bool:
        """True if one of these options was given."""
        return any(name in self.options for name in names)


def read_spec(operands: Operands, text: str) -> Spec:
    """Return the options that a line of a table lists.

    `-abc` are flags, `-n:` takes a value, `-f@` a path, `-i?` an attached value if any, `-#` is a number. `--name`, `--name=`,
    `--name=?` and `--name=@` likewise; a single dash before several letters and a `=` or `!` is a long option of one dash.
    """
    short: dict[str, Value] = {}
    long: dict[str, Value] = {}
    has_number = False
    for listed in text.split():
        if listed == "-#":
            has_number = True
        elif listed.startswith("--"):
            found = _LONG.fullmatch(listed)
            assert found is not None, listed
            long[found[1]] = _LONG_VALUES[found[2] or ""]
        elif listed[-1] in _VALUES:
            short |= dict.fromkeys(listed[1:-1], _VALUES[listed[-1]])
        else:
            short |= dict.fromkeys(listed[1:], "")
    return Spec(operands, short, long, has_number)


def read_options(words: Sequence[Word], spec: Spec) -> Use | None:
    """Return the options and operands of a command; None if one is unknown, or depends on the shell's state."""
    use, at, only_operands = Use(), 0, False
    while at < len(words):
        word = words[at]
        at += 1
        value = word.value
        if value is None or only_operands or not value.startswith("-") or value == "-":
            use.operands.append(word)
            continue
        if value == "--":
            only_operands = True
            continue
        if word.has_gap:
            return None
        if spec.has_number and re.fullmatch(r"-[0-9]+", value):
            continue
        taken = _long(word, spec, use) if value.startswith("--") else _short(word, spec, use)
        if taken is None:
            return None
        name, kind = taken
        if name:
            if at >= len(words):
                return None
            if not _give(use, name, words[at], kind):
                return None
            at += 1
    return use if _sort_operands(use, spec) else None


def _long(word: Word, spec: Spec, use: Use) -> tuple[str, Value] | None:
    """Parse a long option; return its name if the next word is its value, and None if it is unknown."""
    name, equals, text = (word.value or "").partition("=")
    kind = spec.long.get(name)
    if kind is None or (equals and not kind):
        return None
    if equals:
        return ("", "") if _give(use, name, _text_word(text), kind) else None
    use.options.setdefault(name, [])
    return (name, kind) if kind in ("text", "path") else ("", "")


def _short(word: Word, spec: Spec, use: Use) -> tuple[str, Value] | None:
    text = (word.value or "")[1:]
    for index, letter in enumerate(text):
        kind = spec.short.get(letter)
        if kind is None:
            return None
        use.options.setdefault(f"-{letter}", [])
        if kind:
            rest = text[index + 1 :]
            if rest:
                return ("", "") if _give(use, f"-{letter}", _text_word(rest), kind) else None
            return ("", "") if kind == "optional" else (f"-{letter}", kind)
    return ("", "")


def _give(use: Use, name: str, word: Word, kind: Value) -> bool:
    if word.value is None:
        # An expansion in quotes is one word, whatever it contains.
        if kind == "path" or not word.expansions or not all(part.is_quoted for part in word.expansions):
            return False
        use.texts.append(word)
    elif kind == "path":
        use.paths.append(word)
    elif word.has_gap:
        return False
    use.options.setdefault(name, []).append(word.value or "")
    return True


def _text_word(text: str) -> Word:
    return Word(text, text, (text,))


def _sort_operands(use: Use, spec: Spec) -> bool:
    words = list(use.operands)
    if spec.operands == "pattern" and not use.has("-e", "--regexp", "-f", "--file", "--files", "--type-list"):
        if not words or (words[0].value is None and not _is_one_text(words[0])):
            return False
        use.texts.append(words.pop(0))
    if spec.operands == "none":
        return not words
    if spec.operands == "path" and len(words) > 1:
        return False
    for word in words:
        is_text = spec.operands == "text" or (spec.operands == "names" and not _looks_like_path(word))
        (use.texts if is_text else use.paths).append(word)
    return True


def _is_one_text(word: Word) -> bool:
    """True if a word with expansions is one word that is not an option."""
    first = word.pieces[0] if word.pieces else None
    return bool(first) and not str(first).startswith("-") and all(part.is_quoted for part in word.expansions)


def _looks_like_path(word: Word) -> bool:
    return "/" in (word.value or "") or (word.value or "").startswith("~")


def is_option(text: str, names: Collection[str]) -> str:
    """Return which of some options a word is, also abbreviated or in a cluster; empty for none of them."""
    if text.startswith("--"):
        given = text.partition("=")[0]
        return next((name for name in names if name.startswith("--") and _abbreviates(given, name)), "")
    return next(_short_matches(text, names), "")


def fixed_beginning(word: Word) -> str:
    """Return the text of a word before the first part that only the shell knows."""
    return "".join(piece or "" for piece in itertools.takewhile(lambda piece: piece is not None, word.pieces))


def may_be_option(word: Word, names: Collection[str]) -> bool:
    """True if a word that only the shell knows may turn out to be one of some options, or to hold one."""
    if not names or word.value is not None:
        return False
    begun = fixed_beginning(word)
    if not begun:
        return True
    if not begun.startswith("-"):
        return not all(part.is_quoted for part in word.expansions)  # it may become several words
    if "=" in begun:
        return bool(is_option(begun, names))
    if not begun.startswith("--"):
        return begun == "-" or any(not name.startswith("--") for name in names)  # the rest may be more letters
    return any(name.startswith(begun) or begun.startswith(name) for name in names)


def _abbreviates(given: str, name: str) -> bool:
    return given == name or (len(given) > 4 and name.startswith(given))


def _short_matches(text: str, names: Collection[str]) -> Iterator[str]:
    for name in names:
        if name.startswith("--"):
            continue
        if len(name) > 2:
            if text.partition("=")[0] == name:
                yield name
        elif (
            text.startswith("-") and name[1] in text[1:] and re.fullmatch(r"-[A-Za-z0-9]*", text.partition(name[1])[0])
        ):
            yield name
