"""Streams of a session's events as they happen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Self, final

import trio

from greenroom.core import Busy, Event, Record, event_of

KEPT: Final = 10_000
"""Events that wait for a slow reader; then the oldest are dropped, and counted."""


@final
class EventStream:
    """An iterator over events, from the call of `session.events()` to the end of the session.

    It never holds the session up: a reader that is too slow loses the oldest events and is told how many.
    """

    def __init__(self, capacity: int | None = KEPT) -> None:
        self._records: deque[Record] = deque(maxlen=capacity)
        self._arrived = trio.Event()
        self._is_closed = False
        self._is_being_read = False
        self.on_close: Callable[[], None] | None = None
        """Called once, when the stream is closed."""
        self.lost = 0
        """Events that were dropped because nobody read them in time."""

    def __repr__(self) -> str:
        return f"<EventStream: {len(self._records)} waiting, {self.lost} lost>"

    def put(self, record: Record) -> None:
        """Add a record; called by the recorder."""
        self.lost += len(self._records) == self._records.maxlen
        self._records.append(record)
        self._arrived.set()

    def close(self) -> None:
        """Take no more events; the reader comes to an end after what is there."""
        self._is_closed = True
        self._arrived.set()
        on_close, self.on_close = self.on_close, None
        if on_close is not None:
            on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Return the next event; cancelled, it has taken none.

        Raises:
            Busy: Another task is waiting for the next event.
        """
        return event_of(await self._next_record())

    async def next_numbered(self) -> tuple[int, float, Event]:
        """Return the next event with its `seq` and the clock's reading; raises StopAsyncIteration at the end."""
        record = await self._next_record()
        return record[0], record[1], event_of(record)

    @property
    def waiting(self) -> int:
        """Number of events that wait to be read."""
        return len(self._records)

    def next_nowait(self) -> tuple[int, float, Event] | None:
        """Return the next event like `next_numbered`; None if none waits."""
        if not self._records:
            return None
        record = self._records.popleft()
        return record[0], record[1], event_of(record)

    async def wait_next(self) -> bool:
        """Wait until an event waits to be read; return False if the stream has ended.

        Raises:
            Busy: Another task is waiting for the next event.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._is_being_read:
            raise Busy("somebody else is reading these events; each reader calls session.events() for its own")
        self._is_being_read = True
        try:
            while not self._records:
                if self._is_closed:
                    return False
                self._arrived = trio.Event()
                await self._arrived.wait()
        finally:
            self._is_being_read = False
        return True

    def discard(self) -> None:
        """Discard all events that wait."""
        self._records.clear()

    async def _next_record(self) -> Record:
        if not await self.wait_next():
            raise StopAsyncIteration
        record: tuple[Any, ...] = self._records.popleft()
        return record
