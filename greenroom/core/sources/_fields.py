"""Reading fields by a table: what each one takes, what to say of what does not fit, what is unknown.

Rule 1: reading never raises: what is wrong becomes a diagnostic. Rule 2: a bad value in a field that *restricts* makes the
whole unusable, because leaving it out would allow more than its author meant; elsewhere only the field is left out.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core.sources._diagnostics import Diagnostic, Kind
from greenroom.core.sources._frontmatter import Entry


@final
class Misfit(Exception):
    """A value that its field does not take; the text is what it takes."""


Reader: TypeAlias = Callable[[Entry], Any]
"""Returns the value; raises `Misfit` with what belongs there."""

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_SHOWN: Final = 60


@final
@attrs.frozen(kw_only=True)
class Field:
    """One field that a file may have."""

    key: str
    """As it is written."""
    attribute: str
    """What it is called in Python."""
    read: Reader
    takes: str
    """The values it takes, for people."""
    default: str = ""
    """What holds without it, for people."""
    note: str = ""
    restricts: bool = False
    is_prose: bool = False
    """Whether it takes sentences of a person, in which YAML may see what is not meant."""


def read_fields(
    table: Mapping[str, Field], fields: Mapping[str, Entry], *, source: str, known: frozenset[str] = frozenset()
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """Return the values by attribute, or None where the whole cannot be used; and what was found.

    Args:
        table: The fields by key.
        fields: What was written.
        source: Where, for the diagnostics.
        known: Keys that mean something to the caller and are not read here.
    """
    values: dict[str, Any] = {}
    found: list[Diagnostic] = []
    is_usable = True
    for key, entry in fields.items():
        field = table.get(key)
        if field is None:
            if key not in known:
                text = f"unknown field {shown(key)}{_meant(key, [*table, *known])}"
                found.append(Diagnostic(kind=Kind.IGNORED, source=source, line=entry.line, text=text))
            continue
        if entry.value is None:
            if field.restricts:
                text = f"{key} has no value; leave it out, or write [] for none"
                found.append(Diagnostic(kind=Kind.IGNORED, source=source, line=entry.line, text=text))
            continue
        try:
            values[field.attribute] = field.read(entry)
        except Misfit as error:
            is_usable = is_usable and not field.restricts
            kind = Kind.BROKEN if field.restricts else Kind.IGNORED
            text = f"{key} takes {error}, not {shown(entry.value)}"
            found.append(Diagnostic(kind=kind, source=source, line=entry.line, text=text))
    return (values if is_usable else None), found


def shown(value: object) -> str:
    """Return a value for a message, on one line and cut where it is long."""
    line = repr(value)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _meant(key: str, keys: Sequence[str]) -> str:
    def plain(word: str) -> str:
        return word.lower().replace("-", "").replace("_", "")

    near = difflib.get_close_matches(plain(key), [plain(one) for one in keys], n=1, cutoff=0.8)
    meant = next((one for one in keys if near and plain(one) == near[0]), None)
    return f"; did you mean {meant}?" if meant else ""


# --- what a field may take --------------------------------------------------------------------------------------------


def text(entry: Entry) -> str:
    """Take text; a number or a word such as `on` is the text that stands there."""
    if entry.text is None:
        raise Misfit("text")
    return entry.text.strip()


def flag(entry: Entry) -> bool:
    """Take true or false, also as `yes`, `no`, `on`, `off`, `1`, `0` in any case."""
    word = (entry.text or "").strip().lower()
    if word not in _TRUE | _FALSE:
        raise Misfit("true or false")
    return word in _TRUE


def positive(entry: Entry) -> int:
    """Take a whole number from 1."""
    word = (entry.text or "").strip()
    if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
        raise Misfit("a whole number from 1")
    return int(word)


def one_of(*allowed: str) -> Reader:
    """Take one of these words, as they are written."""

    def read(entry: Entry) -> str:
        word = (entry.text or "").strip()
        if word not in allowed:
            raise Misfit(f"one of {', '.join(allowed)}")
        return word

    return read


def words(*, on_spaces: bool = False) -> Reader:
    """Take a list of texts, or one text that is split at commas outside brackets, and at spaces if asked for."""

    def read(entry: Entry) -> tuple[str, ...]:
        value = entry.value
        if entry.text is not None:
            return _split(entry.text, on_spaces=on_spaces)
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            return tuple(word for one in value for word in [one.strip()] if word)
        raise Misfit("a list of words, or words with commas between them")

    return read


def _split(line: str, *, on_spaces: bool) -> tuple[str, ...]:
    found, depth, start = [], 0, 0
    for at, character in enumerate(line):
        depth += (character == "(") - (character == ")" and depth > 0)
        if not depth and (character == "," or (on_spaces and character.isspace())):
            found.append(line[start:at])
            start = at + 1
    found.append(line[start:])
    return tuple(word for one in found for word in [one.strip()] if word)


def mapping(entry: Entry) -> Mapping[str, Any]:
    """Take an object; it is frozen."""
    if not isinstance(entry.value, Mapping):
        raise Misfit("fields below it")
    made: Mapping[str, Any] = frozen(entry.value)
    return made


def items(entry: Entry) -> tuple[Any, ...]:
    """Take a list of anything; it is frozen."""
    if not isinstance(entry.value, list | tuple):
        raise Misfit("a list")
    return tuple(frozen(one) for one in entry.value)


def frozen(value: Any) -> Any:
    """Return JSON values as tuples and read-only mappings, all the way down."""
    if isinstance(value, Mapping):
        return MappingProxyType({str(key): frozen(one) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(one) for one in value)
    return value


def thawed(value: Any) -> Any:
    """Return what `frozen` made as plain dicts and lists, to be written as JSON."""
    if isinstance(value, Mapping):
        return {key: thawed(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(one) for one in value]
    return value
