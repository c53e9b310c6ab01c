"""Export of a run as Chrome trace events, for Perfetto and chrome://tracing.

There is one process per supervisor and one thread per actor, in order of appearance. Slices are complete events (`X`),
which must nest on their thread; slices that do not, such as parallel calls, get a further thread of the same actor. The
cause of a slice is its `parent`; if that is outside of it, an arrow shows it, one for each message. Every event keeps
its `seq`; times are microseconds since the run began.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from greenroom.trace._codec import Header
from greenroom.trace._entries import Entry, UnknownEvent
from greenroom.trace._needs import full_actors
from greenroom.trace._slices import Slice, Slices, fields_of

_RUN_PID: Final = 1
_MICRO: Final = 1_000_000


def chrome_trace(entries: Sequence[Entry], header: Header) -> dict[str, Any]:
    """Return a run in the Chrome trace event format, as a JSON object.

    Args:
        entries: A whole journal.
        header: Its header.
    """
    slices = Slices(entries)
    rows = _Rows(slices, header.run)
    events = [*_slices(slices, rows), *_instants(slices, rows), *_depths(entries, slices, rows)]
    events.sort(key=lambda event: event["ts"])
    about = {"run": header.run, "started": header.started, "greenroom": header.greenroom, "python": header.python}
    return {
        "displayTimeUnit": "ms",
        "otherData": {name: value for name, value in about.items() if value},
        "traceEvents": [*rows.names(), *events],
    }


class _Rows:
    """Process and thread of each actor."""

    def __init__(self, slices: Slices, run: str) -> None:
        self._slices = slices
        self._run = run
        self._supervisors = set(slices.supervisor.values())
        self._pids: dict[str, int] = {}
        self._tids: dict[tuple[str, int], int] = {}
        self._lanes: defaultdict[str, list[list[float]]] = defaultdict(list)
        for actor in ["", *slices.supervisor]:
            self.row(actor)

    def row(self, actor: str, lane: int = 0) -> dict[str, int]:
        """Return the process and the thread of an actor, or of the run."""
        above = actor if actor in self._supervisors else self._slices.supervisor.get(actor, "")
        pid = self._pids.setdefault(above, _RUN_PID + len(self._pids))
        return {"pid": pid, "tid": self._tids.setdefault((actor, lane), 1 + len(self._tids))}

    def place(self, piece: Slice) -> dict[str, int]:
        """Return the first thread of its actor on which a slice nests; call it in the order of `_nesting`."""
        lanes = self._lanes[piece.begin.event.actor]
        for lane, open_until in enumerate(lanes):
            while open_until and open_until[-1] <= piece.begin.t:
                open_until.pop()
            if not open_until or piece.end_t <= open_until[-1]:
                open_until.append(piece.end_t)
                return self.row(piece.begin.event.actor, lane)
        lanes.append([piece.end_t])
        return self.row(piece.begin.event.actor, len(lanes) - 1)

    def names(self) -> Iterator[dict[str, Any]]:
        """Yield the events that name the processes and threads."""
        for actor, pid in self._pids.items():
            name = self._slices.name(actor) if actor else f"run {self._run}"
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
        for (actor, lane), tid in self._tids.items():
            name = (self._slices.name(actor) if actor else "the run") + (f" +{lane}" if lane else "")
            first = self._tids[actor, 0]
            row = {"pid": self.row(actor)["pid"], "tid": tid}
            yield {"ph": "M", "name": "thread_name", **row, "args": {"name": name}}
            yield {"ph": "M", "name": "thread_sort_index", **row, "args": {"sort_index": first * 100 + lane}}


def _slices(slices: Slices, rows: _Rows) -> Iterator[dict[str, Any]]:
    placed: dict[int, dict[str, int]] = {}
    for piece in sorted(slices.all, key=_nesting):
        row = placed[piece.begin.seq] = rows.place(piece)
        args = {"seq": piece.begin.seq, "outcome": piece.outcome, **_parent(piece.begin)}
        if piece.end is not None:
            args["end"] = piece.end.seq
        ts = _us(piece.begin.t)
        yield {
            "ph": "X",
            "name": _name(piece, slices),
            "cat": piece.what,
            **row,
            "ts": ts,
            "dur": max(0, _us(piece.end_t) - ts),
            "args": {**args, **fields_of(piece.begin, piece.end)},
        }
    for piece in slices.all:
        source = slices.owner(piece.begin.event.parent)
        if source is None or _encloses(source, piece):
            continue
        sent_t = slices.sent_t(piece) if piece.what == "turn" else None
        # An arrow must begin within the slice that it leaves.
        from_t = min(max(source.begin.t if sent_t is None else sent_t, source.begin.t), source.end_t)
        arrow = {"name": piece.what, "cat": "cause", "id": piece.begin.seq}
        yield {"ph": "s", **arrow, **placed[source.begin.seq], "ts": _us(from_t)}
        yield {"ph": "f", "bp": "e", **arrow, **placed[piece.begin.seq], "ts": _us(piece.begin.t)}


def _nesting(piece: Slice) -> tuple[float, float, int]:
    """Return a sort key that puts longer slices first, so that a slice comes before the ones in it."""
    return piece.begin.t, -piece.end_t, piece.begin.seq


def _encloses(source: Slice, piece: Slice) -> bool:
    is_there = source.begin.seq < piece.begin.seq and (source.end is None or piece.begin.seq < source.end.seq)
    return source.machine == piece.machine and is_there


def _instants(slices: Slices, rows: _Rows) -> Iterator[dict[str, Any]]:
    for entry in slices.instants:
        args = {"seq": entry.seq, **_parent(entry), **fields_of(entry)}
        row = rows.row(entry.event.actor)
        yield {"ph": "i", "s": "t", "name": entry.kind, "cat": "event", **row, "ts": _us(entry.t), "args": args}


def _depths(entries: Sequence[Entry], slices: Slices, rows: _Rows) -> Iterator[dict[str, Any]]:
    """Yield the number of waiting messages in each lane at every change, for recorded mailboxes."""
    full = full_actors(entries)
    waiting: defaultdict[str, dict[str, set[int]]] = defaultdict(lambda: {"now": set(), "next": set(), "later": set()})
    for entry in entries:
        actor = entry.event.actor
        if actor not in full or not entry.kind.startswith("message.") or isinstance(entry.event, UnknownEvent):
            continue
        if not entry.get("was_put", default=True):
            continue
        lane = waiting[actor].setdefault(entry["lane"], set())
        before = len(lane)
        if entry.kind in {"message.put", "message.returned"}:
            lane.add(entry["msg"])
        else:
            lane.discard(entry["msg"])
        if len(lane) != before:
            depth = {name: len(messages) for name, messages in waiting[actor].items()}
            name = f"mail of {slices.name(actor)}"
            yield {"ph": "C", "name": name, **rows.row(actor), "ts": _us(entry.t), "args": depth}


def _name(piece: Slice, slices: Slices) -> str:
    begin = piece.begin
    match piece.what:
        case "actor":
            again = f" ({begin.event.inc})" if begin.event.inc > 1 else ""
            return f"{slices.name(begin.event.actor)}{again}"
        case "turn":
            return f"turn {begin['turn']} {slices.message(piece)}".rstrip()
        case "model":
            return f"model {begin['round']}"
        case "tool":
            return str(begin["tool"])
    return piece.what


def _parent(entry: Entry) -> dict[str, int]:
    return {"parent": entry.event.parent} if entry.event.parent else {}


def _us(t: float) -> int:
    return round(t * _MICRO)
