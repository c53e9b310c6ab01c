"""A run as slices of time, for pictures: incarnations, turns, requests, calls, and the owner of each event.

A slice is anything that a journal begins and ends, and an incarnation from its creation on; one without an end lasts
until its process ends, with the outcome `open`. Every event belongs to the slice that it begins or ends, else to its
incarnation's turn, else to the incarnation, else to the session, else to none.

    slices = Slices(source)                    # reads all events once, and keeps some 60 bytes of a slice, 17 of an event
    for step in slices.walk(EntryWindow(source)): ...     # reads them again, each slice with its end

Slices have numbers, from 0 on, in the order of their beginnings, and so have the events their positions.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, final

import attrs

from greenroom.core import field_names
from greenroom.trace._checks_machines import Machine, machine_of
from greenroom.trace._entries import Entry, UnknownEvent, plain
from greenroom.trace._numbering import Numbering
from greenroom.trace._spans import OPEN, OpenSpans
from greenroom.trace._world import BEGINS
from greenroom.trace.exports._entry_source import EntrySource, EntryWindow

ROOT: Final = "(root)"
NONE: Final = 0xFFFF_FFFF
"""Number of no slice, position of no event."""
_BASE: Final = frozenset({"actor", "inc", "parent"})
_EVERY_MESSAGE: Final = frozenset(
    {"message.put", "message.leased", "message.acked", "message.postponed", "message.returned"}
)
_DONE: Final = frozenset({"message.acked", "message.died"})
_INT64: Final = 2**63 - 1
_INSTANT: Final = 1
_DELIVERED: Final = 2


@final
@attrs.frozen(eq=False)
class Slice:
    """Something that lasted: an incarnation, a turn, a model request, a tool call, a session."""

    number: int
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


class SliceStep(NamedTuple):
    """An event, and the slices that begin and end with it."""

    position: int
    entry: Entry
    begun: Slice | None
    ended: tuple[int, ...]
    """Numbers of the slices that end: with this event, or with the process whose last event it is."""


@final
class Slices:
    """The slices of a run.

    Attributes:
        source: The run.
        path: The readable path of each actor, by id.
        supervisor: The id of each actor's supervisor, by id.
        full_actors: Ids of the actors whose mail is recorded.
        agents: Definition and model of each agent, by id.

    Raises:
        JournalError: The run cannot be read, or has changed since it was indexed.
    """

    def __init__(self, source: EntrySource) -> None:
        self.source: Final = source
        self.path: dict[str, str] = {}
        self.supervisor: dict[str, str] = {}
        self.full_actors: set[str] = set()
        self.agents: dict[str, tuple[str, str]] = {}
        self._of_slice, self._of_event = _SliceColumns(), _EventColumns()
        self._names = Numbering()
        self._machine_numbers: dict[Machine, int] = {}
        self._machine_names: list[Machine] = []
        self._process = _Process(source)
        last: Entry | None = None
        for position, entry in EntryWindow(source).walk():
            if entry.kind in BEGINS and self._process.has_begun and last is not None:
                self._end_process(position - 1, last.t)
            self._take(position, entry)
            last = entry
        if last is not None:
            self._end_process(source.count - 1, last.t)

    def __len__(self) -> int:
        """Return the number of slices."""
        return len(self._of_slice.begins)

    def walk(self, window: EntryWindow) -> Iterator[SliceStep]:
        """Yield each event with what begins and ends with it, from the first event on, wanted or not.

        Args:
            window: A new window of the source.

        Raises:
            JournalError: The run cannot be read, or has changed since it was indexed.
        """
        begun, closing = 0, sorted(range(len(self)), key=self._closing)
        closed = 0
        for position, entry in window.walk():
            slice_ = None
            if begun < len(self) and self._of_slice.begins[begun] == position:
                slice_ = self._slice(begun, entry, window)
                begun += 1
            ended = closed
            while closed < len(closing) and self._of_slice.stops[closing[closed]] == position:
                closed += 1
            yield SliceStep(position, entry, slice_, tuple(closing[ended:closed]))

    def is_wanted(self, number: int) -> bool:
        """True if a slice ends after the first event that is wanted."""
        return self._of_slice.stops[number] >= self.source.since

    def is_instant(self, position: int) -> bool:
        """True if an event begins and ends nothing, and is not one of those that every message causes."""
        return bool(self._of_event.marks[position] & _INSTANT)

    def is_delivered(self, position: int) -> bool:
        """True for the put of a message that a turn handled."""
        return bool(self._of_event.marks[position] & _DELIVERED)

    def instants(self, number: int) -> Iterator[int]:
        """Yield the positions of the instants that belong to a slice, as far as they are wanted."""
        position = self._of_slice.first[number]
        while position != NONE:
            yield position
            position = self._of_event.next[position]

    def owner(self, seq: int) -> int | None:
        """Return the number of the slice that an event belongs to; None if the event is missing, or belongs to none."""
        place = seq - self._of_event.seqs[0] if self._of_event.seqs else 0
        if not 0 <= place < len(self._of_event.seqs) or self._of_event.seqs[place] != seq:
            place = bisect_left(self._of_event.seqs, seq)
        if (
            place >= len(self._of_event.seqs)
            or self._of_event.seqs[place] != seq
            or self._of_event.owner[place] == NONE
        ):
            return None
        return self._of_event.owner[place]

    def above(self, number: int) -> int | None:
        """Return the slice around one: the turn of a call, the actor of a turn, the supervisor of an actor."""
        return None if self._of_slice.above[number] == NONE else self._of_slice.above[number]

    def actor(self, number: int) -> str:
        """Return the id of the actor that a slice belongs to."""
        return self.machine(number)[0]

    def machine(self, number: int) -> Machine:
        """Return the incarnation that a slice belongs to."""
        return self._machine_names[self._of_slice.machines[number]]

    def seq(self, number: int) -> int:
        """Return the number of the event with which a slice begins."""
        return self._of_event.seqs[self._of_slice.begins[number]]

    def what(self, number: int) -> str:
        """Return what a slice is."""
        return self._names.names[self._of_slice.whats[number]]

    def times(self, number: int) -> tuple[float, float]:
        """Return when a slice begins and ends, in seconds."""
        return self._of_slice.begin_t[number], self._of_slice.end_t[number]

    def range(self, number: int) -> tuple[int, int]:
        """Return the positions of the events with which a slice begins and ends."""
        return self._of_slice.begins[number], self._of_slice.stops[number]

    def sent_t(self, number: int) -> float | None:
        """Return the time at which the message of a turn was put, if recorded."""
        return None if self._of_slice.puts[number] == NONE else self._of_slice.sent_t[number]

    def put_seq(self, number: int) -> int:
        """Return the number of the put of a turn's message; 0 if it is not recorded."""
        return 0 if self._of_slice.puts[number] == NONE else self._of_event.seqs[self._of_slice.puts[number]]

    def message(self, number: int) -> str:
        """Return the class of a turn's message; empty if it is not recorded."""
        return "" if self._of_slice.puts[number] == NONE else self._names.names[self._of_slice.types[number]]

    def name(self, actor: str) -> str:
        """Return an actor's name for people."""
        return self.path.get(actor, actor) or ROOT

    # --- the first pass ---------------------------------------------------------------------------------------------------

    def _take(self, position: int, entry: Entry) -> None:
        process, machine, mark = self._process, machine_of(entry), 0
        number = self._begin(position, entry)
        ended = process.end_of(entry)
        if ended is not None:
            self._end(ended, position, entry.t)
        if number is not None:
            owner: int | None = number
        elif ended is not None and entry.kind != "actor.end":
            owner = ended
        else:
            owner = process.around(machine)
            if entry.kind not in _EVERY_MESSAGE and entry.kind != "actor.end":
                mark = _INSTANT
        self._of_event.seqs.append(max(-_INT64, min(entry.seq, _INT64)))
        self._of_event.marks.append(mark)
        self._of_event.next.append(NONE)
        self._of_event.owner.append(NONE if owner is None else owner)
        if mark and owner is not None and position >= self.source.since:
            if self._of_slice.first[owner] == NONE:
                self._of_slice.first[owner] = position
            else:
                self._of_event.next[self._of_slice.last[owner]] = position
            self._of_slice.last[owner] = position
        if not isinstance(entry.event, UnknownEvent):
            self._note(position, entry)

    def _note(self, position: int, entry: Entry) -> None:
        """Remember a message that waits, and what an agent is."""
        actor, kind = entry.event.actor, entry.kind
        if kind == "message.put":
            self.full_actors.add(actor)
            self._process.puts[actor, entry["msg"]] = position, entry.t, self._names[str(entry["type"])]
        elif kind in _DONE:
            self._process.puts.pop((actor, entry.get("msg")), None)
        elif kind == "agent.defined":
            self.agents[actor] = str(entry["definition"]), str(entry["model"])

    def _begin(self, position: int, entry: Entry) -> int | None:
        """Append the slice that an event begins; return its number."""
        what, _, step = entry.kind.rpartition(".")
        if isinstance(entry.event, UnknownEvent):
            return None
        actor, process, number = entry.event.actor, self._process, len(self)
        if entry.kind == "actor.new":
            self.path[actor], self.supervisor[actor] = entry["path"], entry["supervisor"]
            if entry["journal"] == "full":
                self.full_actors.add(actor)
        elif step != "begin" or what == "actor":
            return None
        above = process.begin(number, what, entry, self.supervisor)
        put = process.puts.get((actor, entry["msg"])) if what == "turn" else None
        if put is not None:
            self._of_event.marks[put[0]] |= _DELIVERED
        self._of_slice.begins.append(position)
        self._of_slice.begin_t.append(entry.t)
        self._of_slice.whats.append(self._names[what])
        self._of_slice.machines.append(self._machine_numbers.setdefault(machine_of(entry), len(self._machine_numbers)))
        if len(self._machine_numbers) > len(self._machine_names):
            self._machine_names.append(machine_of(entry))
        self._of_slice.above.append(NONE if above is None else above)
        placed, sent_t, type_number = put or (NONE, 0.0, 0)
        self._of_slice.puts.append(placed)
        self._of_slice.sent_t.append(sent_t)
        self._of_slice.types.append(type_number)
        for column in (self._of_slice.stops, self._of_slice.ends, self._of_slice.first, self._of_slice.last):
            column.append(NONE)
        self._of_slice.end_t.append(entry.t)
        return number

    def _end(self, number: int, position: int, t: float) -> None:
        self._of_slice.stops[number] = self._of_slice.ends[number] = position
        self._of_slice.end_t[number] = t

    def _end_process(self, position: int, t: float) -> None:
        """End everything that a process had open with its last event."""
        for number in self._process.left():
            self._of_slice.stops[number], self._of_slice.end_t[number] = position, t
        self._process = _Process(self.source)

    # --- the second pass --------------------------------------------------------------------------------------------------

    def _closing(self, number: int) -> int:
        """Return a sort key: slices that end with the same event end in the reverse order of their beginnings."""
        return (self._of_slice.stops[number] << 32) + NONE - number

    def _slice(self, number: int, begin: Entry, window: EntryWindow) -> Slice:
        end = None if self._of_slice.ends[number] == NONE else window.entry(self._of_slice.ends[number])
        return Slice(number, self.what(number), begin, end, self._of_slice.end_t[number])


class _SliceColumns:
    """A row for each slice."""

    def __init__(self) -> None:
        self.begins, self.stops, self.ends = array("I"), array("I"), array("I")
        """Positions of its first event, of the event with which it ends, and of its own end if there is one."""
        self.begin_t, self.end_t, self.sent_t = array("d"), array("d"), array("d")
        self.above, self.puts, self.types = array("I"), array("I"), array("I")
        """The slice around it; position of the put of its message, and number of the message's class."""
        self.whats, self.machines = array("I"), array("I")
        self.first, self.last = array("I"), array("I")
        """Positions of its first and last instant."""


class _EventColumns:
    """A row for each event."""

    def __init__(self) -> None:
        self.next, self.owner, self.seqs = array("I"), array("I"), array("q")
        """The next instant of its slice, its slice, its number."""
        self.marks = bytearray()


@final
class _Process:
    """What is open in one process of a run, by number of the slice.

    Attributes:
        has_begun: True once its session has begun.
        puts: Put of each message that waits, by actor and number: position, time, number of the message's class.
    """

    def __init__(self, source: EntrySource) -> None:
        self._spans = OpenSpans(source.classes)
        self._open: dict[int, int] = {}
        """Number of the begin of each open slice to it, incarnations apart."""
        self._lives: dict[Machine, int] = {}
        self._whose: dict[Machine, int] = {}
        """Slice of each incarnation, also after its end."""
        self._turns: dict[Machine, int] = {}
        self._last_life: dict[str, int] = {}
        self._session: int | None = None
        self.has_begun = False
        self.puts: dict[tuple[str, Any], tuple[int, float, int]] = {}

    def begin(self, number: int, what: str, entry: Entry, supervisor: dict[str, str]) -> int | None:
        """Open a slice; return the one around it."""
        actor, machine = entry.event.actor, machine_of(entry)
        if what == "actor":
            self._lives[machine] = self._whose[machine] = number
            above = self._last_life.get(supervisor[actor], self._session)
            self._last_life[actor] = number
            return above
        self._open[entry.seq] = number
        if entry.kind in BEGINS:
            self._session = number
            return None
        if not actor:
            return self._session
        life = self._last_life.get(actor, self._session)
        if what == "turn":
            self._turns[machine] = number
            return life
        return self._turns.get(machine, life)

    def end_of(self, entry: Entry) -> int | None:
        """Return the slice that an event ends, and close it."""
        self.has_begun = self.has_begun or entry.kind in BEGINS
        if isinstance(entry.event, UnknownEvent):
            return None
        begin, _ = self._spans.walk(entry)
        if entry.kind == "actor.end":
            return self._lives.pop(machine_of(entry), None)
        number = None if begin is None else self._open.pop(begin.seq, None)
        if number is not None and self._turns.get(machine_of(entry)) == number:
            del self._turns[machine_of(entry)]
        return number

    def around(self, machine: Machine) -> int | None:
        """Return the slice that an event belongs to which begins none and ends none but an incarnation."""
        return self._turns.get(machine, self._whose.get(machine, self._session))

    def left(self) -> list[int]:
        """Return what is open."""
        return [*self._lives.values(), *self._open.values()]


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
