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
from pathlib import Path
from typing import Any, Final, final

from greenroom.core import Event
from greenroom.core.texts import as_json
from greenroom.trace._codec import LONGEST_S, UNREADABLE, VERSION, Header, codec_of, upcast
from greenroom.trace._entries import Entry, UnknownEvent
from greenroom.trace._growing_file import BLOCK_BYTES, FileState, GrowingFile
from greenroom.trace._journal_reader import parse_header, parse_line
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

        Raises:
            JournalError: The file cannot be read.
        """
        begin, end = max(0, begin), min(end, len(self))
        if begin >= end or self.header is None:
            return
        until = self._places[end] if end < len(self) else self._file.place
        for line in self._file.read_range(self._places[begin], until).split(b"\n")[:-1]:
            try:
                yield _event_in(line, self.header.v)
            except ValueError:
                continue

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
            return self._codec.decode(raw)
        except ValueError as error:
            event = UnknownEvent(
                actor=str(raw.get("actor", "")), inc=0, parent=0, name=UNREADABLE, fields={"why": str(error)}
            )
            return Entry(raw["seq"], float(raw["t"]), UNREADABLE, event)

    # --- growing ---------------------------------------------------------------------------------------------------------

    def _add(self, lines: list[bytes], place: int, version: int) -> None:
        number_of, fails = self._number_of, self._fails
        next_seq = self.seq(len(self) - 1) + 1 if self._places else -1
        latest = self._times[-1] if self._times else -LONGEST_S
        raws: list[dict[str, Any]] = []
        self._latest = len(self._places), raws
        for line in lines:
            self._lines += 1
            try:
                raw = _event_in(line, version)
            except ValueError as error:
                self.damaged_lines += 1
                self.damage = self.damage or f"line {self._lines} is damaged: {error}"
                place += len(line) + 1
                continue
            seq, t, kind = raw["seq"], raw["t"], raw["ev"]
            if seq != next_seq or not self._jumps:
                self._jumps.append((len(self._places), seq))
            next_seq = seq + 1
            if t > latest:
                latest = t
            if raw.get(fails.get(kind, _STATE)) == _FAILED:
                self.failures.append(len(self._places))
            self._kinds.append(number_of[kind])
            self._actors.append(number_of[raw.get("actor", "")])
            self._times.append(latest)
            self._places.append(place)
            raws.append(raw)
            place += len(line) + 1


def _searched(content: bytes) -> str:
    """Return what a line says in lower case: with letters in place of their escapes."""
    if _ESCAPE in content:
        try:
            return as_json(parse_line(content)).decode(errors="replace").lower()
        except ValueError:
            pass
    return content.decode(errors="replace").lower()


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


def _position_of(jump: tuple[int, int]) -> int:
    return jump[0]
