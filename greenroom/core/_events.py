"""The base of all events: facts, in total order, cheap to emit and typed when read.

Rule 1: an event is written once, by whoever made it true. Rule 2: it travels as a plain tuple, a *record*
`(seq, t, class, *fields)`, and becomes an object when somebody reads it. Rule 3: a record whose number is negative is
for the recorder only; the journal counts from 1 without a gap.
Must not know: clock, disk, Trio, and which events there are: each folder owns its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeAlias, final, get_type_hints

import attrs

Record: TypeAlias = tuple[Any, ...]
"""`(seq, t, class, *fields)`: number, clock reading in seconds, event class, its fields in their order."""

SEQ: Final = 0
TIME: Final = 1
CLASS: Final = 2
FIELDS: Final = 3
"""Where a record has what; the fields of its event begin at the last."""


class Level(IntEnum):
    """How much of an actor's life its journal holds; each level contains the ones before it."""

    LIFECYCLE = 0
    """Starts and ends of actors, dead letters, restarts, names: for plain behaviors."""
    TURNS = 1
    """The beginning and end of every turn as well."""
    FULL = 2
    """Every put, lease and acknowledgement as well: for agents, boards, tasks. Only here is conservation checked."""


@attrs.frozen(kw_only=True)
class Event:
    """A fact about one actor; subclasses add what it says and set `kind`."""

    kind: ClassVar[str] = ""
    """The name in the journal, such as `turn.end`."""
    level: ClassVar[Level] = Level.LIFECYCLE
    """The lowest journal level that takes it."""
    fails: ClassVar[str] = ""
    """Name of the field that is `failed` where it tells of a failure; what led to that is then kept (DESIGN 8)."""

    actor: str = ""
    """Id of the actor it is about; empty for the run as a whole."""
    inc: int = 0
    """Incarnation of that actor; 0 where that does not matter."""
    parent: int = 0
    """`seq` of the event that led here; 0 where none is known."""


def field_names(event_class: type[Event]) -> tuple[str, ...]:
    """Return the names of an event's fields, in the order in which a record holds them."""
    names = _names.get(event_class)
    if names is None:
        names = _names[event_class] = tuple(field.name for field in attrs.fields(event_class))
    return names


_names: dict[type[Event], tuple[str, ...]] = {}
_readers: dict[type[Event], Callable[[Event], tuple[Any, ...]]] = {}


def field_values(event: Event) -> tuple[Any, ...]:
    """Return an event's field values, in the order in which a record holds them."""
    event_class = type(event)
    reader = _readers.get(event_class)
    if reader is None:
        reader = _readers[event_class] = attrgetter(*field_names(event_class))
    return reader(event)


def event_of(record: Record) -> Event:
    """Make the event that a record stands for."""
    event_class: type[Event] = record[CLASS]
    return event_class(**dict(zip(field_names(event_class), record[FIELDS:], strict=True)))


@final
class OneOf:
    """The words that a field of an event may hold: `Annotated[str, OneOf(*State)]`; the journal's check looks at each."""

    def __init__(self, *words: str) -> None:
        self.words = frozenset(map(str, words))


def words_of(event_class: type[Event]) -> Mapping[str, frozenset[str]]:
    """Return, for each field of an event that holds one of a set of words, these words."""
    key: Any = event_class  # mypy would look at the hash of its objects, which attrs takes away
    return _read_words(key)


@cache
def _read_words(event_class: type[Event]) -> Mapping[str, frozenset[str]]:
    hints = get_type_hints(event_class, include_extras=True)
    return {
        name: mark.words
        for name, hint in hints.items()
        for mark in getattr(hint, "__metadata__", ())
        if isinstance(mark, OneOf)
    }


@attrs.frozen
class Cause:
    """Who ended something, and why: recorded by the requester before anything is cancelled."""

    who: str
    """Id of the actor that asked, or a word such as `host`, `user`, `supervisor`, `deadline`."""
    why: str
    """Why, in the words of whoever asked."""
