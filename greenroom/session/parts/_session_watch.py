"""The state of a session and what each event changes in it, for a reader who may be slow.

Rule 1: the state is the one fold of `greenroom.trace`, done by the reader: the session only hands over records. Rule 2: a reader that was too
slow is never wrong: it gets the state as it is now in place of the events that it lost, read from the recorder and the journal's file.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Final, Self, final

import attrs

from greenroom.core import Event, JournalError
from greenroom.core.ports import Blocking
from greenroom.session._catalog import EVENTS, FOLDS
from greenroom.session.parts._event_stream import EventStream
from greenroom.trace import JOURNAL as JOURNAL_NAME
from greenroom.trace import Entry, FileState, Journal, RunIndex, World, entries_of

_READ: Final = 2_000
"""Events that are read at a time."""


@final
@attrs.frozen(kw_only=True)
class WatchedChange:
    """An event and what it has changed; or, without an event, a new beginning from the state as it is."""

    seq: int
    """Number of the last event that is in the state."""
    t: float
    """Its time, in seconds since the run began."""
    event: Event | None
    """None if this is a snapshot: the first item, and in place of lost events."""
    subjects: tuple[tuple[str, object], ...] = ()
    """Section and key of each subject that has another value now, or is gone; empty for a snapshot."""
    is_late: bool = False
    """True for a snapshot in place of events that the reader was too slow for."""


@final
class SessionWatch:
    """An iterator over the changes of a session, up to its end. Made by `session.watch()`.

    Attributes:
        state: The state after the item that was returned last; a snapshot replaces it by another object.

    Args:
        stream: The events from now on.
        journal: The session's journal.
        blocking: Runs what reads the journal's file.
    """

    def __init__(self, stream: EventStream, journal: Journal, blocking: Blocking) -> None:
        self._stream = stream
        self._journal = journal
        self._blocking = blocking
        self._is_behind = True
        self._has_begun = False
        self._is_closed = False
        self._index: RunIndex | None = None
        """The index of the journal's file as far as it was needed; None while it is read."""
        self.state = World(FOLDS)

    def __repr__(self) -> str:
        return f"<SessionWatch at event {self.state.seq}>"

    def __aiter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close the file, or have the task that reads it close it; later reads begin at its start."""
        self._is_closed = True
        if self._index is not None:
            self._index.close()
            self._index = None

    async def __anext__(self) -> WatchedChange:
        """Return the next change; cancelled, it has taken none.

        Raises:
            Busy: Another task is waiting for the next change.
            JournalError: Events were lost, and the journal cannot be read.
        """
        while not self._is_behind:
            seq, t, event = await self._stream.next_numbered()
            if seq > self.state.seq + 1:
                self._is_behind = True
            elif seq == self.state.seq + 1:
                return self._changed(Entry(seq, round(t - self._journal.base_t, 6), event.kind, event))
        self.state = await self._caught_up()
        is_late, self._is_behind, self._has_begun = self._has_begun, False, True
        return WatchedChange(seq=self.state.seq, t=self.state.t, event=None, is_late=is_late)

    def _changed(self, entry: Entry) -> WatchedChange:
        changed = self.state.apply_noting(entry)
        subjects = tuple((change.section, change.subject) for change in changed)
        return WatchedChange(seq=entry.seq, t=entry.t, event=entry.event, subjects=subjects)

    async def _caught_up(self) -> World:
        """Return the state after every event so far."""
        recorder, world = self._journal.recorder, self.state.copy()
        last = recorder.seq
        if not self._can_go_on(world):
            with suppress(JournalError):  # a closed journal is on disk; another error shows when it is read
                await self._journal.commit()
            await self._blocking.run(self._read_file, world)
        for entry in entries_of(recorder.latest(), base_t=self._journal.base_t):
            if entry.seq == world.seq + 1:
                world.apply(entry)
        if world.seq < last:
            raise JournalError(str(self._journal.folder), f"event {world.seq + 1} is not in the journal")
        return world

    def _can_go_on(self, world: World) -> bool:
        """True if the recorder still holds everything that is missing."""
        held = next((record[0] for record in self._journal.recorder.latest() if record[0] > 0), None)
        return self._journal.recorder.seq == world.seq or (held is not None and held <= world.seq + 1)

    def _read_file(self, world: World) -> None:
        with ExitStack() as stack:
            index = self._grown_index(stack)
            for begin in range(index.count_until(seq=world.seq), len(index), _READ):
                for entry in index.entries(begin, begin + _READ):
                    world.apply(entry)
            if self._index is None and not self._is_closed:
                self._index = index
                stack.pop_all()

    def _grown_index(self, stack: ExitStack) -> RunIndex:
        """Return the index of all that is in the file, which the stack closes: the one that is there, unless the file was replaced."""
        index, self._index = self._index, None
        if index is not None:
            stack.callback(index.close)
            while index.grow():
                pass
            if index.state is FileState.SAME:
                return index
            stack.close()
        index = RunIndex(self._journal.folder / JOURNAL_NAME, EVENTS)
        stack.callback(index.close)
        while index.grow():
            pass
        return index
