"""The recent past: what the recorder alone knows, kept where something fails, or when somebody asks (DESIGN 8).

A plain actor's turns are in the recorder's ring and not in the journal, which would be mostly them. When an actor, a turn
or a message fails, the last of them go to `recent.jsonl` of the run folder: a line that says why, then theirs.

Rule 1: a record is kept once, so what a failure brings begins where the one before it ended. Rule 2: what one failure makes
of a message, its turn and its actor is one moment: it is kept when the journal gets its next event about something else, or
closes. Rule 3: it is bounded: so many records a moment, so many moments a process; the last one says that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, Final, final

import attrs

from greenroom.core import (
    CLASS,
    FIELDS,
    SEQ,
    TIME,
    Disk,
    Event,
    JournalError,
    Record,
    Recorder,
    SystemDisk,
    field_names,
)
from greenroom.trace._codec import Codec
from greenroom.trace._entries import Entry
from greenroom.trace._reader import JOURNAL, parse_line, whole_lines

RECENT: Final = "recent.jsonl"
RECORDS_KEPT: Final = 200
"""So many of the latest records are kept of one moment."""
MOMENTS_KEPT: Final = 100
"""So many moments a process keeps by itself."""
FAILED: Final = "failed"
_ACTOR: Final = FIELDS
"""Every event has it first."""


@final
@attrs.frozen(kw_only=True)
class RecentKept(Event):
    """The records after this line are from around the event with its number; the first line of each moment."""

    kind: ClassVar[str] = "recent.kept"

    why: str
    """The kind of the event that failed, or the words of whoever asked."""
    count: int
    """How many records follow."""
    is_last: bool = False
    """Whether no further failure of this process is kept."""


@final
@attrs.frozen(kw_only=True)
class Moment:
    """What the recorder knew around one event."""

    seq: int
    """Number of the event in the journal; the last one there was, where somebody asked."""
    t: float
    """Seconds since the run began."""
    why: str
    is_last: bool
    entries: tuple[Entry, ...]
    """Oldest first; the `seq` of each is that of the last event of the journal before it."""


@final
class RecentPast:
    """Keeps moments of one recorder.

    Args:
        recorder: Whose ring is read.
        encode: Makes the line of a record.
        write: Takes lines for the end of the file.
    """

    def __init__(self, recorder: Recorder, encode: Callable[[Record], bytes], write: Callable[[bytes], None]) -> None:
        self._recorder = recorder
        self._encode = encode
        self._write = write
        self._places: dict[type[Event], int] = {}
        """Where a record of a class says whether it is about a failure; 0 for those that never are."""
        self._prefix = b""
        self.failure: Record | None = None
        """The last record of a failure, while its moment is not kept yet."""
        self._last_kept = 0
        self._left = MOMENTS_KEPT

    def __repr__(self) -> str:
        return f"<RecentPast: {MOMENTS_KEPT - self._left} moments kept>"

    def look(self, record: Record) -> None:
        """Look at a record of the journal that may be a failure, or the first one after that."""
        event_class: type[Event] = record[CLASS]
        place = self._places.get(event_class)
        if place is None:
            place = self._places[event_class] = _place_of(event_class)
        is_failure = place and record[place] == FAILED
        if self.failure is not None and not (is_failure and record[_ACTOR] == self.failure[_ACTOR]):
            self.settle()
        if is_failure:
            self.failure = record

    def settle(self) -> None:
        """Keep the moment of the last failure, if it is not kept yet."""
        failure, self.failure = self.failure, None
        if failure is not None and self._left:
            at = (failure[SEQ], failure[TIME], failure[CLASS].kind)
            self._left -= self._keep(*at, is_last=self._left == 1)

    def keep(self, why: str) -> bool:
        """Keep what the ring holds and no moment has yet; returns whether there was something."""
        self.settle()
        return self._keep(self._recorder.seq, self._recorder.now(), why, is_last=False)

    def _keep(self, seq: int, t: float, why: str, *, is_last: bool) -> bool:
        records = self._take()
        if not records:
            return False
        head = (seq, t, RecentKept, "", 0, 0, why, len(records), is_last)
        try:
            self._write(self._prefix + b"".join(map(self._encode, [head, *records])))
        except JournalError:  # the journal says so itself, to whoever has to know
            return False
        self._prefix = b""
        return True

    def begin_anew(self) -> None:
        """Go on behind what an earlier process has left, which may end in the middle of a line."""
        self._prefix = b"\n"

    def _take(self) -> list[Record]:
        """Return the latest records that are in no journal, with the number of the event before each."""
        records: list[Record] = []
        ring = self._recorder.latest()
        first = next((one[SEQ] for one in ring if one[SEQ] > 0), self._recorder.seq + 1)
        seq, newest = first - 1, self._last_kept
        for record in ring:
            number = record[SEQ]
            if number > 0:
                seq = number
            elif number < self._last_kept:  # they count down
                newest = number
                records.append((seq, *record[1:]))
        self._last_kept = newest
        return records[-RECORDS_KEPT:]


def _place_of(event_class: type[Event]) -> int:
    return field_names(event_class).index(event_class.fails) + FIELDS if event_class.fails else 0


def read_recent(folder: Path, events: Iterable[type[Event]], *, disk: Disk | None = None) -> list[Moment]:
    """Read the moments that a run has kept, oldest first; none, where nothing failed.

    What a process left that ended in the middle of a line is left out: this is for a person who looks for a reason.

    Args:
        folder: The run folder, or its journal.
        events: The event classes to make.
        disk: Where it lies; by default the file system.

    Raises:
        JournalError: The file cannot be read.
    """
    path = (folder.parent if folder.name == JOURNAL else folder) / RECENT
    try:
        content = (disk or SystemDisk()).read(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
    codec = Codec((*events, RecentKept))
    moments: list[Moment] = []
    for line in whole_lines(content)[0]:
        try:
            entry = codec.decode(parse_line(line))
        except ValueError:
            continue
        if isinstance(entry.event, RecentKept):
            kept = entry.event
            moments.append(Moment(seq=entry.seq, t=entry.t, why=kept.why, is_last=kept.is_last, entries=()))
        elif moments:
            moments[-1] = attrs.evolve(moments[-1], entries=(*moments[-1].entries, entry))
    return moments
