"""Reading of JSON5: every value that cannot be used is named by its path, a syntax error by line and column.

Rule 1: nesting is counted before the parser runs, because the parser recurses. Rule 2: a key that stands twice, a number
beyond 64 bits, `NaN`, an infinity, and half a surrogate pair are problems of the values they stand for; reading continues.

Must not know: files, settings classes.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, final

import attrs

MAX_NESTING: Final = 64
"""Maximum depth of brackets."""
Path: TypeAlias = tuple[str | int, ...]
"""Keys of objects and places in lists, from the top."""

_FRAMES: Final = 30
"""Frames of Python that the parser takes for one level of nesting, rounded up."""
_TOKEN: Final = re.compile(
    r""""(?:\\(?:\r\n|.)|[^"\\\n\r])*"? | '(?:\\(?:\r\n|.)|[^'\\\n\r])*'?   # texts
    | //[^\n\r\u2028\u2029]* | /\*.*?(?:\*/|\Z)                             # comments
    | [\[{] | [\]}]""",
    re.VERBOSE | re.DOTALL,
)
_LINE_END: Final = re.compile("\r\n|[\n\r\u2028\u2029]")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INT64: Final = range(-(2**63), 2**63)
_MOST_DIGITS: Final = 20
_SHOWN: Final = 60


@final
class BadJson5(Exception):
    """A text that is not JSON5.

    Attributes:
        line: Line number from 1; 0 if the problem is about the whole text.
        column: Column from 1.
        what: The problem.
    """

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(f"line {line}, column {column}: {what}" if line else what)
        self.line = line
        self.column = column
        self.what = what


@final
@attrs.frozen
class Refused:
    """Stand-in for a value that cannot be used, whose problem is reported."""

    why: str = ""


@final
@attrs.frozen
class Json5Document:
    """The value of a text, and the problems of what stands in it."""

    value: Any
    problems: tuple[tuple[Path, str], ...] = ()


@final
class _Twice(dict[str, Any]):
    """An object in which keys stand twice."""

    twice: tuple[str, ...] = ()


def read_json5(text: str) -> Json5Document:
    """Return the value of a JSON5 text, with all problems of its parts.

    Raises:
        BadJson5: The text is not JSON5, or is nested too deeply.
    """
    depth = _depth(text)
    if depth > MAX_NESTING:
        raise BadJson5(0, 0, f"its brackets are nested more than {MAX_NESTING} deep")
    if not text.strip():
        raise BadJson5(1, 1, "the file is empty; write {} for no settings")
    import json5

    try:
        with _room(depth * _FRAMES):
            value, error, place = json5.parse(
                text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
            )
    except RecursionError:
        raise BadJson5(0, 0, "its brackets are nested too deeply to be read") from None
    if error is not None:
        raise _syntax_error(text, min(place, len(text)))
    found: list[tuple[Path, str]] = []
    value = _checked(value, (), found)
    return Json5Document(value, tuple(found))


def dotted(path: Sequence[str | int]) -> str:
    """Return a path as people write it: `agents.list[2].id`; keys that are no words stand in brackets."""
    made = ""
    for part in path:
        if isinstance(part, int):
            made += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            made += f".{_cut(part)}" if made else _cut(part)
        else:
            made += f"[{json.dumps(_cut(part))}]"
    return made


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _depth(text: str) -> int:
    """Return how deep brackets are nested, those in texts and comments left out."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest


@contextlib.contextmanager
def _room(frames: int) -> Iterator[None]:
    """Raise the limit of recursion: 64 levels take more frames than Python allows by default."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _syntax_error(text: str, place: int) -> BadJson5:
    line, start = 1, 0
    for end in _LINE_END.finditer(text, 0, place):
        line, start = line + 1, end.end()
    what = f"unexpected {text[place]!r}" if place < len(text) else "unexpected end of the file"
    return BadJson5(line, place - start + 1, what)


# --- what the parser hands over ---------------------------------------------------------------------------------------


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    given = list(pairs)
    made = dict(given)
    if len(made) == len(given):
        return made
    times = Counter(key for key, _ in given)
    double = _Twice(made)
    double.twice = tuple(key for key in made if times[key] > 1)
    return double


def _integer(written: str, base: int = 10) -> int | Refused:
    if len(written) > _MOST_DIGITS or (number := int(written, base)) not in _INT64:
        return Refused(f"must fit into 64 bits, got {_cut(written)}")
    return number


def _float(written: str) -> float | Refused:
    number = float(written)
    return number if math.isfinite(number) else Refused(f"must be a finite number, got {_cut(written)}")


def _constant(written: str) -> Refused:
    return Refused(f"must be a finite number, got {written}")


def _checked(value: Any, path: Path, found: list[tuple[Path, str]]) -> Any:
    """Return a value with plain objects in it, and add what cannot be used to `found`."""
    match value:
        case dict():
            found += (((*path, key), "the key stands twice in its object") for key in getattr(value, "twice", ()))
            for key in value:
                if _SURROGATE.search(key):
                    found.append(((*path, key), "the key holds half of a surrogate pair"))
            return {key: _checked(each, (*path, key), found) for key, each in value.items()}
        case list():
            return [_checked(each, (*path, at), found) for at, each in enumerate(value)]
        case Refused():
            found.append((path, value.why))
        case str() if _SURROGATE.search(value):
            found.append((path, "the text holds half of a surrogate pair"))
            return Refused("half of a surrogate pair")
    return value
