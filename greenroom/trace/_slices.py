"""A journal as slices of time, for pictures: incarnations, turns, requests, calls, and the owner of each event.

A slice is anything that a journal begins and ends, and an incarnation from its creation on; one without an end lasts
until its process ends, with the outcome `open`. Every event belongs to the slice that it begins or ends, else to its
incarnation's turn, else to the incarnation, else to the session, else to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

import attrs

from greenroom.core import field_names
from greenroom.trace._checks import split_processes
from greenroom.trace._checks_machines import Machine, machine_of
from greenroom.trace._entries import Entry, UnknownEvent, plain
from greenroom.trace._spans import spans

OPEN: Final = "open"
ROOT: Final = "(root)"
_BASE: Final = frozenset({"actor", "inc", "parent"})
_EVERY_MESSAGE: Final = frozenset(
    {"message.put", "message.leased", "message.acked", "message.postponed", "message.returned"}
)


@final
@attrs.frozen(eq=False)
class Slice:
    """Something that lasted: an incarnation, a turn, a model request, a tool call, a session."""

    what: str
    """`actor`, `turn`, `model`, `tool`, `session` ..."""
    begin: Entry
    end: Entry | None
    end_t: float
    """Time of its end, or of its process's."""

    @property
    def machine(self) -> Machine:
        """The incarnation that it belongs to."""
        return machine_of(self.begin)

    @property
    def outcome(self) -> str:
        """The state that it ended in; `open` if it has not ended."""
        return OPEN if self.end is None else str(self.end.get("state", "ended"))


@final
class Slices:
    """The slices of a whole journal, in order of their beginnings.

    Attributes:
        all: The slices.
        instants: The other events, except those that every message causes.
        path: The readable path of each actor, by id.
        supervisor: The id of each actor's supervisor, by id.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.all: list[Slice] = []
        self.instants: list[Entry] = []
        self.path: dict[str, str] = {}
        self.supervisor: dict[str, str] = {}
        self._owner: dict[int, Slice] = {}
        self._put: dict[int, Entry] = {}
        """Number of a turn's begin to the put of its message."""
        for process in split_processes(entries):
            self._read(process)

    def owner(self, seq: int) -> Slice | None:
        """Return the slice that an event belongs to; None if the event is missing, or belongs to none."""
        return self._owner.get(seq)

    def sent_t(self, turn: Slice) -> float | None:
        """Return the time at which the message of a turn was put, if recorded."""
        put = self._put.get(turn.begin.seq)
        return None if put is None else put.t

    def message(self, turn: Slice) -> str:
        """Return the class of a turn's message, if recorded."""
        put = self._put.get(turn.begin.seq)
        return "" if put is None else str(put["type"])

    def name(self, actor: str) -> str:
        """Return an actor's name for people."""
        return self.path.get(actor, actor) or ROOT

    def _read(self, process: Sequence[Entry]) -> None:
        pairs = list(spans(process))
        ends = {begin.seq: end for begin, end in pairs}
        exits = {machine_of(entry): entry for entry in process if entry.kind == "actor.end"}
        last_t = process[-1].t if process else 0.0
        begun = {end.seq: begin for begin, end in pairs if begin.kind != "actor.begin"}
        lives: dict[Machine, Slice] = {}
        turns: dict[Machine, Slice] = {}
        session: Slice | None = None
        puts: dict[tuple[str, int], Entry] = {}
        made: dict[int, Slice] = {}
        for entry in process:
            machine = machine_of(entry)
            slice_ = self._begin(entry, ends, exits, last_t)
            if slice_ is not None:
                made[entry.seq] = slice_
                if slice_.what == "actor":
                    lives[machine] = slice_
                elif slice_.what == "turn":
                    turns[machine] = slice_
                    if (put := puts.get((entry.event.actor, entry["msg"]))) is not None:
                        self._put[entry.seq] = put
                elif slice_.what == "session":
                    session = slice_
            elif entry.seq in begun:
                slice_ = made[begun[entry.seq].seq]
                if slice_.what == "turn":
                    turns.pop(machine, None)
            else:
                slice_ = turns.get(machine) or lives.get(machine) or session
                if entry.kind == "message.put" and not isinstance(entry.event, UnknownEvent):
                    puts[entry.event.actor, entry["msg"]] = entry
                elif entry.kind not in _EVERY_MESSAGE and entry.kind != "actor.end":
                    self.instants.append(entry)
            if slice_ is not None:
                self._owner[entry.seq] = slice_

    def _begin(
        self, entry: Entry, ends: Mapping[int, Entry], exits: Mapping[Machine, Entry], last_t: float
    ) -> Slice | None:
        what, _, step = entry.kind.rpartition(".")
        if isinstance(entry.event, UnknownEvent):
            return None
        if entry.kind == "actor.new":
            self.path[entry.event.actor] = entry["path"]
            self.supervisor[entry.event.actor] = entry["supervisor"]
            end = exits.get(machine_of(entry))
        elif step == "begin" and what != "actor":
            end = ends.get(entry.seq)
        else:
            return None
        made = Slice(what, entry, end, last_t if end is None else end.t)
        self.all.append(made)
        return made


def fields_of(*entries: Entry | None) -> dict[str, Any]:
    """Return the non-empty fields of events other than their base fields, as JSON values."""
    found: dict[str, Any] = {}
    for name, value in (field for entry in entries if entry is not None for field in _fields(entry)):
        if value not in ("", 0, None, False, (), [], {}):
            found[name] = plain(value)
    return found


def _fields(entry: Entry) -> Iterator[tuple[str, Any]]:
    if isinstance(entry.event, UnknownEvent):
        yield from entry.event.fields.items()
    else:
        for name in field_names(type(entry.event)):
            if name not in _BASE:
                yield name, getattr(entry.event, name)
