"""From regular expressions to programs of single steps, the input of the automaton.

Rule 1: `re` parses, so the language is Python's; what needs memory or look-around (backreferences, lookahead, atomic
groups) is refused, as in ripgrep. Rule 2: what one character matches is asked of `re` itself, so both sides of a search
agree on case, classes and Unicode. Rule 3: a program has at most `MAX_NODES` nodes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from enum import IntEnum
from functools import reduce
from importlib import import_module
from typing import Any, Final, TypeAlias

import attrs

MAX_NODES: Final = 1_000
MAX_CHARACTERS: Final = 1_000

Tree: TypeAlias = Any
"""A parsed pattern: a list of (opcode, argument), as in CPython since 2.0."""

# They have no public names, and the tree between them has hardly changed in 20 years. A parser of our own would be a
# second dialect; and `re.compile` does both in one step, with warnings in whatever thread it runs.
_parser: Final = import_module("re._parser")
_compiler: Final = import_module("re._compiler")
_POSIX_CLASS: Final = re.compile(r"\[\^?[^\]]*\[:\^?\w+:\]")


class BadPattern(ValueError):
    """A pattern that cannot be used; the text says why."""


class Op(IntEnum):
    """The operations of nodes."""

    CHARACTER = 0
    """Consumes one matching character, and continues."""
    SPLIT = 1
    """Goes on in several places."""
    ASSERT = 2
    """Goes on if it stands at such a place."""
    MATCH = 3
    """Is the end."""


class AssertionPlace(IntEnum):
    """The places where assertions hold."""

    TEXT_START = 0
    TEXT_END = 1
    LINE_START = 2
    LINE_END = 3
    BOUNDARY = 4
    NO_BOUNDARY = 5


@attrs.define
class Node:
    """One step."""

    op: Op
    argument: Any = None
    """The compiled pattern of one character, or a place."""
    to: list[int] = attrs.field(factory=list)
    """The nodes that come next."""


@attrs.frozen
class Program:
    """A pattern as steps."""

    nodes: list[Node]
    start: int
    is_ascii: bool
    """True if words consist of ASCII letters only."""


@attrs.frozen
class Parsed:
    """A pattern that `re` understands."""

    text: str
    tree: Tree
    tree_for_blocks: Tree
    """The same with `^` and `$` at every line of a text."""
    flags: int
    """Those given and those in the pattern."""


def parse(pattern: str, flags: re.RegexFlag) -> Parsed:
    """Parse a pattern, which is quick; compiling may take a second, see `compiled` and `compile_program`.

    In the main thread only: it silences warnings for a moment, and they are the whole program's.

    Raises:
        BadPattern: It is not a regular expression, or too long.
    """
    if len(pattern) > MAX_CHARACTERS:
        raise BadPattern(f"the pattern is longer than {MAX_CHARACTERS} characters")
    if _POSIX_CLASS.search(pattern):
        # To Python it is a set of letters and colons: the search would answer, and wrongly.
        raise BadPattern(r"classes such as [:alpha:] are not supported; write \w, \d, \s or a range")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about future meanings of odd sets; nothing a model could act on
            tree, for_blocks = _parser.parse(pattern, flags), _parser.parse(pattern, flags | re.MULTILINE)
    except re.error as error:
        raise BadPattern(str(error)) from None
    except (OverflowError, RecursionError):
        raise BadPattern("the pattern is too large or too deeply nested") from None
    return Parsed(pattern, tree, for_blocks, tree.state.flags)


def compiled(tree: Tree) -> re.Pattern[str]:
    """Compile one of a pattern's trees for `re`.

    Raises:
        BadPattern: It is too large.
    """
    try:
        found: re.Pattern[str] = _compiler.compile(tree)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"the pattern is too large or too deeply nested ({error})") from None
    return found


def compile_program(pattern: Parsed, *, is_reversed: bool = False) -> Program:
    """Compile a parsed pattern.

    Args:
        pattern: From `parse`.
        is_reversed: Whether the program reads the text from its end to its start.

    Raises:
        BadPattern: The pattern needs what no automaton can do, or too many nodes.
    """
    compiler = _Compiler(is_reversed=is_reversed)
    try:
        start = compiler.sequence(pattern.tree, pattern.flags, compiler.add(Op.MATCH))
    except RecursionError:
        raise BadPattern("the pattern is too deeply nested") from None
    return Program(compiler.nodes, start, bool(pattern.flags & re.ASCII))


class _Compiler:
    """Builds from the end to the start: each method returns the node at which its part begins."""

    def __init__(self, *, is_reversed: bool) -> None:
        self.nodes: list[Node] = []
        self._is_reversed = is_reversed

    def add(self, op: Op, argument: Any = None, to: Iterable[int] = ()) -> int:
        if len(self.nodes) >= MAX_NODES:
            raise BadPattern("the pattern is too large; repeat fewer times")
        self.nodes.append(Node(op, argument, list(to)))
        return len(self.nodes) - 1

    def sequence(self, tree: Tree, flags: int, then: int) -> int:
        parts = list(tree) if self._is_reversed else list(reversed(tree))
        return reduce(lambda after, part: self.part(part[0].name, part[1], flags, after), parts, then)

    def part(self, name: str, argument: Any, flags: int, then: int) -> int:
        if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            return self.add(Op.CHARACTER, _one_character(name, argument, flags), [then])
        if name == "AT":
            return self.add(Op.ASSERT, _place(argument.name, flags), [then])
        if name == "BRANCH":
            return self.add(Op.SPLIT, to=[self.sequence(branch, flags, then) for branch in argument[1]])
        if name == "SUBPATTERN":
            _, added, removed, inner = argument
            if (added | removed) & (re.ASCII | re.UNICODE):
                raise BadPattern("(?a:...) and (?u:...) hold for a whole pattern here: write (?a) at its start")
            return self.sequence(inner, (flags | added) & ~removed, then)
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most, inner = argument
            return self._repeat(least, most, inner, flags, then)
        raise BadPattern("look-around, backreferences and atomic groups are not supported, as in ripgrep")

    def _repeat(self, least: int, most: int, inner: Tree, flags: int, then: int) -> int:
        if most == _parser.MAXREPEAT:
            loop = self.add(Op.SPLIT, to=[then])
            self.nodes[loop].to.append(self.sequence(inner, flags, loop))
            start = loop
        else:
            start = then
            for _ in range(most - least):
                start = self.add(Op.SPLIT, to=[self.sequence(inner, flags, start), then])
        for _ in range(least):
            # An empty part adds no nodes, and its repeats would never reach the limit.
            before = len(self.nodes)
            start = self.sequence(inner, flags, start)
            if len(self.nodes) == before:
                break
        return start


def _place(name: str, flags: int) -> AssertionPlace:
    if flags & re.MULTILINE and name in _LINE_PLACES:
        return _LINE_PLACES[name]
    return _PLACES[name]


def _one_character(name: str, argument: Any, flags: int) -> re.Pattern[str]:
    kept = flags & (re.IGNORECASE | re.ASCII | re.DOTALL)
    if name == "ANY":
        return re.compile(".", kept)
    items = [(op.name, value) for op, value in argument] if name == "IN" else [(name, argument)]
    texts = [_member(op, value) for op, value in items]
    return re.compile(f"[{''.join(texts)}]", kept)


def _member(name: str, value: Any) -> str:
    if name == "NEGATE":
        return "^"
    if name == "NOT_LITERAL":
        return "^" + _escaped(value)
    if name == "RANGE":
        return f"{_escaped(value[0])}-{_escaped(value[1])}"
    if name == "CATEGORY":
        return _CATEGORIES[value.name]
    return _escaped(value)


def _escaped(code: int) -> str:
    return f"\\U{code:08x}"


_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}

_PLACES: Final = {
    "AT_BEGINNING": AssertionPlace.TEXT_START,
    "AT_BEGINNING_STRING": AssertionPlace.TEXT_START,
    "AT_END": AssertionPlace.TEXT_END,
    "AT_END_STRING": AssertionPlace.TEXT_END,
    "AT_BOUNDARY": AssertionPlace.BOUNDARY,
    "AT_NON_BOUNDARY": AssertionPlace.NO_BOUNDARY,
}
_LINE_PLACES: Final = {"AT_BEGINNING": AssertionPlace.LINE_START, "AT_END": AssertionPlace.LINE_END}
