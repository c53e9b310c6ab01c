"""Entries of a journal, one for each line or record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.core import Event, Record, event_of, frozen


@final
@attrs.frozen(kw_only=True)
class UnknownEvent(Event):
    """An event of a kind that was not passed to this reader: kept and shown, not folded."""

    kind: ClassVar[str] = "unknown"

    name: str
    """Its kind in the journal."""
    fields: Mapping[str, Any]
    """The other fields of its line."""


@final
@frozen
class Entry:
    """An event with its position in the total order."""

    seq: int
    t: float
    """Seconds since the clock base of the header."""
    kind: str
    """For example `turn.end`."""
    event: Event

    def __getitem__(self, field: str) -> Any:
        """Return a field of the event by name, for readers that know kinds but not classes.

        Raises:
            KeyError: The event has no such field.
        """
        if isinstance(self.event, UnknownEvent) and field not in {"actor", "inc", "parent"}:
            return self.event.fields[field]
        try:
            return getattr(self.event, field)
        except AttributeError:
            raise KeyError(field) from None

    def get(self, field: str, default: Any = None) -> Any:
        """Return a field of the event, or `default` if it has no such field."""
        try:
            return self[field]
        except KeyError:
            return default


def entry_of(record: Record, *, base_t: float = 0.0) -> Entry:
    """Return the entry of a record, with its time rounded as in the journal."""
    event = event_of(record)
    return Entry(record[0], round(record[1] - base_t, 6), event.kind, event)


def entries_of(records: Iterable[Record], *, base_t: float = 0.0) -> list[Entry]:
    """Return the entries of a recorder's records, without those for the recorder only."""
    return [entry_of(record, base_t=base_t) for record in records if record[0] > 0]


def plain(value: Any) -> Any:
    """Return a value of an event or a state as JSON has it."""
    kind: Any = type(value)  # mypy rejects the class as a key, because attrs removes the hash of its objects
    if kind in _PLAIN:
        return value
    names = value_fields(kind)
    if names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


@cache
def value_fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a class, in order; None if it has no fields."""
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else None


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
