"""A run as columns of numbers: what pictures are drawn from, by a page that never folds.

    columns = Columns(EVENTS)
    for change in changes(entries, FOLDS):
        columns.take(change)
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias, final

from greenroom.actors import State
from greenroom.core import Event, field_names
from greenroom.trace._checks_machines import Machine, machine_of
from greenroom.trace._entries import Entry, UnknownEvent, plain
from greenroom.trace._numbering import Numbering
from greenroom.trace._spans import OPEN, STEPS, OpenSpans
from greenroom.trace._world import BEGINS, Fold, SubjectChange, World
from greenroom.trace._world_changes import WorldChange, patch_of, subject_key
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
_CODES: Final = {"u1": "B", "u2": "H", "u4": "I", "f8": "d"}
_LIMITS: Final = {"u1": 0xFF, "u2": 0xFFFF, "u4": 0xFFFF_FFFF}
_ALIGNED_BYTES: Final = 8
_BUNCH: Final = 512
"""Rows that go into the columns at once."""
_CARD: Final = ("path", "behavior", "descent", "journal")
_AGENT_CARD: Final = ("definition", "model")
_NAMES_OF: Final = ("tool", "purpose", "model", "behavior")
"""Fields that name a slice, the first one that it has."""

Rows: TypeAlias = Mapping[str, int]
"""Rows of each table and list that a reader has."""


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
        self._fail_of = {each.kind: _failing_field(each) for each in self._classes}
        self._tables = {name: _Table(columns) for name, columns in TABLES.items()}
        self._kinds, self._actors, self._labels = Numbering(), Numbering(), Numbering()
        self._spans = OpenSpans(self._classes)
        self._open: dict[int, int] = {}
        """Number of the begin of each open slice to its row."""
        self._lives: dict[Machine, int] = {}
        """Row of each living incarnation."""
        self._step_of: dict[str, tuple[str, str]] = {}
        """Parts of the kinds of events that begin or end something."""
        self._flags: dict[tuple[Any, ...], int] = {}
        """Flags by the fields that they come from."""
        self._has_session = False
        self._begins = array("I")
        """Positions at which another process resumed the run."""
        self.cards: list[tuple[int, dict[str, Any]]] = []
        self.patches: list[tuple[int, tuple[Any, ...]]] = []
        self._actors[""], self._labels[""]

    def __repr__(self) -> str:
        return f"<Columns of {len(self)} events>"

    def __len__(self) -> int:
        """Return the number of events taken."""
        return len(self._tables["events"])

    @property
    def kinds(self) -> Sequence[str]:
        """Kinds of events, of slices, and outcomes, by number."""
        return tuple(self._kinds)

    @property
    def actors(self) -> Sequence[str]:
        """Ids of actors, by number."""
        return tuple(self._actors)

    def take(self, change: WorldChange) -> None:
        """Append what an event has changed."""
        entry, position = change.entry, len(self)
        if entry.kind in BEGINS:
            if self._has_session:
                self._end_process(position - 1)
                self._begins.append(position)
            self._has_session = True
        event = entry.event
        field = self._fail_of.get(entry.kind, "state")
        is_failed = bool(field) and entry.get(field) == "failed"
        self._tables["events"].append(
            entry.t, entry.seq, event.parent, self._actors[event.actor], self._kinds[entry.kind], is_failed
        )
        for subject in change.subjects:
            self._take_subject(position, subject)
        self._take_slice(position, entry)

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

    def _take_subject(self, position: int, change: SubjectChange) -> None:
        before, after = change.before, change.after
        if isinstance(after, ActorView):
            self._take_actor(position, before, after)
        elif isinstance(after, MailboxView):
            lanes = (len(after.now), len(after.next), len(after.later), len(after.leased), len(after.postponed))
            self._tables["mail"].append(position, self._actors[change.subject], *lanes)
        elif change.section == "agents":
            self._take_agent(position, change.subject, before, after)
        elif change.section not in SHOWN_WHOLE:
            self.patches.append((position, tuple(patch_of(change))))

    def _take_actor(self, position: int, before: ActorView | None, after: ActorView) -> None:
        number = self._actors[after.id]
        if before is None or _card_of(before) != _card_of(after):
            self.cards.append((number, dict(zip(_CARD, _card_of(after), strict=True))))
        marks = _marks_of(after)
        flags = self._flags.get(marks)
        if flags is None:
            flags = self._flags[marks] = _flags_of(after)
        above = self._actors[after.supervisor]
        self._tables["states"].append(
            position, number, above, after.incarnation, after.turn, flags, _NUMBER_OF_STATE[after.state]
        )

    def _take_agent(self, position: int, actor: str, before: Any, after: Any) -> None:
        number = self._actors[actor]
        if before is None or any(getattr(before, name) != getattr(after, name) for name in _AGENT_CARD):
            self.cards.append((number, {name: getattr(after, name) for name in _AGENT_CARD}))
        counts = (after.requests, after.failed_requests, after.tool_calls, after.failed_calls)
        had = (
            None
            if before is None
            else (before.requests, before.failed_requests, before.tool_calls, before.failed_calls)
        )
        if counts != had:
            used = after.usage
            self._tables["usage"].append(
                position,
                number,
                used.input_tokens,
                used.output_tokens,
                used.cache_creation_input_tokens,
                used.cache_read_input_tokens,
                *counts,
            )

    def _take_slice(self, position: int, entry: Entry) -> None:
        """Begin or end a slice, as `Slices` has them."""
        what, step = self._step_of.get(entry.kind) or self._read_step(entry.kind)
        if not step or isinstance(entry.event, UnknownEvent):
            return
        begin, _ = self._spans.walk(entry)
        if entry.kind == "actor.new":
            self._lives[machine_of(entry)] = self._begin_slice(position, entry, what)
        elif entry.kind == "actor.end":
            row = self._lives.pop(machine_of(entry), None)
            if row is not None:
                self._end_slice(position, row, str(entry.get("state", "ended")))
        elif step == "begin" and what != "actor":
            self._open[entry.seq] = self._begin_slice(position, entry, what)
        elif begin is not None and (row := self._open.pop(begin.seq, None)) is not None:
            self._end_slice(position, row, str(entry.get("state", "ended")))

    def _read_step(self, kind: str) -> tuple[str, str]:
        what, _, step = kind.rpartition(".")
        found = self._step_of[kind] = what, step if step in STEPS else ""
        return found

    def _begin_slice(self, position: int, entry: Entry, what: str) -> int:
        table = self._tables["slices"]
        name = next((str(value) for field in _NAMES_OF if (value := getattr(entry.event, field, ""))), "")
        table.append(position, self._actors[entry.event.actor], self._kinds[what], self._labels[name])
        return len(table) - 1

    def _end_slice(self, position: int, row: int, outcome: str) -> None:
        self._tables["ends"].append(position, row, self._kinds[outcome])

    def _end_process(self, position: int) -> None:
        """End everything that a process had open with its last event."""
        for row in sorted((*self._lives.values(), *self._open.values())):
            self._end_slice(position, row, OPEN)
        self._lives, self._open, self._spans = {}, {}, OpenSpans(self._classes)


_card_of: Final = attrgetter(*_CARD)
_marks_of: Final = attrgetter(*FLAGS, "request")
_NUMBER_OF_STATE: Final[Mapping[str, int]] = {state: number for number, state in enumerate(STATES)}


def _flags_of(view: ActorView) -> int:
    flags = sum(1 << bit for bit, name in enumerate(FLAGS) if getattr(view, name))
    return flags | (1 << (len(FLAGS) + REQUESTS.index(view.request)) if view.request in REQUESTS else 0)


def _failing_field(event_class: type[Event]) -> str:
    """Return the name of the field that says whether something failed; empty if there is none."""
    return event_class.fails or ("state" if "state" in field_names(event_class) else "")


@final
class _Table:
    """Columns of the same length; rows get there in bunches, which takes a fraction of the time."""

    def __init__(self, columns: Iterable[tuple[str, str]]) -> None:
        self._columns: dict[str, array[Any]] = {name: array(_CODES[width]) for name, width in columns}
        self._limits = [_LIMITS.get(width) for _, width in columns]
        self._first = next(iter(self._columns.values()))
        self._rows: list[tuple[float, ...]] = []
        """The last rows, which are not in the columns yet."""

    def __len__(self) -> int:
        return len(self._first) + len(self._rows)

    @property
    def columns(self) -> Mapping[str, array[Any]]:
        """The columns by name; they must not be changed."""
        if self._rows:
            self._fill()
        return self._columns

    def append(self, *values: float) -> None:
        """Append a row."""
        self._rows.append(values)
        if len(self._rows) >= _BUNCH:
            self._fill()

    def _fill(self) -> None:
        count = len(self._first)
        parts = list(zip(*self._rows, strict=True))
        self._rows = []
        for column, limit, part in zip(self._columns.values(), self._limits, parts, strict=True):
            try:
                column.extend(part)
            except OverflowError:  # a number that no sound journal has
                del column[count:]
                column.extend(value if limit is None else max(0, min(value, limit)) for value in part)

    def packed(self, name: str, begin: int, end: int) -> bytes:
        """Return some rows of a column, filled up to a multiple of 8 bytes."""
        part = self.columns[name][begin:end]
        if sys.byteorder == "big":
            part.byteswap()
        content = part.tobytes()
        return content + bytes(-len(content) % _ALIGNED_BYTES)


@final
class ColumnedWorld:
    """The state of a run, with the columns of what led to it; for `Moments`.

    Attributes:
        world: The state.
        columns: The columns; None for a copy, which has none.

    Args:
        folds: As for `fold`.
        classes: The known event classes.
    """

    def __init__(self, folds: Iterable[Fold], classes: Iterable[type[Event]]) -> None:
        self.world = World(folds)
        self.columns: Columns | None = Columns(classes)

    def apply(self, entry: Entry) -> None:
        """Apply the next event."""
        if self.columns is None:
            self.world.apply(entry)
        else:
            self.apply_noting(entry)

    def apply_noting(self, entry: Entry) -> Sequence[SubjectChange]:
        """Apply the next event; return what it has changed."""
        changed = self.world.apply_noting(entry)
        if self.columns is not None:
            self.columns.take(WorldChange(entry, changed))
        return changed

    def copy(self) -> ColumnedWorld:
        """Return an independent copy of the state, without columns."""
        twin = ColumnedWorld((), ())
        twin.world, twin.columns = self.world.copy(), None
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
