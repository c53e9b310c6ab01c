"""An index of a journal: place, time, kind and actor of each event, without its object.

    index = RunIndex(path, EVENTS)
    while index.grow(): ...                   # a block; what is indexed can be used already
    index.entries(500_000, 500_200)           # reads these lines only
    index.count_until(seq=812)                # positions: numbers of events before a moment
    index.failures                            # positions of the events that failed

Rule 1: it is made in one pass, grows with the file, and writes nothing. Rule 2: an event takes at most 24 bytes. Rule 3: a line that is
not an event is counted and left out, so positions count events only.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, compress
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, final

from greenroom.core import Event
from greenroom.core.texts import as_json
from greenroom.trace._codec import LONGEST_S, UNREADABLE, VERSION, Header, codec_of, upcast
from greenroom.trace._entries import Entry, UnknownEvent
from greenroom.trace._growing_file import BLOCK_BYTES, FileState, GrowingFile
from greenroom.trace._journal_reader import parse_header, parse_line, parse_lines
from greenroom.trace._numbering import Numbering

_SEARCHED: Final = 1_000
"""Events that are searched at once."""
_ESCAPE: Final = b"\\u"
_FAILED: Final = "failed"
_STATE: Final = "state"
"""The field that says so, for classes that name no other."""


@final
class RunIndex:
    """The index of a journal.

    Attributes:
        header: The journal's header; None until it was read.
        classes: The known event classes.
        failures: Positions of the events that report a failure, in order.
        damaged_lines: Number of lines that are not events.
        damage: The first of them, in words; empty if there is none.

    Args:
        path: The journal.
        events: The known event classes.

    Raises:
        JournalError: It cannot be opened.
    """

    def __init__(self, path: Path, events: Iterable[type[Event]]) -> None:
        self._path = path
        self._file = GrowingFile(path)
        self.classes: Final = tuple(events)
        self._codec = codec_of(self.classes)
        self._fails = {each.kind: each.fails for each in self.classes if each.fails}
        self._places = array("Q")
        self._times = array("d")
        """The latest time up to each event: it never falls, whatever a damaged journal says."""
        self._kinds = array("I")
        self._actors = array("I")
        self._number_of = Numbering()
        """Kinds and actors; the columns hold their numbers."""
        self._jumps: list[tuple[int, int]] = []
        """Position and number of each event whose number is not that of the event before it and one."""
        self._lines = 0
        self._latest: tuple[int, list[dict[str, Any]]] = 0, []
        """The events of the last block, from a position on: who reads on as the index grows need not parse them again."""
        self.header: Header | None = None
        self.failures = array("I")
        self.damaged_lines = 0
        self.damage = ""

    def __repr__(self) -> str:
        return f"<RunIndex {str(self._path)!r}: {len(self)} events>"

    def __len__(self) -> int:
        """Return the number of events that are indexed."""
        return len(self._places)

    @property
    def state(self) -> FileState:
        """State of the file, as of the last `grow` that found nothing new; an index of a replaced file stays as it is."""
        return self._file.state

    @property
    def torn_bytes(self) -> int:
        """Bytes after the last newline."""
        return self._file.torn_bytes

    @property
    def share(self) -> float:
        """Part of the file that is indexed, from 0 to 1, as of now; 1 if less than a block is left."""
        place, size = self._file.place, self._file.size
        return place / size if size - place >= BLOCK_BYTES else 1.0

    @property
    def bytes_used(self) -> int:
        """Memory of the index without its names, in bytes."""
        columns = (self._places, self._times, self._kinds, self._actors, self.failures)
        return sum(len(column) * column.itemsize for column in columns)

    def grow(self) -> bool:
        """Index the next block of the file; return True if there was anything new.

        Raises:
            JournalError: It cannot be read, is not a journal, or is of a newer format.
        """
        if self.state is not FileState.SAME:
            return False
        place = self._file.place
        content = self._file.read()
        if not content:
            return False
        lines = content.split(b"\n")
        lines.pop()
        if self.header is None:
            self.header = parse_header(self._path, lines[:1])
            place += len(lines.pop(0)) + 1
            self._lines = 1
        self._add(lines, place, self.header.v)
        return True

    def close(self) -> None:
        """Close the file; entries can no longer be read."""
        self._file.close()

    # --- what is known of each event -----------------------------------------------------------------------------------

    def seq(self, position: int) -> int:
        """Return the number of an event."""
        at, first = self._jumps[bisect_right(self._jumps, position, key=_position_of) - 1]
        return first + position - at

    def time_s(self, position: int) -> float:
        """Return the time of an event in seconds; where times run backwards, the latest before it."""
        return self._times[position]

    def kind(self, position: int) -> str:
        """Return the kind of an event."""
        return self._number_of.names[self._kinds[position]]

    def actor(self, position: int) -> str:
        """Return the actor of an event; empty if it has none."""
        return self._number_of.names[self._actors[position]]

    def count_until(self, *, seq: int) -> int:
        """Return how many events come before the first one with a greater number."""
        for number, (position, first) in enumerate(self._jumps, start=1):
            edge = self._jumps[number][0] if number < len(self._jumps) else len(self)
            if first > seq:
                return position
            if first + edge - position - 1 > seq:
                return position + seq - first + 1
        return len(self)

    def count_at(self, t: float) -> int:
        """Return how many events have happened at a time in seconds, those of that very moment included."""
        return bisect_right(self._times, t)

    def failure_before(self, position: int) -> int | None:
        """Return the position of the last failure before a position; None if there is none."""
        place = bisect_left(self.failures, position)
        return self.failures[place - 1] if place else None

    def failure_after(self, position: int) -> int | None:
        """Return the position of the first failure after a position; None if there is none."""
        place = bisect_right(self.failures, position)
        return self.failures[place] if place < len(self.failures) else None

    def entries(self, begin: int, end: int) -> list[Entry]:
        """Return the entries from one position up to, and without, another, reading those lines only.

        A line whose values do not fit its kind becomes an entry of the kind `journal.unreadable`, which no fold knows.

        Raises:
            JournalError: The file cannot be read.
        """
        first, latest = self._latest
        if first <= begin <= end <= first + len(latest):
            return [self._decode(raw) for raw in latest[begin - first : end - first]]
        return [self._decode(raw) for raw in self.raw_events(begin, end)]

    def raw_events(self, begin: int, end: int) -> Iterator[dict[str, Any]]:
        """Yield the events from one position up to, and without, another as their lines have them, in today's format.

        It may run in a thread while the index grows, and so may `entries`.

        Raises:
            JournalError: The file cannot be read.
        """
        begin, end = max(0, begin), min(end, len(self))
        if begin >= end or self.header is None:
            return
        until = (
            self._places[end] if end < len(self) else self._file.place
        )  # there may be a further block, not indexed yet
        left = end - begin
        for line in self._file.read_range(self._places[begin], until).split(b"\n")[:-1]:
            try:
                event = _event_in(line, self.header.v)
            except ValueError:
                continue
            yield event
            left -= 1
            if not left:
                return

    def positions_of(self, kinds: Collection[str], count: int) -> list[int]:
        """Return the positions of the events of some kinds among the first `count`. It may run in a thread while the index grows."""
        wanted = {self._number_of[kind] for kind in kinds if kind in self._number_of}
        return [position for position, kind in enumerate(self._kinds[:count]) if kind in wanted]

    def find_words(self, words: Sequence[str], *, most: int) -> list[int]:
        """Return the positions of the first events whose lines hold all words, whatever their case.

        It reads the file and blocks; it may run in a thread while the index grows.

        Args:
            words: The words, in lower case.
            most: Maximum number of positions.

        Raises:
            JournalError: The file cannot be read.
        """
        found: list[int] = []
        for begin in range(0, len(self), _SEARCHED):
            places = self._places[begin : begin + _SEARCHED + 1]
            until = places.pop() if len(places) > _SEARCHED else self._file.place
            content = self._file.read_range(places[0], until)
            text = "" if _ESCAPE in content else _searched(content)
            if text and not all(word in text for word in words):
                continue
            position_of = {place: begin + number for number, place in enumerate(places)}
            place = places[0]
            for line in content.split(b"\n"):
                if place in position_of and all(word in _searched(line) for word in words):
                    found.append(position_of[place])
                place += len(line) + 1
            if len(found) >= most:
                break
        return found[:most]

    def _decode(self, raw: dict[str, Any]) -> Entry:
        try:
            return self._codec.decode_sound(raw)
        except ValueError as error:
            event = UnknownEvent(
                actor=str(raw.get("actor", "")), inc=0, parent=0, name=UNREADABLE, fields={"why": str(error)}
            )
            return Entry(raw["seq"], float(raw["t"]), UNREADABLE, event)

    # --- growing ---------------------------------------------------------------------------------------------------------

    def _add(self, lines: list[bytes], place: int, version: int) -> None:
        places = list(accumulate((len(line) + 1 for line in lines), initial=place))
        places.pop()
        raws = _sound_block(lines) if version == VERSION else None
        if raws is None:
            raws, places = self._sound_lines(lines, places, version)
        self._lines += len(lines)
        begin, number_of, fail_of = len(self._places), self._number_of.__getitem__, self._fails.get
        self._latest = begin, raws
        if not raws:
            return
        seqs, kinds, actors = (
            list(map(_seq_of, raws)),
            list(map(_kind_of, raws)),
            [raw.get("actor", "") for raw in raws],
        )
        next_seq = self.seq(begin - 1) + 1 if begin else None
        if next_seq is None or seqs != list(range(next_seq, next_seq + len(seqs))):
            for position, seq in enumerate(seqs, begin):
                if seq != next_seq:
                    self._jumps.append((position, seq))
                next_seq = seq + 1
        failed = [raw.get(fail_of(kind, _STATE)) == _FAILED for kind, raw in zip(kinds, raws, strict=True)]
        if True in failed:
            self.failures.extend(compress(range(begin, begin + len(failed)), failed))
        latest = list(accumulate(map(_time_of, raws), max, initial=self._times[-1] if begin else -LONGEST_S))
        # From lists, which takes a fraction of the time that other iterables take.
        self._kinds.fromlist(list(map(number_of, kinds)))
        self._actors.fromlist(list(map(number_of, actors)))
        self._times.fromlist(latest[1:])
        self._places.fromlist(places)

    def _sound_lines(
        self, lines: list[bytes], places: list[int], version: int
    ) -> tuple[list[dict[str, Any]], list[int]]:
        """Return the events of a block in which not every line is one, with their places; count the others."""
        raws: list[dict[str, Any]] = []
        kept: list[int] = []
        for number, (line, place) in enumerate(zip(lines, places, strict=True), self._lines + 1):
            try:
                raws.append(_event_in(line, version))
            except ValueError as error:
                self.damaged_lines += 1
                self.damage = self.damage or f"line {number} is damaged: {error}"
            else:
                kept.append(place)
        return raws, kept


def _searched(content: bytes) -> str:
    """Return what a line says in lower case: with letters in place of their escapes."""
    if _ESCAPE in content:
        try:
            return as_json(parse_line(content)).decode(errors="replace").lower()
        except ValueError:
            pass
    return content.decode(errors="replace").lower()


def _sound_block(lines: list[bytes]) -> list[dict[str, Any]] | None:
    """Return the events of some lines of today's format; None if one of them has to be looked at alone, as `_event_in` does."""
    try:
        raws = parse_lines(lines)
        times = set(map(_time_of, raws))
        kinds = set(map(_kind_of, raws))
        is_sound = (
            set(map(type, map(_seq_of, raws))) <= {int}
            and set(map(type, times)) <= {int, float}
            and -LONGEST_S <= min(times, default=0.0) <= max(times, default=0.0) <= LONGEST_S
            and {type(word) for word in kinds.union(raw.get("actor", "") for raw in raws)} <= {str}
        )
    except (ValueError, LookupError, TypeError):
        return None
    return raws if is_sound else None


def _event_in(line: bytes, version: int) -> dict[str, Any]:
    """Return the JSON object of an event's line.

    Raises:
        ValueError: The line is not an event.
    """
    raw = parse_line(line)
    if version != VERSION:
        raw = upcast(raw, version)
    t = raw.get("t")
    if type(raw.get("seq")) is not int or not isinstance(t, int | float) or not isinstance(raw.get("ev"), str):
        raise ValueError("an event must have a number `seq`, a time `t` and a kind `ev`")
    if not -LONGEST_S <= t <= LONGEST_S or not isinstance(raw.get("actor", ""), str):
        raise ValueError("`t` or `actor` does not fit")
    return raw


_seq_of: Final = itemgetter("seq")
_time_of: Final = itemgetter("t")
_kind_of: Final = itemgetter("ev")


def _position_of(jump: tuple[int, int]) -> int:
    return jump[0]
