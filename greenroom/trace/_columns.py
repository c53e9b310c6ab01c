"""A run as columns of numbers: what pictures are drawn from, by a page that never folds.

    columns = Columns(EVENTS)
    for change in changes(entries, FOLDS):
        columns.take(change.entry, change.subjects)
    head, body = columns.pack({})             # a JSON head, and the bytes that it describes

Rule 1: rows are appended and never changed, so that what is known of the first events is usable while the rest is read, and a reader
that has n rows of a table needs only those after them. Rule 2: rows come from the fold (states, mail, usage), from the one pairing of
begins and ends (slices), or are fields that every event has. Rule 3: numbers are little-endian, of fixed width; one that does not fit is
the nearest that does.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias, final

from greenroom.actors import State
from greenroom.core import Event, field_names
from greenroom.trace._checks_machines import Machine, machine_of
from greenroom.trace._column_tables import ColumnTable, KeptPatches
from greenroom.trace._entries import Entry, UnknownEvent, plain
from greenroom.trace._numbering import Numbering
from greenroom.trace._spans import OPEN, STEPS, OpenSpans
from greenroom.trace._world import BEGINS, Fold, SubjectChange, World
from greenroom.trace._world_changes import patch_of, subject_key
from greenroom.views import ActorView, MailboxView

VERSION: Final = 1
"""Version of the tables below."""
LANES: Final = ("now", "next", "later", "leased", "postponed")
"""Parts of a mailbox, as its view names them."""
TABLES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "events": (("t", "f8"), ("seq", "u4"), ("parent", "u4"), ("actor", "u4"), ("kind", "u2"), ("failed", "u1")),
    "states": (
        ("event", "u4"),
        ("actor", "u4"),
        ("supervisor", "u4"),
        ("incarnation", "u4"),
        ("turn", "u4"),
        ("flags", "u2"),
        ("state", "u1"),
    ),
    "mail": (("event", "u4"), ("actor", "u4"), *((lane, "u4") for lane in LANES)),
    "usage": (
        ("event", "u4"),
        ("actor", "u4"),
        ("input", "f8"),
        ("output", "f8"),
        ("cache_write", "f8"),
        ("cache_read", "f8"),
        ("requests", "u4"),
        ("failed_requests", "u4"),
        ("calls", "u4"),
        ("failed_calls", "u4"),
    ),
    "slices": (("event", "u4"), ("actor", "u4"), ("what", "u2"), ("name", "u4")),
    "ends": (("event", "u4"), ("slice", "u4"), ("outcome", "u2")),
}
"""Columns of each table: name, and `u1`, `u2`, `u4` or `f8`. `event` is a position, from 0; `actor`, `kind` and the like are places in the
lists of names; the last row of an actor up to an event is its state there. `ends` has the row of a slice that ends."""
STATES: Final = tuple(map(str, State))
FLAGS: Final = (
    "is_busy",
    "is_aborting",
    "is_suspended",
    "is_draining",
    "is_unresponsive",
    "is_gone",
    "is_lost",
    "is_past",
)
"""Bits of `flags`, from the lowest."""
REQUESTS: Final = ("stop", "kill")
"""The bits above them: what was requested of an incarnation."""
SHOWN_WHOLE: Final = frozenset({"actors", "mailboxes", "agents", "names"})
"""Sections that are tables and cards; the others are patches."""
_BUNCH: Final = 512
"""Events whose rows go into the columns at once."""
_CARD: Final = ("path", "behavior", "descent", "journal")
_AGENT_CARD: Final = ("definition", "model")
_NAMES_OF: Final = ("tool", "purpose", "model", "behavior")
"""Fields that name a slice, the first one that it has."""

Rows: TypeAlias = Mapping[str, int]
"""Rows of each table and list that a reader has."""


class _Kind(NamedTuple):
    """The part of a kind of events in the tables."""

    number: int
    failing: str
    """Field that says whether something failed; empty if there is none."""
    what: str
    step: str
    """One of `STEPS` if such events create, begin or end a `what`; else empty."""
    namings: tuple[str, ...]
    """Those of its fields that name a slice."""
    begins: bool
    """True if a process begins with it."""


@final
class Columns:
    """The tables of a run, which grow event by event.

    Attributes:
        kinds: Kinds of events, by number; slices and outcomes are among them.
        actors: Ids of actors, by number; the first one is empty.
        labels: Names of slices, by number.
        cards: Facts about actors that seldom change, each with the number of the actor; later ones win.
        patches: Changes of the sections that are no tables: position of the event, and section, subject, fields as in `Patch`.

    Args:
        classes: The known event classes.
    """

    def __init__(self, classes: Iterable[type[Event]]) -> None:
        self._classes = tuple(classes)
        self._class_of = {each.kind: each for each in self._classes}
        self._kind_of: dict[str, _Kind] = {}
        self._count = 0
        self._tables = {name: ColumnTable(columns) for name, columns in TABLES.items()}
        # Bound once: the lists of rows stay the same.
        self._add_event = self._tables["events"].rows.append
        self._add_state = self._tables["states"].rows.append
        self._add_mail = self._tables["mail"].rows.append
        self._add_usage = self._tables["usage"].rows.append
        self._add_slice = self._tables["slices"].rows.append
        self._add_end = self._tables["ends"].rows.append
        self._slices = 0
        """Number of slices that have begun."""
        self._kinds, self._actors, self._labels = Numbering(), Numbering(), Numbering()
        self._spans = OpenSpans(self._classes)
        self._open: dict[int, int] = {}
        """Number of the begin of each open slice to its row."""
        self._lives: dict[Machine, int] = {}
        """Row of each living incarnation."""
        self._flags: dict[tuple[Any, ...], int] = {}
        """Flags by the fields that they come from."""
        self._has_session = False
        self._begins = array("I")
        """Positions at which another process resumed the run."""
        self.cards: list[tuple[int, dict[str, Any]]] = []
        self.patches = KeptPatches()
        self._actors[""], self._labels[""]

    def __repr__(self) -> str:
        return f"<Columns of {len(self)} events>"

    def __len__(self) -> int:
        """Return the number of events taken."""
        return self._count

    @property
    def kinds(self) -> Sequence[str]:
        """Kinds of events, of slices, and outcomes, by number."""
        return tuple(self._kinds)

    @property
    def actors(self) -> Sequence[str]:
        """Ids of actors, by number."""
        return tuple(self._actors)

    def take(self, entry: Entry, subjects: Sequence[SubjectChange]) -> None:
        """Append what an event has changed.

        Args:
            entry: The event.
            subjects: The changes.
        """
        kind, position, event = entry.kind, self._count, entry.event
        found = self._kind_of.get(kind) or self._read_kind(kind)
        if found.begins:
            if self._has_session:
                self._end_process(position - 1)
                self._begins.append(position)
            self._has_session = True
        actor = self._actors[event.actor]
        if not found.failing:
            is_failed = False
        elif isinstance(event, UnknownEvent):
            is_failed = entry.get(found.failing) == "failed"
        else:
            is_failed = getattr(event, found.failing) == "failed"
        self._add_event((entry.t, entry.seq, event.parent, actor, found.number, is_failed))
        for change in subjects:
            section, subject, before, after = change
            take = _TAKE_OF.get(section)
            if take is not None:
                take(self, position, subject, before, after)
            elif section not in SHOWN_WHOLE:
                self.patches.append(position, patch_of(change))
        if found.step:
            self._take_slice(position, entry, found, actor)
        self._count = position + 1
        if not self._count % _BUNCH:
            for table in self._tables.values():
                table.fill()

    def pack(self, has: Rows, *, max_rows: int = sys.maxsize) -> tuple[dict[str, Any], bytes]:
        """Return what a reader does not have yet.

        Args:
            has: Rows of each table and list that it has; none of those that are missing here.
            max_rows: Maximum number of further rows of each.

        Returns:
            A head of JSON values: the version, for each table `from`, `rows` and its columns, for each list `from` and its
            items. Then the columns one after another in that order, each beginning at a multiple of 8 bytes.
        """
        head, body = self.pack_parts(has, max_rows=max_rows)
        return head, b"".join(body)

    def pack_parts(self, has: Rows, *, max_rows: int = sys.maxsize) -> tuple[dict[str, Any], Iterator[bytes]]:
        """Return what `pack` does, column by column."""
        tables: dict[str, Any] = {}
        for name, table in self._tables.items():
            begin = min(has.get(name, 0), len(table))
            end = min(len(table), begin + max_rows)
            tables[name] = {"from": begin, "rows": end - begin, "columns": TABLES[name]}
        lists = {
            name: {"from": (begin := has.get(name, 0)), "items": items[begin : begin + max_rows]}
            for name, items in self._lists().items()
        }
        head = {
            "v": VERSION,
            "states": STATES,
            "flags": (*FLAGS, *REQUESTS),
            "tables": tables,
            "lists": lists,
        }
        return head, (
            self._tables[name].packed(column, place["from"], place["from"] + place["rows"])
            for name, place in tables.items()
            for column, _ in TABLES[name]
        )

    def number_of(self, actor: str) -> int:
        """Return the number of an actor."""
        return self._actors[actor]

    def mail_after(self, actor: str, positions: Sequence[int], count: int) -> Sequence[int]:
        """Return those events of a mailbox, the last ones before a number of events, that followed when it was last without a message.

        Args:
            actor: Its actor.
            positions: Positions of its events, in order.
            count: The number of events.
        """
        table, number = self._tables["mail"].columns, self._actors[actor]
        end = bisect_left(positions, count)
        begun = bisect_left(self._begins, count)
        first = end
        until = bisect_left(positions, self._begins[begun - 1]) if begun else 0  # mail does not outlive its process
        while first > until:
            row = bisect_left(table["event"], positions[first - 1])
            rows = range(row, bisect_left(table["event"], positions[first - 1] + 1, row))
            if any(table["actor"][row] == number and not any(table[lane][row] for lane in LANES) for row in rows):
                break
            first -= 1
        return positions[first:end]

    def rows(self) -> Rows:
        """Return the rows of each table and list."""
        tables = {name: len(table) for name, table in self._tables.items()}
        return tables | {name: len(items) for name, items in self._lists().items()}

    # --- inside -------------------------------------------------------------------------------------------------------

    def _lists(self) -> dict[str, Sequence[Any]]:
        return {
            "kinds": self._kinds.names,
            "actors": self._actors.names,
            "labels": self._labels.names,
            "cards": self.cards,
            "patches": self.patches,
        }

    def _read_kind(self, kind: str) -> _Kind:
        what, _, step = kind.rpartition(".")
        event_class = self._class_of.get(kind)
        failing = "state" if event_class is None else _failing_field(event_class)
        fields = () if event_class is None else field_names(event_class)
        namings = tuple(name for name in _NAMES_OF if name in fields)
        found = _Kind(self._kinds[kind], failing, what, step if step in STEPS else "", namings, kind in BEGINS)
        self._kind_of[kind] = found
        return found

    def _take_mailbox(self, position: int, subject: str, _: MailboxView | None, after: MailboxView) -> None:
        now, next_, later = len(after.now), len(after.next), len(after.later)
        row = (position, self._actors[subject], now, next_, later, len(after.leased), len(after.postponed))
        self._add_mail(row)

    def _take_actor(self, position: int, _: str, before: ActorView | None, after: ActorView) -> None:
        number = self._actors[after.id]
        card = _card_of(after)
        if before is None or _card_of(before) != card:
            self.cards.append((number, dict(zip(_CARD, card, strict=True))))
        marks = _marks_of(after)
        flags = self._flags.get(marks)
        if flags is None:
            flags = self._flags[marks] = _flags_of(after)
        above, state = self._actors[after.supervisor], _NUMBER_OF_STATE[after.state]
        self._add_state((position, number, above, after.incarnation, after.turn, flags, state))

    def _take_agent(self, position: int, subject: str, before: Any, after: Any) -> None:
        number = self._actors[subject]
        card, counts = _agent_card_of(after), _counts_of(after)
        if before is None or _agent_card_of(before) != card:
            self.cards.append((number, dict(zip(_AGENT_CARD, card, strict=True))))
        if before is None or _counts_of(before) != counts:
            self._add_usage((position, number, *_usage_of(after.usage), *counts))

    def _take_slice(self, position: int, entry: Entry, kind: _Kind, actor: int) -> None:
        """Begin or end a slice, as `Slices` has them."""
        event = entry.event
        if event.__class__ is UnknownEvent:
            return
        begin, _ = self._spans.walk(entry)
        if kind.step == "begin" and kind.what != "actor":
            self._open[entry.seq] = self._begin_slice(position, event, kind, actor)
        elif entry.kind == "actor.new":
            self._lives[machine_of(entry)] = self._begin_slice(position, event, kind, actor)
        elif entry.kind == "actor.end":
            row = self._lives.pop(machine_of(entry), None)
            if row is not None:
                self._end_slice(position, row, str(entry.get("state", "ended")))
        elif begin is not None and (row := self._open.pop(begin.seq, None)) is not None:
            self._end_slice(position, row, str(getattr(event, "state", "ended")))

    def _begin_slice(self, position: int, event: Event, kind: _Kind, actor: int) -> int:
        name = ""
        for field in kind.namings:
            value = getattr(event, field)
            if value:
                name = str(value)
                break
        row = self._slices
        self._slices = row + 1
        self._add_slice((position, actor, self._kinds[kind.what], self._labels[name]))
        return row

    def _end_slice(self, position: int, row: int, outcome: str) -> None:
        self._add_end((position, row, self._kinds[outcome]))

    def _end_process(self, position: int) -> None:
        """End everything that a process had open with its last event."""
        for row in sorted((*self._lives.values(), *self._open.values())):
            self._end_slice(position, row, OPEN)
        self._lives, self._open, self._spans = {}, {}, OpenSpans(self._classes)


_TAKE_OF: Final[Mapping[str, Callable[..., None]]] = {
    "actors": Columns._take_actor,
    "mailboxes": Columns._take_mailbox,
    "agents": Columns._take_agent,
}
"""Functions for the sections that are tables."""
_card_of: Final = attrgetter(*_CARD)
_agent_card_of: Final = attrgetter(*_AGENT_CARD)
_counts_of: Final = attrgetter("requests", "failed_requests", "tool_calls", "failed_calls")
_usage_of: Final = attrgetter("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_marks_of: Final = attrgetter(*FLAGS, "request")
_NUMBER_OF_STATE: Final[Mapping[str, int]] = {state: number for number, state in enumerate(STATES)}


def _flags_of(view: ActorView) -> int:
    flags = sum(1 << bit for bit, name in enumerate(FLAGS) if getattr(view, name))
    return flags | (1 << (len(FLAGS) + REQUESTS.index(view.request)) if view.request in REQUESTS else 0)


def _failing_field(event_class: type[Event]) -> str:
    """Return the name of the field that says whether something failed; empty if there is none."""
    return event_class.fails or ("state" if "state" in field_names(event_class) else "")


@final
class ColumnedWorld:
    """The state of a run, with the columns of what led to it; for `Moments`.

    Attributes:
        world: The state.
        columns: The columns; None for a copy, which has none.

    Args:
        folds: As for `fold`.
        classes: The known event classes; None for a state without columns.
    """

    def __init__(self, folds: Iterable[Fold], classes: Iterable[type[Event]] | None) -> None:
        self.world = World(folds)
        self.columns: Columns | None = None if classes is None else Columns(classes)

    def apply(self, entry: Entry) -> None:
        """Apply the next event."""
        if self.columns is None:
            self.world.apply(entry)
        else:
            changed: list[SubjectChange] = []
            self.world.apply(entry, changed)
            self.columns.take(entry, changed)

    def apply_noting(self, entry: Entry) -> Sequence[SubjectChange]:
        """Apply the next event; return what it has changed."""
        changed: list[SubjectChange] = []
        self.world.apply(entry, changed)
        if self.columns is not None:
            self.columns.take(entry, changed)
        return changed

    def copy(self) -> ColumnedWorld:
        """Return an independent copy of the state, without columns."""
        twin = ColumnedWorld((), None)
        twin.world = self.world.copy()
        return twin

    def copied_bytes(self) -> int:
        """Return about how many bytes a copy takes."""
        return self.world.copied_bytes()

    def facts(self, actor: str = "") -> dict[str, dict[str, Any]]:
        """Return the sections as JSON values, as `greenroom replay --at N --json` has them.

        Args:
            actor: Only the subjects that are or belong to this actor; empty for all.
        """
        return {
            name: {
                subject_key(subject): plain(value)
                for subject, value in subjects.items()
                if not actor or actor in (subject if isinstance(subject, tuple) else (subject,))
            }
            for name, subjects in self.world.sections.items()
        }
