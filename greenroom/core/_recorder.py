"""The recorder: the latest events of every level in a bounded ring, and the numbering of those for the journal.

Rule 1: emitting never waits and never fails. Rule 2: `seq` is given at emission, so what the journal takes is
gapless. Rule 3: an event for the journal goes to every listener; the ring may overwrite it, a listener never loses it.
Must not know: disk, Trio. The clock is handed in as a function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core._events import Event, Record, field_values

RING_SIZE: Final = 4_096

Listener: TypeAlias = Callable[[Record], None]
"""Called with each record for the journal, in the emitter's own step: it may only store and wake."""


@attrs.frozen(kw_only=True)
class RecorderStatistics:
    """What went through a recorder."""

    journalled: int
    """Events that took a `seq`."""
    noted: int
    """Events for the recorder only."""
    overwritten: int
    """Records that the ring no longer holds."""
    capacity: int
    """Records that the ring can hold."""


@final
class Recorder:
    """The tracer port of one runtime.

    Attributes:
        now: Reads the run's clock, in seconds.
        note: Stores a record for the ring only. It is the ring's own `append`: hot paths build the tuple themselves, with
            `number()` as its first value.
        number: Gives the next number of a ring-only record (-1, -2, ...).
    """

    __slots__ = ("_first_seq", "_listeners", "_reads", "_ring", "_seq", "note", "now", "number")

    def __init__(self, now: Callable[[], float], *, capacity: int = RING_SIZE, first_seq: int = 1) -> None:
        self.now = now
        self._ring: deque[Record] = deque(maxlen=capacity)
        self._listeners: tuple[Listener, ...] = ()
        self._first_seq = first_seq
        self._seq = first_seq - 1
        self._reads = 0
        self.note: Callable[[Record], None] = self._ring.append
        self.number: Callable[[], int] = count(-1, -1).__next__

    def __repr__(self) -> str:
        return f"<Recorder seq={self._seq} held={len(self._ring)}>"

    @property
    def seq(self) -> int:
        """The number of the last event for the journal; 0 before the first."""
        return self._seq

    def emit(self, event: Event) -> int:
        """Record an event for the journal and return its `seq`."""
        return self.emit_fields(type(event), *field_values(event))

    def emit_fields(self, event_class: type[Event], *fields: Any) -> int:
        """Record an event for the journal, given as its class and the values of its fields in order; return its `seq`."""
        self._seq = seq = self._seq + 1
        record = (seq, self.now(), event_class) + fields  # noqa: RUF005 - as one display it goes through a list
        self._ring.append(record)
        for listener in self._listeners:
            listener(record)
        return seq

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every record for the journal from now on; return the function that ends that."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(one for one in self._listeners if one is not listener)

        return stop

    def latest(self) -> list[Record]:
        """Return what the ring holds, oldest first."""
        return list(self._ring)

    def statistics(self) -> RecorderStatistics:
        """Return the counters as of now; reading them uses up one ring-only number."""
        noted = -self.number() - 1 - self._reads
        self._reads += 1
        journalled = self._seq - self._first_seq + 1
        return RecorderStatistics(
            journalled=journalled,
            noted=noted,
            overwritten=max(0, journalled + noted - len(self._ring)),
            capacity=self._ring.maxlen or 0,
        )
