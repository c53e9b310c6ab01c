"""Base class of all events: facts in total order, cheap to emit and typed when read.

Rule 1: an event is recorded once, by the code that made it true. Rule 2: it travels as a plain tuple, a *record* `(seq,
t, class, *fields)`, and becomes an object only when it is read. Rule 3: records with a negative number are for the
recorder only; the journal counts from 1 without gaps. This module must not depend on the clock, the disk, Trio, or the
list of events: each folder owns its own events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeAlias, final, get_type_hints

import attrs

Record: TypeAlias = tuple[Any, ...]
"""`(seq, t, class, *fields)`: number, clock reading in seconds, event class, field values in order."""

SEQ: Final = 0
TIME: Final = 1
CLASS: Final = 2
FIELDS: Final = 3
"""Positions within a record; the fields of the event begin at the last one."""


class Level(IntEnum):
    """Detail of an actor's journal; each level includes the ones before it."""

    LIFECYCLE = 0
    """Starts and ends of actors, dead letters, restarts, names: for plain behaviors."""
    TURNS = 1
    """Also the beginning and end of every turn."""
    FULL = 2
    """Also every put, lease and acknowledgement: for agents, boards, tasks. Only this level allows checking
    conservation.
    """


@attrs.frozen(kw_only=True)
class Event:
    """A fact about one actor; subclasses add fields and set `kind`."""

    kind: ClassVar[str] = ""
    """Name of the event in the journal, such as `turn.end`."""
    level: ClassVar[Level] = Level.LIFECYCLE
    """Lowest journal level that includes the event."""
    fails: ClassVar[str] = ""
    """Name of the field whose value `failed` marks a failure; the recorder then keeps the events that led to it."""

    actor: str = ""
    """Id of the actor; empty if the event is about the whole run."""
    inc: int = 0
    """Incarnation of the actor; 0 if irrelevant."""
    parent: int = 0
    """`seq` of the event that led to this one; 0 if unknown."""


def field_names(event_class: type[Event]) -> tuple[str, ...]:
    """Return the names of an event's fields, in record order."""
    names = _names.get(event_class)
    if names is None:
        names = _names[event_class] = tuple(field.name for field in attrs.fields(event_class))
    return names


_names: dict[type[Event], tuple[str, ...]] = {}
_readers: dict[type[Event], Callable[[Event], tuple[Any, ...]]] = {}


def field_values(event: Event) -> tuple[Any, ...]:
    """Return an event's field values, in record order."""
    event_class = type(event)
    reader = _readers.get(event_class)
    if reader is None:
        reader = _readers[event_class] = attrgetter(*field_names(event_class))
    return reader(event)


def event_of(record: Record) -> Event:
    """Return the event object of a record."""
    event_class: type[Event] = record[CLASS]
    return event_class(**dict(zip(field_names(event_class), record[FIELDS:], strict=True)))


@final
class OneOf:
    """Allowed words of an event's field: `Annotated[str, OneOf(*State)]`; the journal check verifies them."""

    def __init__(self, *words: str) -> None:
        self.words = frozenset(map(str, words))


def words_of(event_class: type[Event]) -> Mapping[str, frozenset[str]]:
    """Return the allowed words of each field that is annotated with `OneOf`."""
    key: Any = event_class  # mypy rejects the class as a key, because attrs removes the hash of its objects
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
    """The requester and the reason of an end; recorded by the requester before anything is cancelled."""

    who: str
    """Id of the actor that asked, or a word such as `host`, `user`, `supervisor`, `deadline`."""
    why: str
    """The reason that the requester gave."""
