"""Conversion between records and lines: one JSON object per line, the same bytes for the same record.

Rule 1: a field that is empty or has its default is left out; the reader restores it. Rule 2: encoding never fails:
values that JSON cannot represent are written as text, and a record that does not fit its class as `journal.unreadable`.
Rule 3: the version rises with the format; older lines go through the upcasters, newer ones are refused. The event
classes are passed in.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache, partial
from typing import Any, Final, Union, final, get_args, get_origin, get_type_hints

import attrs
import cattrs

from greenroom.core import CLASS, Event, InternalError, Record, field_names, record_maker
from greenroom.core.texts import as_json, json_default, safe_repr
from greenroom.trace._entries import Entry, UnknownEvent

VERSION: Final = 1
UPCASTERS: Final[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""For each version, the function that converts its lines to the next version."""
UNREADABLE: Final = "journal.unreadable"

_make_entry: Final = record_maker(Entry)
_PLACES: Final = ("seq", "t", "ev")
_BASE: Final = ("actor", "inc", "parent")
_OWN: Final = 6
"""Position in a record of the first field that is not one of all events."""
LONGEST_S: Final = 2.0**53 / 1e6
"""A time beyond this, 285 years, cannot be stored in microseconds: it is damage."""


class _Never:
    """A value that equals nothing: the field is always written."""


NEVER: Final = _Never()


@final
@attrs.frozen
class _Shape:
    """The layout of the lines of one event class."""

    kind: str
    fields: tuple[tuple[int, str, Any], ...]
    """Of each of its own fields the position in a record, the name and the omitted value."""
    floats: tuple[str, ...]
    length: int
    """Length of a record."""


@final
class _PlainLines:
    """Lines of one event class whose values are those of the event, without conversion: nearly all of them, in a fraction of the time.

    Args:
        event_class: The class.
        blanks: The value of each field that its line may leave out.
        types: The types that each field takes as they are, in the order of the fields.
    """

    def __init__(
        self, event_class: type[Event], blanks: Mapping[str, Any], types: Mapping[str, AbstractSet[type]]
    ) -> None:
        self.event_class: Final = event_class
        self._make: Callable[..., Event] = event_class
        self._blanks = dict.fromkeys(_PLACES) | {name: blanks.get(name, NEVER) for name in types}
        self._types = (frozenset({int}), frozenset({int, float}), frozenset({str}), *types.values())
        self._known: set[tuple[type, ...]] = set()
        """Types of all values that were found to fit, together."""

    def entry_in(self, line: Mapping[str, Any]) -> Entry | None:
        """Return the entry of a line; None if a value is missing, has to be converted, or belongs to no field."""
        values = tuple({**self._blanks, **line}.values())
        types = tuple(map(type, values))
        if types in self._known or self._fits(types):
            seq, t, kind, *fields = values
            return _make_entry(seq, float(t), kind, self._make(*fields))
        return None

    def _fits(self, types: tuple[type, ...]) -> bool:
        does_fit = len(types) == len(self._types) and all(
            each in allowed for each, allowed in zip(types, self._types, strict=True)
        )
        if does_fit:
            self._make = record_maker(self.event_class)  # not before: most classes have no line in a journal
            self._known.add(types)
        return does_fit


@final
@attrs.frozen(kw_only=True)
class Header:
    """The first line of a journal."""

    v: int = VERSION
    run: str
    greenroom: str
    """Version of greenroom that began the run."""
    python: str
    trio: str
    seed: int | None = None
    choices: str | None = None
    """Place of the scheduler's recorded choices, if any."""
    clock: float = 0.0
    """The clock's reading at the beginning; times in the journal count from there."""
    started: str | None = None
    """Date and time in UTC, ISO 8601."""
    about: Mapping[str, Any] = attrs.field(factory=dict)
    """Additional values from the program that opened the journal, such as the command line."""


@cache
def _converter() -> cattrs.Converter:
    return cattrs.Converter(detailed_validation=False)


@lru_cache(maxsize=8)
def codec_of(events: tuple[type[Event], ...]) -> Codec:
    """Return the codec of these classes, created once per process.

    Raises:
        InternalError: Two classes have the same kind, or a field uses a reserved name.
    """
    return Codec(events)


@final
class Codec:
    """Writes records as lines and reads lines as entries.

    Args:
        events: The event classes that can be read back.

    Raises:
        InternalError: Two classes have the same kind, or a field uses a reserved name.
    """

    def __init__(self, events: Iterable[type[Event]] = ()) -> None:
        import orjson

        self._dumps, self._option = orjson.dumps, orjson.OPT_APPEND_NEWLINE
        self._shapes: dict[type[Event], _Shape] = {}
        self._classes: dict[str, type[Event]] = {}
        self._blanks: dict[str, dict[str, Any]] = {}
        self._plain_of: dict[str, _PlainLines] = {}
        for event_class in events:
            if self._classes.setdefault(event_class.kind, event_class) is not event_class:
                raise InternalError(
                    f"{event_class.__name__} and {self._classes[event_class.kind].__name__} "
                    f"both have the kind {event_class.kind!r}"
                )
            key: Any = event_class  # mypy would complain about the hash of attrs objects, which is removed
            _, self._blanks[event_class.kind], self._plain_of[event_class.kind] = _read_shape(key)

    @property
    def kinds(self) -> AbstractSet[str]:
        """The kinds that can be read back."""
        return self._classes.keys()

    # --- writing ---------------------------------------------------------------------------------------------------

    def encoder(self, base_t: float) -> Callable[[Record], bytes]:
        """Return `encode` for records whose times count from `base_t`."""
        return partial(self._encode, base_t)

    def encode(self, record: Record, base_t: float) -> bytes:
        """Return the line of a record, with its newline; times count from `base_t`. It never fails."""
        return self._encode(base_t, record)

    def _encode_unreadable(self, record: Record, base_t: float, error: Exception) -> bytes:
        line = {"seq": record[0], "t": round(record[1] - base_t, 6), "ev": UNREADABLE, "why": repr(error)}
        line["record"] = [safe_repr(value) for value in record[2:]]
        return as_json(line, self._option)

    def _encode(self, base_t: float, record: Record) -> bytes:
        try:
            shape = self._shapes.get(record[CLASS]) or self._shape_of(record[CLASS])
            if len(record) != shape.length:
                raise InternalError(f"a record of {shape.kind} has {len(record)} values, not {shape.length}")
            # `round(t, 6)` gives the same number by way of a decimal text
            line: dict[str, Any] = {"seq": record[0], "t": round((record[1] - base_t) * 1e6) / 1e6}
            if record[3]:
                line["actor"] = record[3]
            if record[4]:
                line["inc"] = record[4]
            line["ev"] = shape.kind
            for place, name, empty in shape.fields:  # faster than an iterator of pairs, and than a dict with all keys
                value = record[place]
                if value != empty:
                    line[name] = value
            if record[5]:
                line["parent"] = record[5]
            for name in shape.floats:
                value = line.get(name)
                if isinstance(value, float) and not math.isfinite(value):
                    line[name] = str(value)  # JSON has no infinity; float() reads this back
            try:
                return self._dumps(line, json_default, self._option)
            except TypeError:
                return as_json(line, self._option)
        except Exception as error:  # noqa: BLE001 - the event has its number, so it needs a line
            return self._encode_unreadable(record, base_t, error)

    def encode_header(self, header: Header) -> bytes:
        """Return the first line of a journal, with its newline."""
        return as_json(cattrs.unstructure(header), self._option)

    def _shape_of(self, event_class: type[Event]) -> _Shape:
        key: Any = event_class  # mypy would complain about the hash of attrs objects, which is removed
        shape = self._shapes[event_class] = _read_shape(key)[0]
        return shape

    # --- reading ---------------------------------------------------------------------------------------------------

    def decode(self, line: Mapping[str, Any]) -> Entry:
        """Return the entry of a line that was read from JSON.

        Raises:
            ValueError: It is not a journal line, or a value does not fit its field; the text says which.
        """
        seq, t, kind = line.get("seq"), line.get("t"), line.get("ev")
        if type(seq) is not int or not isinstance(t, int | float) or not isinstance(kind, str):
            raise ValueError("an event must have a number `seq`, a time `t` and a kind `ev`")
        if not -LONGEST_S <= t <= LONGEST_S:
            raise ValueError(f"`t` must be a number of seconds within {LONGEST_S:.0f}, got {t!r}")
        return self.decode_sound(line)

    def decode_sound(self, line: Mapping[str, Any]) -> Entry:
        """Return the entry of a line whose `seq`, `t` and `ev` are known to be sound.

        Raises:
            ValueError: A value does not fit its field; the text says which.
        """
        kind = line["ev"]
        plain = self._plain_of.get(kind)
        if plain is None:
            return Entry(line["seq"], float(line["t"]), kind, _unknown(kind, line))
        entry = plain.entry_in(line)
        if entry is not None:
            return entry
        try:
            event = _converter().structure({**self._blanks[kind], **line}, plain.event_class)
        except Exception as error:  # noqa: BLE001 - whatever a converter raises, the line is at fault
            raise ValueError(f"{kind} does not fit its fields: {error}") from None
        return Entry(line["seq"], float(line["t"]), kind, event)


@lru_cache(maxsize=1024)
def _read_shape(event_class: type[Event]) -> tuple[_Shape, dict[str, Any], _PlainLines]:
    """Return the layout of a class, its restored values, and its plain lines; cached, because it is most of the cost of
    opening a journal.

    Raises:
        InternalError: A field uses a reserved name.
    """
    names = field_names(event_class)
    if names[: len(_BASE)] != _BASE or set(_PLACES) & set(names) or not event_class.kind:
        raise InternalError(f"{event_class.__name__} cannot be journalled: kind {event_class.kind!r}, fields {names}")
    hints = get_type_hints(event_class)
    fields = attrs.fields_dict(event_class)
    empties = {name: _empty(fields[name], hints[name]) for name in names[len(_BASE) :]}
    shape = _Shape(
        kind=event_class.kind,
        fields=tuple((place, name, empty) for place, (name, empty) in enumerate(empties.items(), _OWN)),
        floats=tuple(name for name in empties if _is_float(hints[name])),
        length=len(names) + 3,
    )
    blanks = {
        name: list(empty) if isinstance(empty, tuple) else empty
        for name, empty in empties.items()
        if empty is not NEVER and fields[name].default is attrs.NOTHING
    }
    defaults = {name: 0 if hints[name] is int else "" for name in _BASE}
    omitted = {name: empty for name, empty in empties.items() if empty is not NEVER}
    plain_types = {name: _plain_types(hints[name]) for name in names}
    return shape, blanks, _PlainLines(event_class, {**defaults, **omitted}, plain_types)


def _plain_types(hint: Any) -> AbstractSet[type]:
    """Return the types whose values a field has as JSON has them; a tuple is there only where its line leaves it out."""
    parts = get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)
    if any(part not in _PLAIN and part is not type(None) for part in parts):
        # Of another type, only a value that is left out.
        return frozenset({tuple}) if get_origin(hint) is tuple else frozenset({type(None)} & set(parts))
    return frozenset(parts)


def upcast(line: dict[str, Any], version: int) -> dict[str, Any]:
    """Return a line of an older version converted to this version."""
    for old in range(version, VERSION):
        line = UPCASTERS[old](line)
    return line


def _unknown(kind: str, line: Mapping[str, Any]) -> UnknownEvent:
    rest = {name: value for name, value in line.items() if name not in _PLACES and name not in _BASE}
    actor, inc, parent = line.get("actor", ""), line.get("inc", 0), line.get("parent", 0)
    if not isinstance(actor, str) or type(inc) is not int or type(parent) is not int:
        raise ValueError(f"{kind} does not fit its fields: actor, inc or parent")
    return UnknownEvent(actor=actor, inc=inc, parent=parent, name=kind, fields=rest)


_PLAIN: Final = frozenset({str, int, float, bool})
_EMPTY_OF: Final[Mapping[type, Any]] = {str: "", int: 0, float: 0.0, bool: False, tuple: ()}


def _empty(field: attrs.Attribute[Any], hint: Any) -> Any:
    """Return the omitted value: the default, or else the empty value of the type."""
    if field.default is not attrs.NOTHING:
        return NEVER if isinstance(field.default, attrs.Factory) else field.default  # type: ignore[arg-type]
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return None if type(None) in get_args(hint) else NEVER
    # A tuple of a fixed length has no empty value.
    if origin is tuple and get_args(hint)[-1:] != (...,):
        return NEVER
    return _EMPTY_OF.get(origin or hint, NEVER)


def _is_float(hint: Any) -> bool:
    return hint is float or (get_origin(hint) in {Union, types.UnionType} and float in get_args(hint))
