"""Table-driven reading of fields: accepted values, diagnostics for others, unknown keys.

Reading never raises; problems become diagnostics. A bad value in a field that *restricts* makes the whole unusable,
because ignoring it would allow more than its author intended; any other bad field is ignored.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core.sources._diagnostics import Diagnostic, Kind
from greenroom.core.sources._frontmatter import FieldEntry

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
"""The levels of effort, from the lowest."""
EFFORT_VALUES: Final = ", ".join(f"`{level}`" for level in EFFORTS) + ", or a number"
"""The values of a field for effort, for tables of reference."""


@final
class Misfit(Exception):
    """A value that its field does not accept; the text is what the field accepts."""


Reader: TypeAlias = Callable[[FieldEntry], Any]
"""Returns the value; raises `Misfit` with the accepted values."""

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_SHOWN: Final = 60


@final
@attrs.frozen(kw_only=True)
class Field:
    """A field that a file may have."""

    key: str
    """The key in the file."""
    attribute: str
    """Its name in Python."""
    read: Reader
    takes: str
    """The accepted values, for people."""
    default: str = ""
    """The default, for people."""
    note: str = ""
    restricts: bool = False
    is_prose: bool = False
    """True if it takes a person's sentences, which YAML may misread."""


def read_fields(
    table: Mapping[str, Field], fields: Mapping[str, FieldEntry], *, source: str, known: frozenset[str] = frozenset()
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """Return the values by attribute, or None if the whole is unusable; and the diagnostics.

    Args:
        table: The fields by key.
        fields: The written fields.
        source: Their origin, for the diagnostics.
        known: Keys that the caller reads itself.
    """
    values: dict[str, Any] = {}
    found: list[Diagnostic] = []
    is_usable = True
    for key, entry in fields.items():
        field = table.get(key)
        if field is None:
            if key not in known:
                text = f"unknown field {shown(key)}{suggestion(key, [*table, *known])}"
                found.append(Diagnostic(kind=Kind.IGNORED, source=source, line=entry.line, text=text))
            continue
        if entry.value is None:
            if field.restricts:
                text = f"{key} has no value; remove it, or write [] for none"
                found.append(Diagnostic(kind=Kind.IGNORED, source=source, line=entry.line, text=text))
            continue
        try:
            values[field.attribute] = field.read(entry)
        except Misfit as error:
            is_usable = is_usable and not field.restricts
            kind = Kind.BROKEN if field.restricts else Kind.IGNORED
            text = f"{key} must be {error}, got {shown(entry.value)}"
            found.append(Diagnostic(kind=kind, source=source, line=entry.line, text=text))
    return (values if is_usable else None), found


def shown(value: object) -> str:
    """Return a value for a message, on one line and cut if it is long."""
    line = repr(value)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def suggestion(key: str, keys: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown key, with the known one that is most like it; or nothing."""

    def plain(word: str) -> str:
        return word.lower().replace("-", "").replace("_", "")

    near = difflib.get_close_matches(plain(key), [plain(candidate) for candidate in keys], n=1, cutoff=0.8)
    meant = next((candidate for candidate in keys if near and plain(candidate) == near[0]), None)
    return f"; did you mean {meant}?" if meant else ""


# --- readers of one field ---------------------------------------------------------------------------------------------


def text(entry: FieldEntry) -> str:
    """Read text; a number or a word such as `on` is taken literally."""
    if entry.text is None:
        raise Misfit("text")
    return entry.text.strip()


def flag(entry: FieldEntry) -> bool:
    """Read true or false, also written as `yes`, `no`, `on`, `off`, `1`, `0` in any case."""
    word = (entry.text or "").strip().lower()
    if word not in _TRUE | _FALSE:
        raise Misfit("true or false")
    return word in _TRUE


def positive(entry: FieldEntry) -> int:
    """Read a whole number from 1."""
    word = (entry.text or "").strip()
    if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
        raise Misfit("a whole number from 1")
    return int(word)


def effort(entry: FieldEntry) -> str | int:
    """Read how hard a model thinks: a level, or a whole number from 1."""
    word = text(entry).lower()
    if word in EFFORTS:
        return word
    try:
        return positive(entry)
    except Misfit:
        raise Misfit(f"one of {', '.join(EFFORTS)}, or a whole number") from None


def one_of(*allowed: str) -> Reader:
    """Return the reader of one of these words, as they are written."""

    def read(entry: FieldEntry) -> str:
        word = (entry.text or "").strip()
        if word not in allowed:
            raise Misfit(f"one of {', '.join(allowed)}")
        return word

    return read


def words(*, on_spaces: bool = False) -> Reader:
    """Return the reader of a list of texts, or of one text that is split at commas outside brackets, and optionally at
    spaces.
    """

    def read(entry: FieldEntry) -> tuple[str, ...]:
        value = entry.value
        if entry.text is not None:
            return _split(entry.text, on_spaces=on_spaces)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(word for item in value for word in [item.strip()] if word)
        raise Misfit("a list of words, or words separated by commas")

    return read


def _split(line: str, *, on_spaces: bool) -> tuple[str, ...]:
    found, depth, start = [], 0, 0
    for at, character in enumerate(line):
        depth += (character == "(") - (character == ")" and depth > 0)
        if not depth and (character == "," or (on_spaces and character.isspace())):
            found.append(line[start:at])
            start = at + 1
    found.append(line[start:])
    return tuple(word for part in found for word in [part.strip()] if word)


def mapping(entry: FieldEntry) -> Mapping[str, Any]:
    """Read an object; the result is frozen."""
    if not isinstance(entry.value, Mapping):
        raise Misfit("fields below it")
    made: Mapping[str, Any] = frozen(entry.value)
    return made


def items(entry: FieldEntry) -> tuple[Any, ...]:
    """Read a list of anything; the result is frozen."""
    if not isinstance(entry.value, list | tuple):
        raise Misfit("a list")
    return tuple(frozen(item) for item in entry.value)


def frozen(value: Any) -> Any:
    """Return JSON values as tuples and read-only mappings, recursively."""
    if isinstance(value, Mapping):
        return MappingProxyType({str(key): frozen(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value


def thawed(value: Any) -> Any:
    """Return the plain dicts and lists of a `frozen` value, to be written as JSON."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(item) for item in value]
    return value
