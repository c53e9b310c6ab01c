"""The recent past: records of the recorder alone, kept on disk around failures or on request.

A plain actor's turns are in the recorder's ring but not in the journal, which would otherwise consist mostly of them.
When an actor, a turn or a message fails, the latest records go to `recent.jsonl` of the run folder: a line with the
reason, then the records.

A record is kept once, so a moment begins where the previous one ended. One failure may end a message, its turn and its
actor; that is one moment, kept when the journal gets its next event about something else, or closes. The number of
records per moment and of moments per process is bounded; the last moment says that it is the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, Final, final

import attrs

from greenroom.core import CLASS, FIELDS, SEQ, TIME, Event, JournalError, Record, Recorder, field_names
from greenroom.core.ports import Disk, SystemDisk
from greenroom.trace._codec import Codec
from greenroom.trace._entries import Entry
from greenroom.trace._journal_reader import JOURNAL, parse_line, whole_lines

RECENT: Final = "recent.jsonl"
RECORDS_KEPT: Final = 200
"""Maximum number of records kept of one moment."""
MOMENTS_KEPT: Final = 100
"""Maximum number of moments that a process keeps automatically."""
FAILED: Final = "failed"
_ACTOR: Final = FIELDS
"""Position of the actor, the first field of every event."""


@final
@attrs.frozen(kw_only=True)
class RecentKept(Event):
    """Announcement of the records that follow, from around the event with its number; first line of each moment."""

    kind: ClassVar[str] = "recent.kept"

    why: str
    """Kind of the event that failed, or the reason given on request."""
    count: int
    """Number of records that follow."""
    is_last: bool = False
    """True if no further failure of this process is kept."""


@final
@attrs.frozen(kw_only=True)
class RecentMoment:
    """The recorder's records around one event."""

    seq: int
    """Number of the event in the journal; for a request, of the last event then."""
    t: float
    """Seconds since the run began."""
    why: str
    is_last: bool
    entries: tuple[Entry, ...]
    """Oldest first; the `seq` of each is that of the preceding journal event."""


@final
class RecentPast:
    """Keeps moments of one recorder.

    Args:
        recorder: The recorder whose ring is read.
        encode: Returns the line of a record.
        write: Appends lines to the file.
    """

    def __init__(self, recorder: Recorder, encode: Callable[[Record], bytes], write: Callable[[bytes], None]) -> None:
        self._recorder = recorder
        self._encode = encode
        self._write = write
        self._places: dict[type[Event], int] = {}
        """Position in a class's record that tells a failure; 0 for classes that never fail."""
        self._prefix = b""
        self.failure: Record | None = None
        """The last record of a failure whose moment is not kept yet."""
        self._last_kept = 0
        self._left = MOMENTS_KEPT

    def __repr__(self) -> str:
        return f"<RecentPast: {MOMENTS_KEPT - self._left} moments kept>"

    def look(self, record: Record) -> None:
        """Check a journal record that may be a failure, or the first one after it."""
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
        """Keep the records of the ring that no moment has yet; return True if there were any."""
        self.settle()
        return self._keep(self._recorder.seq, self._recorder.now(), why, is_last=False)

    def _keep(self, seq: int, t: float, why: str, *, is_last: bool) -> bool:
        records = self._take()
        if not records:
            return False
        head = (seq, t, RecentKept, "", 0, 0, why, len(records), is_last)
        try:
            self._write(self._prefix + b"".join(map(self._encode, [head, *records])))
        except JournalError:  # the journal reports it itself
            return False
        self._prefix = b""
        return True

    def begin_anew(self) -> None:
        """Start a new line after the output of an earlier process, which may have ended in the middle of one."""
        self._prefix = b"\n"

    def _take(self) -> list[Record]:
        """Return the latest records that are in no journal, each with the number of the journal event before it."""
        records: list[Record] = []
        ring = self._recorder.latest()
        first = next((record[SEQ] for record in ring if record[SEQ] > 0), self._recorder.seq + 1)
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


def read_recent(folder: Path, events: Iterable[type[Event]], *, disk: Disk | None = None) -> list[RecentMoment]:
    """Return the moments that a run has kept, oldest first; empty if nothing failed.

    Damaged lines are skipped: this is for a person who looks for a reason.

    Args:
        folder: The run folder, or its journal.
        events: The known event classes.
        disk: Disk of the file; by default the file system.

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
    moments: list[RecentMoment] = []
    for line in whole_lines(content)[0]:
        try:
            entry = codec.decode(parse_line(line))
        except ValueError:
            continue
        if isinstance(entry.event, RecentKept):
            kept = entry.event
            moments.append(RecentMoment(seq=entry.seq, t=entry.t, why=kept.why, is_last=kept.is_last, entries=()))
        elif moments:
            moments[-1] = attrs.evolve(moments[-1], entries=(*moments[-1].entries, entry))
    return moments
