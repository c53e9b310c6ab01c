"""Pairing of `x.new`, `x.begin` and `x.end` events of any kind, by the fields that all of them have.

`x.dropped` ends something that never began; an `x.end` may take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from greenroom.core import Event, field_names
from greenroom.trace._entries import Entry, UnknownEvent

_BASE: Final = ("actor", "inc", "parent", "at_s")
"""Fields that identify nothing: whose it is, and the wall clock of a gateway's events."""
OPEN: Final = "open"
"""The outcome of what has not ended."""
STEPS: Final = ("new", "begin", "end", "dropped")
Owner: TypeAlias = tuple[str, int]
"""An incarnation: id and number."""
Key: TypeAlias = tuple[Hashable, ...]
"""Identity of a thing within its owner: `turn`, 3; `tool`, (3, 1, "call-7")."""


class _Step(NamedTuple):
    """The part of a kind in what is open."""

    what: str
    step: str
    """One of `STEPS`; empty if it is none."""
    names: tuple[str, ...]
    read: Callable[[Event], Any]
    """Returns the values of the fields with those names: of one, its value alone."""


class OpenSpans:
    """The open things while the entries are walked.

    Args:
        classes: The event classes among the entries; further ones do no harm.
    """

    def __init__(self, classes: Iterable[type[Event]]) -> None:
        self._shared = _shared_fields(classes)
        self._steps: dict[str, _Step] = {}
        """By kind."""
        self._created: set[str] = set()
        """What has been created before it began."""
        self._held: dict[Owner, dict[Key, list[Entry]]] = {}

    def walk(self, entry: Entry) -> tuple[Entry | None, bool]:
        """Process the next entry; return the entry that it ends, and True if it ends nothing."""
        what, step, names, read = self._steps.get(entry.kind) or self._read_step(entry.kind)
        if not step:
            return None, False
        event = entry.event
        owner = event.actor, event.inc
        held = self._held.get(owner)
        if held is None:
            held = self._held[owner] = {}
        if event.__class__ is UnknownEvent:
            fields = entry[names[0]] if len(names) == 1 else tuple(entry[name] for name in names)
        else:
            fields = read(event)
        if step == "end":
            begin = _pop(held, (what, fields))
            return begin, begin is None and self._pop_created(held, what, fields) is None  # it may end while pending
        if step == "begin":
            if what in self._created:
                self._pop_created(held, what, fields)
            _put(held, (what, fields), entry)
        elif step == "new":
            self._created.add(what)
            _put(held, ("new", what, fields), entry)
        else:
            return None, self._pop_created(held, what, fields) is None
        return None, False

    def _read_step(self, kind: str) -> _Step:
        what, _, step = kind.rpartition(".")
        names = self._shared.get(what, ())
        read: Callable[[Event], Any] = attrgetter(*names) if names else lambda _: ()
        found = self._steps[kind] = _Step(what, step if step in STEPS else "", names, read)
        return found

    def _pop_created(self, held: dict[Key, list[Entry]], what: str, fields: Any) -> Entry | None:
        return _pop(held, ("new", what, fields)) if what in self._created else None

    def left(self) -> list[Entry]:
        """Return the open begins, in order."""
        left = [entry for owner in list(self._held) for entry in self.left_by(owner)]
        return sorted(left, key=lambda entry: entry.seq)

    def left_by(self, owner: Owner) -> list[Entry]:
        """Return the open begins of an incarnation, and forget them."""
        return [entry for entries in self._held.pop(owner, {}).values() for entry in entries]


def _put(held: dict[Key, list[Entry]], key: Key, entry: Entry) -> None:
    entries = held.get(key)
    if entries is None:
        held[key] = [entry]
    else:
        entries.append(entry)


def _pop(held: dict[Key, list[Entry]], key: Key) -> Entry | None:
    entries = held.get(key)
    if not entries:
        return None
    entry = entries.pop()
    if not entries:
        del held[key]
    return entry


def _classes_of(entries: Iterable[Entry]) -> Iterable[type[Event]]:
    return {entry.kind: type(entry.event) for entry in entries}.values()


def _shared_fields(event_classes: Iterable[type[Event]]) -> dict[str, tuple[str, ...]]:
    """Return, for each kind of thing, the identifying fields: those that all of its events have."""
    steps: dict[str, dict[str, type[Event]]] = {}
    for event_class in event_classes:
        what, _, step = event_class.kind.rpartition(".")
        if step in STEPS:
            steps.setdefault(what, {})[step] = event_class
    shared: dict[str, tuple[str, ...]] = {}
    for what, classes in steps.items():
        names = set.intersection(*(set(field_names(event_class)) for event_class in classes.values()))
        if len(classes) > 1:
            shared[what] = tuple(sorted(names.difference(_BASE)))
    return shared


def _known(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if not isinstance(entry.event, UnknownEvent)]


def spans(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield each begin with its end, in the order of the ends."""
    known = _known(entries)
    opened = OpenSpans(_classes_of(known))
    for entry in known:
        begin, _ = opened.walk(entry)
        if begin is not None:
            yield begin, entry


def open_spans(entries: Sequence[Entry]) -> list[Entry]:
    """Return everything that was created or begun and has not ended, in order: actors, turns, model requests, tool
    calls ...
    """
    known = _known(entries)
    opened = OpenSpans(_classes_of(known))
    for entry in known:
        opened.walk(entry)
    return opened.left()


def paired(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-48: nothing ends that has not begun, and nothing that an incarnation began outlives it."""
    known = _known(entries)
    opened = OpenSpans(_classes_of(known))
    for entry in known:
        _, is_orphan = opened.walk(entry)
        if is_orphan:
            yield entry.seq, f"{entry.kind} of {entry.event.actor or 'the run'} ends something that never began"
        if entry.kind == "actor.end":
            for begin in opened.left_by((entry.event.actor, entry.event.inc)):
                yield begin.seq, f"{begin.kind} of {entry.event.actor} has no end, and its actor ended at {entry.seq}"
