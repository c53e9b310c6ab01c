"""The journal's writer: one Trio task that owns a run folder, first up and last down.

    async with open_journal(folder, ports=ports, catalog=EVENTS, durability="process") as journal:
        journal.recorder.emit(SessionBegan(...))  # the first event, also of a resumed journal
        async with open_runtime(ports=ports, recorder=journal.recorder) as runtime:
            journal.check_open()                  # before a spawn, a claim, a tool's send: JournalError if intake is
            shut
            journal.write_before(Path("transcripts/main.jsonl"), line)
            seq = runtime.recorder.emit(...)      # may refer to that transcript: its line is on disk first
            await journal.wait_durable(seq)       # before success is reported to a model or a host
            await journal.commit()                # the same for everything so far, including transcripts

Rule 1: emitting never waits: the listener stores a record and rings. The writer's task encodes it, a few at a time; its
thread would read the values from another core's memory, at three times the price, and hold up the run all the same (one
interpreter lock). Rule 2: one batch is in flight, and it is written in the order in which it was handed in. Rule 3:
nothing is dropped. If the disk refuses, or too much is pending, intake is shut until the disk takes the rest, which is tried
again every few seconds, and when everything else has closed; a refused sync shuts it for good. Rule 4: only batches that have returned count as written and are reported as durable. Rule 5: the
writer is shielded; a started write is never abandoned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

import attrs
import trio
from trio.lowlevel import enable_ki_protection

from greenroom.core import CLASS, JournalBusy, JournalError, Record, Recorder, UsageError
from greenroom.core.ports import Ports
from greenroom.trace._durability import Durability
from greenroom.trace._journal_files import JournalFiles, Placed, RunPaths
from greenroom.trace._journal_reader import JOURNAL
from greenroom.trace._recent import RECENT, RecentPast
from greenroom.trace._run_folder import OpenedJournal
from greenroom.trace._syncing import Syncing

PENDING_BYTES: Final = 16 * 1024 * 1024
"""Intake is shut while more bytes than this are pending; bounds the memory of a run whose disk is slow."""
ENCODED_AT_ONCE: Final = 256
"""Number of events encoded before other tasks may run: half a millisecond."""
GUESSED_BYTES: Final = 200
"""Assumed size of a line before the first was written."""
RETRY_S: Final = 5.0
"""Time after which a write is tried again that the disk refused."""
LINGER_S: Final = 0.005
"""Time to gather a batch that nobody waits for: a thread hop costs as much as encoding 50 events."""


@final
@attrs.define
class _Output:
    """The batches that have returned: the files themselves belong to the thread while a batch is out."""

    first_seq: int
    """Number of the first event of this process."""
    mark: tuple[int, int]
    """Number of the last event written, and number of contents written before events."""
    line_bytes: int = 0
    batches: int = 0
    event_bytes: int = GUESSED_BYTES
    """Mean size of a line."""

    @property
    def events(self) -> int:
        """Number of events written."""
        return self.mark[0] + 1 - self.first_seq

    def note(self, mark: tuple[int, int], line_bytes: int) -> None:
        """Note a batch that has returned, and the bytes of all lines so far."""
        self.mark = mark
        self.line_bytes = line_bytes
        self.batches += 1
        self.event_bytes = line_bytes // self.events if self.events else GUESSED_BYTES


@final
class Journal:
    """Writes the run folder of one run. Made by `open_journal`.

    Attributes:
        folder: The run folder.
        header: The journal's first line.
        recorder: Receives the events; pass it to the runtime.
        was_reopened: True if an earlier process began this journal.
    """

    def __init__(
        self, folder: Path, opened: OpenedJournal, recorder: Recorder, ports: Ports, durability: Durability
    ) -> None:
        self.folder = folder
        self.header = opened.header
        self.recorder = recorder
        self.was_reopened = opened.was_reopened
        self._files: JournalFiles = opened.files
        self._blocking = ports.blocking
        self._is_power = durability == "power"
        self._records: list[Record] = []
        self._lines: list[bytes] = []
        self._contents: list[Placed] = []
        """Content for other files, each with the number of pending events before it."""
        self._places = RunPaths(folder, JOURNAL)
        self._held_bytes = 0
        """Bytes of lines and of content before them, without those in flight."""
        self._before_count = 0
        self._waiters: dict[trio.Event, tuple[int, int]] = {}
        self._output = _Output(recorder.seq + 1, (recorder.seq, 0))
        self._durable = (recorder.seq, 0)
        self._in_flight = 0
        self._out: tuple[list[Placed], list[bytes]] = ([], [])
        self._bell = trio.Event()
        self._is_parked = False
        self._is_closing = False
        self._is_closed = False
        self._failure: JournalError | None = None
        self._syncing = Syncing(opened.files, ports.blocking, recorder.now, self._wake)
        self._recent = RecentPast(recorder, opened.files.encode, functools.partial(self.write_before, folder / RECENT))
        if opened.was_reopened:  # the earlier process may have ended in the middle of a line
            self._recent.begin_anew()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "shut"
        return f"<Journal {self.header.run!r} seq={self.recorder.seq} durable={self._durable[0]} {state}>"

    # --- handing in ------------------------------------------------------------------------------------------------

    def hear(self, record: Record) -> None:
        """Store a record from the recorder, and wake the writer if it sleeps."""
        if record[CLASS].fails or self._recent.failure is not None:  # checked here: it is one event in a dozen
            self._recent.look(record)
        self._records.append(record)
        if self._is_parked:
            self._ring()

    def write_before(self, path: Path, content: bytes) -> None:
        """Queue bytes for the end of a file of the run folder.

        They are on disk before every event emitted from now on, and after every event so far.

        Args:
            path: A file in the run folder, relative to it or absolute, which is faster.
            content: Whole lines, so that readers find none torn.

        Raises:
            UsageError: The path is outside the run folder, or is the journal's own.
            JournalError: The journal is closed; or the disk has refused, and the limit for the last try at the end is
                reached.
        """
        file = self._places.find(path)
        if self._is_closed:
            raise JournalError(str(self.folder), "the journal is closed")
        if self._failure is not None and self.pending_bytes + len(content) > PENDING_BYTES:
            raise self._refusal()
        self._contents.append((len(self._lines) + len(self._records), file, content))
        self._held_bytes += len(content)
        self._before_count += 1
        if self._is_parked:
            self._ring()

    def keep_recent(self, why: str) -> bool:
        """Write the recorder's recent past to disk, for `greenroom replay --recent`; failures do that by themselves.

        Args:
            why: The reason, shown to the reader.

        Returns:
            True if there were records that no earlier moment had kept.
        """
        return self._recent.keep(why)

    @property
    def base_t(self) -> float:
        """The clock's reading from which times in the journal count."""
        return self._files.base_t

    @property
    def pending_bytes(self) -> int:
        """Bytes that are not on disk yet, including transcripts; estimated for events that are not encoded yet."""
        return self._held_bytes + self._in_flight + len(self._records) * self._output.event_bytes

    @property
    def is_power_safe(self) -> bool:
        """True if what is recorded survives a power cut, not only the end of the process."""
        return self._is_power

    @property
    def is_open(self) -> bool:
        """True if new work may begin: the disk accepts writes, and not too much is pending."""
        return self._failure is None and not self._is_closed and self.pending_bytes <= PENDING_BYTES

    def check_open(self) -> None:
        """Return if new work may begin.

        Raises:
            JournalError: It may not, because it could not be recorded; `JournalBusy` if only for now.
        """
        if self._failure is not None:
            raise self._refusal()
        if self._is_closed:
            raise JournalError(str(self.folder), "the journal is closed")
        if self.pending_bytes > PENDING_BYTES:
            raise JournalBusy(
                str(self.folder), f"{self.pending_bytes} bytes are waiting to be written; try again later"
            )

    async def wait_open(self) -> None:
        """Return when new work may begin: at once, or when the pending bytes are written. Cancelling only stops the
        wait.

        Raises:
            JournalError: The disk refuses, or the journal is closed.
        """
        while self._failure is None and not self._is_closed and self.pending_bytes > PENDING_BYTES:
            await self.commit()
        self.check_open()

    # --- commit points ---------------------------------------------------------------------------------------------

    @property
    def durable_seq(self) -> int:
        """Number of the last event that is durable by this journal's setting."""
        return self._durable[0]

    async def wait_durable(self, seq: int) -> None:
        """Return once the event with this number, and all before it, are durable: a commit point.

        Cancelling only stops the wait.

        Raises:
            JournalError: The disk refused; it is unknown whether the event will ever be durable.
            UsageError: No event has that number yet.
        """
        if seq > self.recorder.seq:
            raise UsageError(f"no event has the number {seq} yet; the last one is {self.recorder.seq}")
        await self._wait((seq, 0))

    async def commit(self) -> None:
        """Return once everything handed in so far is durable: a commit point.

        This covers every emitted event and every line passed to `write_before`, also lines of a transcript that no
        event refers to. Cancelling only stops the wait. Raises `JournalError` as `wait_durable` does.
        """
        await self._wait((self.recorder.seq, self._before_count))

    async def _wait(self, mark: tuple[int, int]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if _covers(self._durable, mark):
            return
        if self._failure is not None:
            raise self._refusal()
        if self._is_closed:
            raise JournalError(str(self.folder), "the journal is closed")
        event = trio.Event()
        self._waiters[event] = mark
        self._ring()
        try:
            await event.wait()
        finally:
            self._waiters.pop(event, None)
        if not _covers(self._durable, mark):
            raise self._refusal()

    def statistics(self) -> JournalStatistics:
        """Return the current counters."""
        return JournalStatistics(
            written=self._output.events,
            pending=self.recorder.seq - self._output.mark[0],
            pending_bytes=self.pending_bytes,
            bytes=self._output.line_bytes,
            batches=self._output.batches,
            syncs=self._syncing.count,
            waiting=len(self._waiters),
            is_open=self.is_open,
        )

    # --- the writer ------------------------------------------------------------------------------------------------

    def _ring(self) -> None:
        self._is_parked = False
        self._bell.set()

    def _wake(self) -> None:
        if self._is_parked:
            self._ring()

    @enable_ki_protection
    async def run(self) -> None:
        """Write until the journal is closing, or a sync has failed."""
        syncing = self._syncing
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                while not self._is_closing and syncing.failure is None:
                    if self._failure is not None:
                        await self._sleep(RETRY_S, is_parked=False)
                        await self._write_again()  # also if it is closing: what is left is written below
                    elif syncing.is_due and not self._is_power:
                        syncing.begin(nursery)
                    elif self._records or self._contents or self._waiters or syncing.is_due:
                        if not self._waiters:
                            await self._sleep(LINGER_S, is_parked=False)
                        await self._write_batch()
                    else:
                        await self._sleep(syncing.until_s, is_parked=True)
            if syncing.failure is not None and self._failure is None:
                self._fail(syncing.failure)
            if self._failure is None and self._files.is_dirty and not self._is_power:
                async with trio.open_nursery() as nursery:
                    syncing.begin(nursery)  # in parallel, before the rest is written and synced in one thread

    async def _sleep(self, limit_s: float, *, is_parked: bool) -> None:
        """Sleep until woken: by any emitter if parked, else only by a caller that waits for the disk."""
        self._bell = trio.Event()
        self._is_parked = is_parked
        with trio.move_on_after(limit_s):
            await self._bell.wait()
        self._is_parked = False

    async def _write_batch(self) -> None:
        is_sync = self._is_power and (self._syncing.is_due or bool(self._waiters))
        for _ in range(len(self._records) // ENCODED_AT_ONCE):  # bounded: others may emit faster than this encodes
            self._encode(ENCODED_AT_ONCE)
            await trio.lowlevel.checkpoint()
        mark = (self.recorder.seq, self._before_count)
        try:
            await self._blocking.run(self._hand_over(is_sync=is_sync))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run must learn that its journal has failed
            self._fail(error)
        else:
            self._note_written(mark, is_synced=is_sync)

    async def _write_again(self) -> None:
        """Try again to write the bytes that the disk refused; if it takes them, intake is open again."""
        try:
            await self._blocking.run(self._files.write)
            self._failure, self._in_flight = None, 0
        except Exception:  # noqa: BLE001 - it refuses still, and the failure says so
            self._in_flight = self._files.queued_bytes

    def _encode(self, count: int) -> None:
        """Encode the `count` oldest records."""
        lines = [*map(self._files.encode, self._records[:count])]
        del self._records[:count]
        self._lines += lines
        self._held_bytes += sum(map(len, lines))

    def _hand_over(self, *, is_sync: bool) -> Callable[[], None]:
        """Take the pending bytes in one step; return the blocking call that writes them."""
        self._encode(len(self._records))
        lines, self._lines = self._lines, []
        contents, self._contents = self._contents, []
        self._in_flight, self._held_bytes = self._held_bytes, 0
        self._out = (contents, lines)
        files = self._files

        def write() -> None:
            files.enqueue(contents, lines)
            self._out = ([], [])  # the files hold it now
            files.write()
            if is_sync:
                self._syncing.sync_here()

        return write

    def _note_written(self, mark: tuple[int, int], *, is_synced: bool) -> None:
        self._in_flight = 0
        self._output.note(mark, self._files.lines_bytes)
        if is_synced or not self._is_power:
            self._durable = mark
            for event in [event for event, wanted in self._waiters.items() if _covers(mark, wanted)]:
                del self._waiters[event]
                event.set()

    def _fail(self, error: BaseException) -> None:
        contents, lines = self._out  # empty, unless the call was never made: no thread could be started
        contents += [(len(lines) + place, file, content) for place, file, content in self._contents]
        self._lines[:0], self._contents, self._out = lines, contents, ([], [])
        self._held_bytes = sum(map(len, self._lines)) + sum(len(content) for _, _, content in contents)
        self._in_flight = self._files.queued_bytes
        why = (error.strerror if isinstance(error, OSError) else None) or repr(error)
        self._failure = JournalError(str(self.folder), f"the journal cannot be written: {why}")
        self._failure.__cause__ = error
        waiters, self._waiters = self._waiters, {}
        for event in waiters:
            event.set()

    def _refusal(self) -> JournalError:
        """Return the error for one caller; each gets its own, because a traceback grows with every raise."""
        failure = self._failure or JournalError(str(self.folder), "the journal is closed")
        error = JournalError(failure.where, failure.why)
        error.__cause__ = failure.__cause__
        return error

    # --- the end ---------------------------------------------------------------------------------------------------

    def begin_closing(self) -> None:
        """Ask the writer to end after the batch in flight."""
        self._recent.settle()
        self._is_closing = True
        self._ring()

    @enable_ki_protection
    def finish(self) -> None:
        """Write the remaining bytes, synchronously, and sync them. Call it after the writer has ended.

        Raises:
            JournalError: The disk refuses; the text says how much was not written.
        """
        mark = (self.recorder.seq, self._before_count)
        write = self._hand_over(is_sync=True)
        try:
            write()
        except Exception as error:
            self._fail(error)
            written = self._output.mark[0]
            failure = self._refusal()
            why = f"{failure.why}; {self.recorder.seq - written} events from number {written + 1} on may be missing"
            raise JournalError(failure.where, why) from error
        else:
            self._note_written(mark, is_synced=True)
        finally:
            self._is_closed = True
            self._files.close()


def _covers(done: tuple[int, int], wanted: tuple[int, int]) -> bool:
    return done[0] >= wanted[0] and done[1] >= wanted[1]


@final
@attrs.frozen(kw_only=True)
class JournalStatistics:
    """The counters of a journal."""

    written: int
    """Events that this writer wrote to disk."""
    pending: int
    """Events that wait to be written."""
    pending_bytes: int
    """Pending bytes, including transcripts; estimated for events that are not encoded yet."""
    bytes: int
    """Bytes of journal lines that this writer wrote to disk."""
    batches: int
    syncs: int
    waiting: int
    """Waiting callers of `wait_durable`."""
    is_open: bool
