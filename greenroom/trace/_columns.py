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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from greenroom.actors import State
from greenroom.core import Event
from greenroom.trace._checks_machines import Machine, machine_of
from greenroom.trace._entries import Entry, UnknownEvent, plain
from greenroom.trace._numbering import Numbering
from greenroom.trace._spans import OPEN, OpenSpans
from greenroom.trace._world import BEGINS, Fold, SubjectChange, World
from greenroom.trace._world_changes import WorldChange, patch_of, subject_key
from greenroom.views import ActorView, MailboxView

VERSION: Final = 1
"""Version of the tables below."""
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
    "mail": (
        ("event", "u4"),
        ("actor", "u4"),
        ("now", "u4"),
        ("next", "u4"),
        ("later", "u4"),
        ("leased", "u4"),
        ("postponed", "u4"),
    ),
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
        self._fails = {each.kind: each.fails for each in self._classes if each.fails}
        self._tables = {name: _Table(columns) for name, columns in TABLES.items()}
        self._kinds, self._actors, self._labels = Numbering(), Numbering(), Numbering()
        self._spans = OpenSpans(self._classes)
        self._open: dict[int, int] = {}
        """Number of the begin of each open slice to its row."""
        self._lives: dict[Machine, int] = {}
        """Row of each living incarnation."""
        self._has_session = False
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
            self._has_session = True
        event = entry.event
        is_failed = entry.get(self._fails.get(entry.kind, "state")) == "failed"
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
        if before is None or any(getattr(before, name) != getattr(after, name) for name in _CARD):
            self.cards.append((number, {name: getattr(after, name) for name in _CARD}))
        flags = sum(1 << bit for bit, name in enumerate(FLAGS) if getattr(after, name))
        if after.request in REQUESTS:
            flags |= 1 << (len(FLAGS) + REQUESTS.index(after.request))
        above = self._actors[after.supervisor]
        state = STATES.index(after.state)
        self._tables["states"].append(position, number, above, after.incarnation, after.turn, flags, state)

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
        if isinstance(entry.event, UnknownEvent):
            return
        what, _, step = entry.kind.rpartition(".")
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

    def _begin_slice(self, position: int, entry: Entry, what: str) -> int:
        table = self._tables["slices"]
        name = next((str(value) for field in _NAMES_OF if (value := entry.get(field))), "")
        table.append(position, self._actors[entry.event.actor], self._kinds[what], self._labels[name])
        return len(table) - 1

    def _end_slice(self, position: int, row: int, outcome: str) -> None:
        self._tables["ends"].append(position, row, self._kinds[outcome])

    def _end_process(self, position: int) -> None:
        """What a process had open ends with its last event."""
        for row in sorted((*self._lives.values(), *self._open.values())):
            self._end_slice(position, row, OPEN)
        self._lives, self._open, self._spans = {}, {}, OpenSpans(self._classes)


@final
class _Table:
    """Columns of the same length."""

    def __init__(self, columns: Iterable[tuple[str, str]]) -> None:
        self.columns: dict[str, array[Any]] = {name: array(_CODES[width]) for name, width in columns}
        self._writers = [(self.columns[name], _LIMITS.get(width)) for name, width in columns]
        self._first = next(iter(self.columns.values()))

    def __len__(self) -> int:
        return len(self._first)

    def append(self, *values: float) -> None:
        """Append a row."""
        for (column, limit), value in zip(self._writers, values, strict=True):
            column.append(value if limit is None or 0 <= value <= limit else max(0, min(value, limit)))

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
