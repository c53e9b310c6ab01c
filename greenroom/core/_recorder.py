"""The recorder: a bounded ring of the latest events of every level, and the numbering of journal events.

Rule 1: emitting never waits and never fails. Rule 2: `seq` is assigned at emission, so the journal has no gaps. Rule 3:
every journal event goes to every listener; the ring may overwrite it, a listener never misses it. This module must not
depend on the disk or Trio; the clock is passed in as a function.
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
"""Called with each journal record in the emitter's own step; it may only store and wake."""


@attrs.frozen(kw_only=True)
class RecorderStatistics:
    """Counters of a recorder."""

    journalled: int
    """Events with a `seq`."""
    noted: int
    """Events for the recorder only."""
    overwritten: int
    """Records that the ring no longer holds."""
    capacity: int
    """Number of records that the ring can hold."""


@final
class Recorder:
    """The tracer port of one runtime.

    Attributes:
        now: Reads the run's clock, in seconds.
        note: Stores a record in the ring only. It is the ring's own `append`: hot paths build the tuple themselves,
            with `number()` as its first value.
        number: Returns the next number of a ring-only record (-1, -2, ...).
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
        """Number of the last journal event; 0 before the first."""
        return self._seq

    def emit(self, event: Event) -> int:
        """Record a journal event and return its `seq`."""
        return self.emit_fields(type(event), *field_values(event))

    def emit_fields(self, event_class: type[Event], *fields: Any) -> int:
        """Record a journal event, given as its class and field values in order, and return its `seq`."""
        self._seq = seq = self._seq + 1
        record = (seq, self.now(), event_class) + fields  # noqa: RUF005 - a display with a star builds a list first
        self._ring.append(record)
        for listener in self._listeners:
            listener(record)
        return seq

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every journal record from now on; return a function that unsubscribes it."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(known for known in self._listeners if known is not listener)

        return stop

    def latest(self) -> list[Record]:
        """Return the records of the ring, oldest first."""
        return list(self._ring)

    def statistics(self) -> RecorderStatistics:
        """Return the current counters; reading them uses up one ring-only number."""
        noted = -self.number() - 1 - self._reads
        self._reads += 1
        journalled = self._seq - self._first_seq + 1
        return RecorderStatistics(
            journalled=journalled,
            noted=noted,
            overwritten=max(0, journalled + noted - len(self._ring)),
            capacity=self._ring.maxlen or 0,
        )
