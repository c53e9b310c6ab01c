"""What a journal is made of when it is read: entries, one for each line or record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, final

import attrs

from greenroom.core import Event, Record, event_of


@final
@attrs.frozen(kw_only=True)
class UnknownEvent(Event):
    """An event of a kind that this reader was not handed: kept and shown, not folded."""

    kind: ClassVar[str] = "unknown"

    name: str
    """Its kind as the journal has it."""
    fields: Mapping[str, Any]
    """The rest of its line."""


@final
@attrs.frozen
class Entry:
    """One event with its place in the total order."""

    seq: int
    t: float
    """Seconds since the clock base of the header."""
    kind: str
    """Such as `turn.end`."""
    event: Event

    def __getitem__(self, field: str) -> Any:
        """Return a field of the event by its name, for readers that know kinds and not classes.

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
        """Return a field of the event, or `default` where it has none of that name."""
        try:
            return self[field]
        except KeyError:
            return default


def entry_of(record: Record, *, base_t: float = 0.0) -> Entry:
    """Make the entry that a record stands for; its time as the journal would hold it."""
    event = event_of(record)
    return Entry(record[0], round(record[1] - base_t, 6), event.kind, event)


def entries_of(records: Iterable[Record], *, base_t: float = 0.0) -> list[Entry]:
    """Make entries from what a recorder holds; records for the recorder only are left out."""
    return [entry_of(record, base_t=base_t) for record in records if record[0] > 0]
