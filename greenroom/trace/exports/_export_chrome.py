"""Export of a run as Chrome trace events, for Perfetto and chrome://tracing.

There is one process per supervisor and one thread per actor, in order of appearance. Slices are complete events (`X`),
which must nest on their thread; slices that do not, such as parallel calls, get a further thread of the same actor. The
cause of a slice is its `parent`; if that is outside of it, an arrow shows it, one for each message. Every event keeps
its `seq`; times are microseconds since the run began. Events come in the order of the journal, names at the end.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, final

from greenroom.core.texts import as_json
from greenroom.trace._entries import Entry, UnknownEvent
from greenroom.trace.exports._entry_source import EntrySource, EntryWindow, Sink
from greenroom.trace.exports._redaction import Redaction
from greenroom.trace.exports._slices import Slice, Slices, SliceStep, fields_of

_RUN_PID: Final = 1
_MICRO: Final = 1_000_000


def export_chrome(source: EntrySource, sink: Sink, redaction: Redaction) -> int:
    """Write a run in the Chrome trace event format, as one JSON object, an event a line; return the number of trace events.

    Memory is bounded by the columns of its slices. It blocks.

    Args:
        source: The run.
        sink: Takes the parts of the file.
        redaction: The words that it holds.

    Raises:
        JournalError: The run cannot be read, or has changed since it was indexed.
    """
    header = source.header
    about = {"run": header.run, "started": header.started, "greenroom": header.greenroom, "python": header.python}
    head = {"displayTimeUnit": "ms", "otherData": {name: value for name, value in about.items() if value}}
    sink(as_json(head)[:-1] + b',"traceEvents":[\n')
    count = 0
    for count, event in enumerate(_TraceEvents(source, redaction).all(), start=1):
        sink((b",\n" if count > 1 else b"") + as_json(event))
    sink(b"\n]}\n")
    return count


@final
class _Rows:
    """Process and thread of each actor."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._supervisors = set(slices.supervisor.values())
        self._pids: dict[str, int] = {}
        self._tids: dict[tuple[str, int], int] = {}
        self._lanes: defaultdict[str, list[list[float]]] = defaultdict(list)
        self._lane_of = array("I")
        for actor in ["", *slices.supervisor]:
            self.row(actor)

    def row(self, actor: str, lane: int = 0) -> dict[str, int]:
        """Return the process and the thread of an actor, or of the run."""
        above = actor if actor in self._supervisors else self._slices.supervisor.get(actor, "")
        pid = self._pids.setdefault(above, _RUN_PID + len(self._pids))
        return {"pid": pid, "tid": self._tids.setdefault((actor, lane), 1 + len(self._tids))}

    def place(self, piece: Slice) -> dict[str, int]:
        """Return the first thread of its actor on which a slice nests; call it for each slice in order."""
        lane = self._lane(piece)
        self._lane_of.append(lane)
        return self.row(piece.begin.event.actor, lane)

    def placed(self, number: int) -> dict[str, int]:
        """Return the thread of a slice that was placed."""
        return self.row(self._slices.actor(number), self._lane_of[number])

    def names(self) -> Iterator[dict[str, Any]]:
        """Yield the events that name the processes and threads."""
        for actor, pid in self._pids.items():
            name = self._slices.name(actor) if actor else f"run {self._slices.source.header.run}"
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
        for (actor, lane), tid in self._tids.items():
            name = (self._slices.name(actor) if actor else "the run") + (f" +{lane}" if lane else "")
            first = self._tids[actor, 0]
            row = {"pid": self.row(actor)["pid"], "tid": tid}
            yield {"ph": "M", "name": "thread_name", **row, "args": {"name": name}}
            yield {"ph": "M", "name": "thread_sort_index", **row, "args": {"sort_index": first * 100 + lane}}

    def _lane(self, piece: Slice) -> int:
        lanes = self._lanes[piece.begin.event.actor]
        for lane, open_until in enumerate(lanes):
            while open_until and open_until[-1] <= piece.begin.t:
                open_until.pop()
            if not open_until or piece.end_t <= open_until[-1]:
                open_until.append(piece.end_t)
                return lane
        lanes.append([piece.end_t])
        return len(lanes) - 1


@final
class _TraceEvents:
    """The trace events of one run."""

    def __init__(self, source: EntrySource, redaction: Redaction) -> None:
        self._source = source
        self._redaction = redaction
        self._slices = Slices(source)
        self._rows = _Rows(self._slices)
        self._waiting = LaneDepths(self._slices.full_actors)

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield them in the order of the journal, names last."""
        for step in self._slices.walk(EntryWindow(self._source)):
            yield from self._of(step)
        yield from map(self._named, self._rows.names())

    def _of(self, step: SliceStep) -> Iterator[dict[str, Any]]:
        entry, piece = step.entry, step.begun
        if piece is not None:
            row = self._rows.place(piece)
            if self._slices.is_wanted(piece.number):
                yield self._slice(piece, row)
                yield from self._arrow(piece)
        depths = self._waiting.after(entry)
        if step.position < self._source.since:
            return
        if self._slices.is_instant(step.position):
            args = {"seq": entry.seq, **_parent(entry), **self._redaction.event_fields(entry.kind, fields_of(entry))}
            row = self._rows.row(entry.event.actor)
            yield {"ph": "i", "s": "t", "name": entry.kind, "cat": "event", **row, "ts": _us(entry.t), "args": args}
        if depths is not None:
            name = self._redaction.labels(f"mail of {self._slices.name(entry.event.actor)}")
            row = self._rows.row(entry.event.actor)
            yield {"ph": "C", "name": name, **row, "ts": _us(entry.t), "args": depths}

    def _slice(self, piece: Slice, row: dict[str, int]) -> dict[str, Any]:
        args: dict[str, Any] = {"seq": piece.begin.seq, "outcome": piece.outcome, **_parent(piece.begin)}
        if piece.end is not None:
            args["end"] = piece.end.seq
        ts = _us(piece.begin.t)
        return {
            "ph": "X",
            "name": self._redaction.labels(name_of(piece, self._slices)),
            "cat": piece.what,
            **row,
            "ts": ts,
            "dur": max(0, _us(piece.end_t) - ts),
            "args": {**args, **slice_fields(piece, self._redaction)},
        }

    def _arrow(self, piece: Slice) -> Iterator[dict[str, Any]]:
        """Yield both ends of the arrow to a slice from the one that led to it, if that is another and is shown."""
        slices = self._slices
        source = slices.owner(piece.begin.event.parent)
        if source is None or source >= piece.number or not slices.is_wanted(source) or _encloses(slices, source, piece):
            return
        sent_t, (begin_t, end_t) = slices.sent_t(piece.number), slices.times(source)
        # An arrow must begin within the slice that it leaves.
        from_t = min(max(begin_t if sent_t is None else sent_t, begin_t), end_t)
        arrow = {"name": piece.what, "cat": "cause", "id": piece.begin.seq}
        yield {"ph": "s", **arrow, **self._rows.placed(source), "ts": _us(from_t)}
        yield {"ph": "f", "bp": "e", **arrow, **self._rows.placed(piece.number), "ts": _us(piece.begin.t)}

    def _named(self, event: dict[str, Any]) -> dict[str, Any]:
        return {**event, "args": self._redaction.labels(event["args"])}


@final
class LaneDepths:
    """The number of waiting messages in each lane of each mailbox.

    Args:
        actors: Those whose mail is recorded.
    """

    def __init__(self, actors: set[str]) -> None:
        self._actors = actors
        self._waiting: defaultdict[str, dict[str, set[int]]] = defaultdict(
            lambda: {"now": set(), "next": set(), "later": set()}
        )

    def after(self, entry: Entry) -> dict[str, int] | None:
        """Return the numbers of its actor after an event; None if they are as before."""
        actor = entry.event.actor
        if (
            actor not in self._actors
            or not entry.kind.startswith("message.")
            or isinstance(entry.event, UnknownEvent)
            or not entry.get("was_put", default=True)
        ):
            return None
        lane = self._waiting[actor].setdefault(entry["lane"], set())
        before = len(lane)
        if entry.kind in {"message.put", "message.returned"}:
            lane.add(entry["msg"])
        else:
            lane.discard(entry["msg"])
        if len(lane) == before:
            return None
        return {name: len(messages) for name, messages in self._waiting[actor].items()}


def name_of(piece: Slice, slices: Slices) -> str:
    """Return the name of a slice in a picture."""
    begin = piece.begin
    match piece.what:
        case "actor":
            again = f" ({begin.event.inc})" if begin.event.inc > 1 else ""
            return f"{slices.name(begin.event.actor)}{again}"
        case "turn":
            return f"turn {begin['turn']} {slices.message(piece.number)}".rstrip()
        case "model":
            return f"model {begin['round']}"
        case "tool":
            return str(begin["tool"])
    return piece.what


def slice_fields(piece: Slice, redaction: Redaction) -> dict[str, Any]:
    """Return the fields of the events with which a slice begins and ends."""
    begin = redaction.event_fields(piece.begin.kind, fields_of(piece.begin))
    if piece.end is None:
        return begin
    return {**begin, **redaction.event_fields(piece.end.kind, fields_of(piece.end))}


def _encloses(slices: Slices, source: int, piece: Slice) -> bool:
    begin, stop = slices.range(source)
    own, _ = slices.range(piece.number)
    return slices.machine(source) == piece.machine and begin < own <= stop


def _parent(entry: Entry) -> dict[str, int]:
    return {"parent": entry.event.parent} if entry.event.parent else {}


def _us(t: float) -> int:
    return round(t * _MICRO)
