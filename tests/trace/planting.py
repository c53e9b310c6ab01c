"""Faults that tests plant into sound journals: events dropped, repeated, changed, inserted, moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from greenroom.core import Event
from greenroom.session import SessionBegan, SessionEnded
from greenroom.trace import Entry

Entries: TypeAlias = list[Entry]
Mutation: TypeAlias = Callable[[Entries], Entries]

BEGIN: Final = SessionBegan(session="s", model="m", cwd=".")
END: Final = SessionEnded(state="completed", error="")


def entry_of(event: Event, t: float = 0.0) -> Entry:
    return Entry(0, t, event.kind, event)


def numbered(entries: Sequence[Entry], *, first: int = 1) -> Entries:
    """Number entries anew, with their parents, so that only what was planted is wrong."""
    new = {entry.seq: seq for seq, entry in enumerate(entries, first) if entry.seq}
    return [
        Entry(seq, entry.t, entry.kind, attrs.evolve(entry.event, parent=new.get(entry.event.parent, 0)))
        for seq, entry in enumerate(entries, first)
    ]


def in_session(entries: Sequence[Entry]) -> Entries:
    return numbered([entry_of(BEGIN), *entries, entry_of(END)])


def evolved(event: Any, **to: Any) -> Event:
    """Change fields that only some events have."""
    changed: Event = attrs.evolve(event, **to)
    return changed


def place(entries: Entries, kind: str, nth: int = 0, **fields: Any) -> int:
    """Return where the nth event of a kind and with these fields stands."""
    found = [
        place
        for place, entry in enumerate(entries)
        if entry.kind == kind and all(entry[name] == value for name, value in fields.items())
    ]
    return found[nth]


def drop(kind: str, nth: int = 0, **fields: Any) -> Mutation:
    def mutate(entries: Entries) -> Entries:
        where = place(entries, kind, nth, **fields)
        return numbered(entries[:where] + entries[where + 1 :])

    return mutate


def repeat(kind: str, nth: int = 0, *, later: int = 1, **fields: Any) -> Mutation:
    """Plant the same event once more, `later` entries further on."""

    def mutate(entries: Entries) -> Entries:
        where = place(entries, kind, nth, **fields)
        twin = attrs.evolve(entries[where], seq=0)
        return numbered([*entries[: where + later], twin, *entries[where + later :]])

    return mutate


def change(kind: str, nth: int = 0, *, to: dict[str, Any], **fields: Any) -> Mutation:
    def mutate(entries: Entries) -> Entries:
        where = place(entries, kind, nth, **fields)
        event = evolved(entries[where].event, **to)
        return [*entries[:where], attrs.evolve(entries[where], event=event), *entries[where + 1 :]]

    return mutate


def insert(after: str, make: Callable[[Entry], Event], nth: int = 0, **fields: Any) -> Mutation:
    """Plant an event made from the one that it follows."""

    def mutate(entries: Entries) -> Entries:
        where = place(entries, after, nth, **fields)
        return numbered([*entries[: where + 1], entry_of(make(entries[where])), *entries[where + 1 :]])

    return mutate


def at(kind: str, nth: int = 0, *, t: Callable[[Entry], float], **fields: Any) -> Mutation:
    """Make an event happen at another time."""

    def mutate(entries: Entries) -> Entries:
        where = place(entries, kind, nth, **fields)
        moved = attrs.evolve(entries[where], t=t(entries[where]))
        return [*entries[:where], moved, *entries[where + 1 :]]

    return mutate


def move(entries: Entries, where: int, to: int) -> Entries:
    """Make an event happen elsewhere, with the time of what stands there."""
    moved = attrs.evolve(entries[where], t=entries[to].t)
    rest = [*entries[:where], *entries[where + 1 :]]
    return numbered([*rest[:to], moved, *rest[to:]])


def run(*events: Event) -> Entries:
    """Make a journal of these events, a tenth of a second apart."""
    return [Entry(seq, seq / 10, event.kind, event) for seq, event in enumerate(events, 1)]


def same(entry: Entry, **fields: Any) -> dict[str, Any]:
    return {"actor": entry.event.actor, "inc": entry.event.inc, **fields}
