"""A run as a page shows it: its columns, its state at any moment, its events, its conversations.

Rule 1: everything is read from the journal's file, whichever process writes it, and nothing is written. Rule 2: it is read in slices; what
is known of the first events is shown while the rest is read. Rule 3: a run that vanishes stays as far as it is known.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import trio

from greenroom.core import JournalError
from greenroom.gateway.record import events_of
from greenroom.session import FOLDS
from greenroom.trace import (
    TRANSCRIPTS,
    ColumnedWorld,
    Entry,
    FileState,
    LockState,
    Moments,
    RunIndex,
    TimedLines,
    fold,
    read_lock,
)
from greenroom.views import MailboxView
from greenroom.web._run_facts import NOTED, RunFacts, RunStanding, epoch_s, parsed_line

POLL_S: Final = 0.03
"""Seconds between two looks at a journal without news."""
LOCK_S: Final = 0.5
"""Seconds between two looks at the lock of a run without news."""
MAX_FOLDED: Final = 256
"""Events that are folded before others have their turn."""
MAX_EVENTS: Final = 2_000
"""Events in one answer."""
MAX_LINES: Final = 200
"""Lines of a transcript in one answer."""
MAX_TALKS: Final = 8
"""Transcripts that are open at a time."""
_MESSAGE: Final = "message."
"""Begin of the kinds of a mailbox's events."""
_LANES: Final = ("now", "next", "later", "leased", "postponed")


@final
class _Reading:
    """The events of a run as they are read to be folded; of those that come for the first time, it notes what is told of the whole run.

    It knows nothing of the run that reads, so that a run that nobody looks at any more is freed without the garbage collector.
    """

    def __init__(self, index: RunIndex) -> None:
        self._index = index
        self._read = 0
        """Number of events that were noted."""
        self.facts = RunFacts()
        self.mailings: dict[str, array[int]] = {}
        """Positions of the events of each mailbox."""

    def entries(self, begin: int, end: int) -> list[Entry]:
        """Return the entries from one position up to another."""
        entries = self._index.entries(begin, end)
        if begin == self._read:
            self._read = end
            for position, entry in enumerate(entries, start=begin):
                kind = entry.kind
                if kind[:8] == _MESSAGE:
                    mailings = self.mailings.get(entry.event.actor)
                    if mailings is None:
                        mailings = self.mailings[entry.event.actor] = array("I")
                    mailings.append(position)
                elif kind in NOTED:
                    self.facts.note(entry)
        return entries


@final
class ShownRun:
    """One run.

    Attributes:
        journal: Its journal.
        index: Its events.
        news: Set and replaced when there is something new.

    Args:
        journal: Its journal.

    Raises:
        JournalError: It cannot be read, is not a journal, or is of a newer format.
    """

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        events = events_of(journal)
        self.index = RunIndex(journal, events)
        self.index.grow()
        if self.index.header is None:
            raise JournalError(str(journal), "not a journal: it has no whole header line")
        self._world = ColumnedWorld(FOLDS, events)
        self._reading = _Reading(self.index)
        self._moments = Moments(self._reading.entries, self._world)
        self._talks: dict[str, TimedLines] = {}
        self._is_written = True
        self._lock_s = -LOCK_S
        self.news = trio.Event()
        self.lock = trio.Lock()
        """Held while a moment or a conversation is read."""

    def __repr__(self) -> str:
        return f"<ShownRun {str(self.journal)!r}, {len(self.index)} events>"

    def close(self) -> None:
        """Close the files."""
        self.index.close()
        for talk in self._talks.values():
            talk.close()

    # --- reading ----------------------------------------------------------------------------------------------------------

    async def read_on(self) -> None:
        """Read and fold on until it is cancelled."""
        while True:
            if self.step():
                await trio.lowlevel.checkpoint()
            else:
                await trio.sleep(POLL_S)

    def step(self) -> bool:
        """Read and fold a slice; return False if there was nothing new."""
        before = self.standing
        try:
            is_more, is_folded = self._advance(MAX_FOLDED)
        except JournalError:  # it cannot be read now; what was read stays
            is_more = is_folded = False
        now_s = trio.current_time()
        if is_more:
            self._is_written = True  # somebody writes: a run that was broken off is resumed
        elif now_s - self._lock_s >= LOCK_S:
            self._lock_s = now_s
            self._is_written = read_lock(self.journal.parent)[0] is not LockState.FREE
        if is_more or is_folded or self.standing is not before:
            self.news.set()
            self.news = trio.Event()
        return is_more or is_folded

    def _advance(self, most: int) -> tuple[bool, bool]:
        """Index a block if all that is indexed is folded, else fold some events; return whether there was something for each."""
        if self._moments.folded >= len(self.index):
            return self.index.grow(), False
        return False, self._moments.fold_on(len(self.index), most=most)

    # --- what is shown ----------------------------------------------------------------------------------------------------

    @property
    def standing(self) -> RunStanding:
        """Whether it goes on."""
        if self.index.state is FileState.VANISHED:
            return RunStanding.VANISHED
        if self.index.state is FileState.REPLACED:
            return RunStanding.REPLACED
        if self._reading.facts.has_ended:
            return RunStanding.ENDED
        return RunStanding.RUNNING if self._is_written else RunStanding.BROKEN_OFF

    def facts(self) -> dict[str, Any]:
        """Return what there is to say of the whole run."""
        facts = self._reading.facts.shown(self.index, self.standing, self._world.world, self.journal)
        return {**facts, "share": round(self.index.share, 3)}

    def pack(self, has: Mapping[str, int], *, max_rows: int) -> tuple[dict[str, Any], bytes]:
        """Return the rows that a viewer does not have yet; see `Columns.pack`."""
        assert self._world.columns is not None
        return self._world.columns.pack(has, max_rows=max_rows)

    def rows(self) -> Mapping[str, int]:
        """Return the rows of each table and list."""
        assert self._world.columns is not None
        return self._world.columns.rows()

    def events(self, begin: int, end: int) -> list[dict[str, Any]]:
        """Return events by position, as their lines have them; at most `MAX_EVENTS`."""
        return list(self.index.raw_events(begin, min(end, begin + MAX_EVENTS)))

    async def moment(self, count: int, actor: str = "") -> dict[str, Any]:
        """Return the state after a number of events; others have their turn meanwhile."""
        async with self.lock:
            state = await _walked(self._moments.walk(max(0, min(count, self._moments.folded))))
        faults = [{"seq": fault.seq, "why": fault.why} for fault in state.world.faults]
        return {"seq": state.world.seq, "t": state.world.t, "sections": state.facts(actor), "faults": faults}

    def mailbox(self, actor: str, count: int) -> dict[str, Any]:
        """Return the messages in a mailbox after a number of events, each with its put.

        It reads the file and blocks; it may run in a thread while the run is read on.
        """
        assert self._world.columns is not None
        count = min(count, self._moments.folded)
        positions = self._reading.mailings.get(actor, array("I"))
        positions = positions[: bisect_left(positions, count)]
        if not positions:
            return {}
        since = self._world.columns.mail_after(actor, positions, count)
        world = fold((entry for at in since for entry in self.index.entries(at, at + 1)), FOLDS)
        box: MailboxView = world.section("mailboxes").get(actor, MailboxView())
        lanes: dict[str, Sequence[int]] = {lane: numbers for lane in _LANES if (numbers := getattr(box, lane))}
        missing = {number for numbers in lanes.values() for number in numbers}
        puts: dict[int, dict[str, Any]] = {}
        for position in reversed(positions):
            if not missing:
                break
            if self.index.kind(position) != "message.put":
                continue
            for raw in self.index.raw_events(position, position + 1):
                if raw.get("msg") in missing:
                    missing.discard(raw["msg"])
                    puts[raw["msg"]] = {"position": position, **raw}
        kinds = Counter(map(self.index.kind, positions))
        return {
            "lanes": {
                name: [puts.get(number, {"msg": number}) for number in numbers] for name, numbers in lanes.items()
            },
            "accepted": kinds["message.put"],
            "acked": kinds["message.acked"],
            "died": kinds["message.died"],
        }

    def talk(self, actor: str, begin: int | None, at_s: float) -> dict[str, Any]:
        """Return lines of an agent's transcript.

        Args:
            actor: The agent.
            begin: The first line; None for the last ones before the time.
            at_s: The moment, in seconds of the journal.
        """
        name, header = self._reading.facts.transcripts.get(actor, ""), self.index.header
        assert header is not None
        try:
            lines = self._lines_of(name)
        except JournalError as error:
            why = f"the transcript cannot be read: {error.why}" if name else "no transcript is kept of this agent"
            return {"lines": [], "count": 0, "at": 0, "from": 0, "why": why}
        at = lines.count_at(epoch_s(header, at_s) + 0.001)  # transcripts round down to milliseconds
        first = max(0, at - MAX_LINES // 2) if begin is None else begin
        return {
            "lines": [parsed_line(line) for line in lines.lines(first, first + MAX_LINES)],
            "from": first,
            "at": at,
            "count": len(lines),
            "name": name,
        }

    def _lines_of(self, name: str) -> TimedLines:
        lines = self._talks.get(name)
        if lines is None:
            if len(self._talks) >= MAX_TALKS:
                self._talks.pop(next(iter(self._talks))).close()
            lines = self._talks[name] = TimedLines(self.journal.parent / TRANSCRIPTS, name)
        lines.read_on()
        return lines


async def _walked(walk: Generator[None, None, ColumnedWorld]) -> ColumnedWorld:
    while True:
        await trio.lowlevel.checkpoint()
        try:
            next(walk)
        except StopIteration as end:
            state: ColumnedWorld = end.value
            return state
