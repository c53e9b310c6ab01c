"""Export of a run in Perfetto's own format, a stream of packets in protocol buffers, for ui.perfetto.dev.

Each actor is a track below that of its supervisor. An incarnation, and in it its turns, requests and calls, are slices; calls side by side
get a further track of the same name, which the viewer shows as one. Each delivered message is a flow from the moment at which it was put, on
the track of its sender, to the turn that handles it. How many messages wait is a counter for each lane. All other events are instants.
Each slice and instant has its `seq`, its `parent`, its outcome and the fields of its events as arguments.

Rule 1: packets come in the order of the journal, and their times never fall, so that a viewer need not sort them. Rule 2: names are written
once and referred to by number. Numbers of fields are those of the published schema; tests read the files with that schema.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, final

from greenroom.core.texts import as_json
from greenroom.trace._entries import Entry
from greenroom.trace.exports._entry_source import EntrySource, EntryWindow, Sink
from greenroom.trace.exports._export_chrome import LaneDepths, name_of, slice_fields
from greenroom.trace.exports._export_otlp import epoch_us
from greenroom.trace.exports._redaction import Redaction
from greenroom.trace.exports._slices import Slice, Slices, SliceStep, fields_of

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
"""Types of a track event."""
_BOOTTIME, _REALTIME = 6, 1
"""Clocks: that of the trace, which counts from the beginning of the run, and that of the wall."""
_IS_FIRST, _NEEDS_NAMES = 1, 2
"""Flags of a packet."""
_CHRONOLOGICAL: Final = 2
_NANO: Final = 1_000_000_000
_INT64: Final = 2**63
_UINT64: Final = 2**64 - 1
_MAX_NAMES: Final = 100_000
"""Names that are kept to be referred to; further ones are written where they stand."""


def export_perfetto(source: EntrySource, sink: Sink, redaction: Redaction) -> int:
    """Write a run as packets of a Perfetto trace, and return their number.

    Memory is bounded by the columns of its slices, and the names. It blocks.

    Args:
        source: The run.
        sink: Takes the packets.
        redaction: The words that they hold.

    Raises:
        JournalError: The run cannot be read, or has changed since it was indexed.
    """
    count = 0
    for packet in _Packets(source, redaction).all():
        sink(_nested(1, packet))
        count += 1
    return count


# --- protocol buffers -------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    if 0 <= value < _SHORT_COUNT:
        return _SHORT[value]
    value &= _UINT64
    content = bytearray()
    while value >= 0x80:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)


_SHORT_COUNT: Final = 1 << 11
_SHORT: Final = tuple(
    bytes((value,)) if value < 0x80 else bytes((value & 0x7F | 0x80, value >> 7)) for value in range(_SHORT_COUNT)
)
"""The small numbers, which are nearly all: tags of fields, lengths, names."""


def _number(field: int, value: int) -> bytes:
    return _SHORT[field << 3] + _varint(value)


def _nested(field: int, content: bytes) -> bytes:
    return _SHORT[field << 3 | 2] + _varint(len(content)) + content


def _fixed(field: int, value: int) -> bytes:
    return _SHORT[field << 3 | 1] + (value & _UINT64).to_bytes(8, "little")


def _double(field: int, value: float) -> bytes:
    return _SHORT[field << 3 | 1] + array("d", [value]).tobytes()


def _text(field: int, text: str) -> bytes:
    return _nested(field, text.encode(errors="replace"))


# --- the packets ------------------------------------------------------------------------------------------------------


@final
class _InternedNames:
    """Names by number; the first packet that uses one brings it along."""

    def __init__(self, field: int) -> None:
        self._field = field
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> tuple[int, bytes]:
        """Return the number of a name and what has to be sent with it first; the number 0 if there are too many."""
        number = self._numbers.get(name)
        if number is not None:
            return number, b""
        if len(self._numbers) >= _MAX_NAMES:
            return 0, b""
        number = self._numbers[name] = len(self._numbers) + 1
        return number, _nested(self._field, _number(1, number) + _text(2, name))


@final
class _Packets:
    """The packets of one run."""

    def __init__(self, source: EntrySource, redaction: Redaction) -> None:
        self._source = source
        self._redaction = redaction
        self._slices = Slices(source)
        self._waiting = LaneDepths(self._slices.full_actors)
        self._event_names, self._argument_names = _InternedNames(2), _InternedNames(3)
        self._tracks: dict[tuple[str, Any], int] = {}
        """Track of each actor and number of its row, or name of its counter."""
        self._rows: defaultdict[str, list[list[int]]] = defaultdict(list)
        """Positions at which the slices end that are open on each row of an actor."""
        self._track_of = array("I")
        """Track of each slice."""
        self._flows: set[int] = set()
        """Numbers of the puts that await their turn."""
        self._latest = 0
        self._last_track = 0

    def all(self) -> Iterator[bytes]:
        """Yield them in the order of the journal."""
        yield self._clocks()
        for step in self._slices.walk(EntryWindow(self._source)):
            yield from self._of(step)

    def _clocks(self) -> bytes:
        started = max(0, epoch_us(self._source.header.started)) * 1_000
        clocks = ((_BOOTTIME, 0), (_REALTIME, started))
        snapshot = b"".join(_nested(1, _number(1, clock) + _number(2, time)) for clock, time in clocks)
        return _nested(6, snapshot) + _number(10, 1) + _number(13, _IS_FIRST)

    def _of(self, step: SliceStep) -> Iterator[bytes]:
        entry, slices = step.entry, self._slices
        actor, is_wanted = entry.event.actor, step.position >= self._source.since
        if step.begun is not None:
            yield from self._begun(step.begun)
        depths = self._waiting.after(entry)
        if is_wanted and slices.is_delivered(step.position):
            yield from self._sent(entry)
        if is_wanted and slices.is_instant(step.position):
            track, packets = self._track(actor)
            yield from packets
            fields = self._redaction.event_fields(entry.kind, fields_of(entry))
            yield self._event(entry, _INSTANT, track, entry.kind, {**_places(entry), **fields})
        if is_wanted and depths is not None:
            lane = str(entry["lane"])
            track, packets = self._track(actor, lane)
            yield from packets
            yield self._packet(entry.t, _number(9, _COUNTER) + _number(11, track) + _number(30, depths[lane]))
        for number in step.ended:
            if slices.is_wanted(number):
                yield self._packet(slices.times(number)[1], _number(9, _END) + _number(11, self._track_of[number]))

    def _begun(self, piece: Slice) -> Iterator[bytes]:
        """Yield the begin of a slice, on the first row of its actor on which it nests."""
        if not self._slices.is_wanted(piece.number):
            self._track_of.append(0)
            return
        actor = piece.begin.event.actor
        track, packets = self._track(actor, self._row(actor, *self._slices.range(piece.number)))
        self._track_of.append(track)
        yield from packets
        end = {} if piece.end is None else {"end": piece.end.seq}
        arguments = {**_places(piece.begin), "outcome": piece.outcome, **end, **slice_fields(piece, self._redaction)}
        put = self._slices.put_seq(piece.number)
        flow = _fixed(48, put) if put in self._flows else b""
        self._flows.discard(put)
        name = self._redaction.labels(name_of(piece, self._slices))
        yield self._event(piece.begin, _BEGIN, track, name, arguments, flow)

    def _sent(self, put: Entry) -> Iterator[bytes]:
        """Yield the beginning of the flow of a message, at its sender."""
        sender = self._slices.owner(put.event.parent)
        if sender is None or sender >= len(self._track_of) or not self._track_of[sender]:
            return
        self._flows.add(put.seq)
        name = self._redaction.labels(f"sends {put['type']}")
        yield self._event(put, _INSTANT, self._track_of[sender], name, _places(put), _fixed(47, put.seq))

    def _row(self, actor: str, begin: int, stop: int) -> int:
        rows = self._rows[actor]
        for row, open_until in enumerate(rows):
            while open_until and open_until[-1] < begin:
                open_until.pop()
            if not open_until or stop <= open_until[-1]:
                open_until.append(stop)
                return row
        rows.append([stop])
        return len(rows) - 1

    def _track(self, actor: str, row: int | str = 0) -> tuple[int, list[bytes]]:
        """Return a track of an actor, and the packets that introduce it and those above it, if they are new."""
        known = self._tracks.get((actor, row))
        if known is not None:
            return known, []
        packets: list[bytes] = []
        above = b""
        if isinstance(row, str):
            number, packets = self._track(actor)
            above, name = _number(5, number), row
        elif actor:
            self._tracks[actor, row] = 0  # a journal may say that it is its own supervisor
            number, packets = self._track(self._slices.supervisor.get(actor, ""))
            above, name = _number(5, number), self._slices.name(actor).rpartition("/")[2]
        else:
            name = f"run {self._source.header.run}"
        self._last_track += 1
        track = self._tracks[actor, row] = self._last_track
        kind = _nested(8, b"") if isinstance(row, str) else _number(11, _CHRONOLOGICAL)
        described = _number(1, track) + above + _text(2, self._redaction.labels(name)) + kind
        return track, [*packets, _nested(60, described) + _number(10, 1)]

    def _event(
        self, entry: Entry, type_: int, track: int, name: str, arguments: Mapping[str, Any], flow: bytes = b""
    ) -> bytes:
        number, interned = self._event_names.number(name)
        named = _number(10, number) if number else _text(23, name)
        told = b""
        for key, value in arguments.items():
            number, new = self._argument_names.number(key)
            interned += new
            told += _nested(4, (_number(1, number) if number else _text(10, key)) + _value(value))
        content = _number(9, type_) + _number(11, track) + named + told + flow
        return self._packet(entry.t, content, interned)

    def _packet(self, t: float, event: bytes, interned: bytes = b"") -> bytes:
        self._latest = max(self._latest, min(round(t * _NANO), _INT64 - 1))
        sent = _nested(12, interned) if interned else b""
        return _number(8, self._latest) + _nested(11, event) + sent + _number(10, 1) + _number(13, _NEEDS_NAMES)


def _places(entry: Entry) -> dict[str, int]:
    return {"seq": entry.seq, "parent": entry.event.parent} if entry.event.parent else {"seq": entry.seq}


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return _number(2, value)
        case int() if -_INT64 <= value < _INT64:
            return _number(4, value)
        case float() if math.isfinite(value):
            return _double(5, value)
        case str():
            return _text(6, value)
    return _nested(6, as_json(value))
