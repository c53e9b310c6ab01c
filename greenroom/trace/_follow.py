"""The entries of a journal, and then those that are appended, by any process, until the run has ended.

    follower = follow(path, EVENTS)
    for entry in follower: ...                 # waits for more
    follower.state                             # ended, broken_off, vanished, replaced

    while follower.state is FollowState.GOING_ON:
        for entry in follower.take(): ...      # never waits

A torn last line is waited for. A damaged line is counted and left out. Nothing is written, and the writer never notices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, final

from greenroom.core import Event, JournalError
from greenroom.trace._codec import Header, codec_of, upcast
from greenroom.trace._entries import Entry
from greenroom.trace._growing_file import FileState, GrowingFile
from greenroom.trace._journal_reader import parse_header, parse_line
from greenroom.trace._run_lock import LockState, read_lock
from greenroom.trace._world import BEGINS, ENDS

PAUSE_S: Final = 0.03
"""Seconds between two looks at a journal that has nothing new."""
LOOKS_PER_LOCK: Final = 32
"""Looks without anything new until the lock is asked whether the writer lives: a lock that is asked is held for an instant."""


class FollowState(StrEnum):
    """Whether a journal may still grow, and why not."""

    GOING_ON = "going_on"
    ENDED = "ended"
    BROKEN_OFF = "broken_off"
    """Its process ended before the run did."""
    VANISHED = "vanished"
    """The file was removed."""
    REPLACED = "replaced"
    """The journal of another run has taken its place."""


@final
class RunEnding:
    """Whether a run has ended, from its events in order.

    Attributes:
        has_session: True if there is a session. Without one, events may follow the end: other actors of the runtime end later.
        has_ended: True if the last session, else the last root supervisor, has ended.
    """

    KINDS: ClassVar = BEGINS | ENDS | {"actor.new", "actor.end"}
    """Kinds of the events that it looks at."""

    def __init__(self) -> None:
        self.has_session = False
        self._root = ""
        self.has_ended = False

    def look(self, kind: str, actor: str, *, is_supervised: bool) -> None:
        """Process the next event."""
        if kind in BEGINS or kind in ENDS:
            self.has_session, self.has_ended = True, kind in ENDS
        elif kind == "actor.new" and not is_supervised:
            self._root, self.has_ended = actor, False
        elif kind == "actor.end" and actor == self._root and not self.has_session:
            self.has_ended = True


@final
class Follower:
    """A journal that is read while it grows.

    Attributes:
        header: Its header; None until it is there.
        state: Whether more may come.
        seq: Number of the last entry returned.
        damaged_lines: Number of lines that were left out.
        damage: The first of them, in words; empty if there is none.
    """

    def __init__(self, path: Path, events: Iterable[type[Event]], *, pause: Callable[[], object]) -> None:
        self._path = path
        self._file = GrowingFile(path)
        self._codec = codec_of(tuple(events))
        self._pause = pause
        self._ending = RunEnding()
        self._silent_looks = 0
        self._is_free = False
        """True if the lock was free at a look, after which everything written has to be read once more."""
        self._is_again = False
        """True while a file that has taken the place of another repeats what that one had."""
        self._lines = 0
        self.header: Header | None = None
        self.state = FollowState.GOING_ON
        self.seq = 0
        self.damaged_lines = 0
        self.damage = ""

    def __repr__(self) -> str:
        return f"<Follower {str(self._path)!r} after event {self.seq}, {self.state}>"

    def __iter__(self) -> Iterator[Entry]:
        """Yield entries until no more can come; waits by the `pause` of `follow`.

        Raises:
            JournalError: As `take`.
        """
        while self.state is FollowState.GOING_ON:
            entries = self.take()
            yield from entries
            if not entries and not self._is_free and self.state is FollowState.GOING_ON:
                self._pause()

    def take(self) -> list[Entry]:
        """Return the next entries, those of about a megabyte at most; empty if nothing is new, and when `state` says why.

        Raises:
            JournalError: The file cannot be read, is not a journal, or is of a newer format.
        """
        if self.state is not FollowState.GOING_ON:
            return []
        while content := self._file.read():
            self._silent_looks, self._is_free = 0, False
            entries = list(self._entries(content.split(b"\n")[:-1]))
            if entries:
                return entries
        self._look()
        return []

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _entries(self, lines: list[bytes]) -> Iterator[Entry]:
        for line in lines:
            self._lines += 1
            if self._lines == 1:
                self._begin(parse_header(self._path, [line]))
                continue
            if self.state is not FollowState.GOING_ON or self.header is None:
                return
            try:
                entry = self._codec.decode(upcast(parse_line(line), self.header.v))
            except ValueError as error:
                self.damaged_lines += 1
                self.damage = self.damage or f"line {self._lines} is damaged: {error}"
                continue
            if entry.seq <= self.seq and self._is_again:
                continue
            self._is_again = False
            self.seq = entry.seq
            self._ending.look(entry.kind, entry.event.actor, is_supervised=bool(entry.get("supervisor", "?")))
            yield entry

    def _begin(self, header: Header) -> None:
        if self.header is not None and self.header.run != header.run:
            self.state = FollowState.REPLACED
        self.header = header

    def _look(self) -> None:
        """Decide what it means that nothing is new."""
        if self._file.state is FileState.VANISHED:
            self.state = FollowState.VANISHED
        elif self._file.state is FileState.REPLACED:
            self._reopen()
        elif self._ending.has_ended and (self._ending.has_session or self._is_free):
            self.state = FollowState.ENDED
        elif self._is_free:
            self.state = FollowState.BROKEN_OFF
        else:
            if self._silent_looks % LOOKS_PER_LOCK == 0:
                self._is_free = read_lock(self._path.parent)[0] is LockState.FREE
            self._silent_looks += 1

    def _reopen(self) -> None:
        try:
            is_same = self._file.reopen()
        except JournalError:
            self.state = FollowState.VANISHED
            return
        if not is_same:
            self._lines, self._is_again = 0, True


def follow(path: Path, events: Iterable[type[Event]], *, pause: Callable[[], object] | None = None) -> Follower:
    """Return a journal's entries, and then those that are appended until the run has ended or its writer is gone.

    Args:
        path: The journal.
        events: The known event classes; an event of another kind becomes an `UnknownEvent`.
        pause: Waits a moment when nothing is new; by default it blocks the thread for 30 ms.

    Raises:
        JournalError: The file cannot be opened.
    """
    return Follower(path, events, pause=pause or _sleep)


def _sleep() -> None:
    time.sleep(PAUSE_S)
