"""The journal's writer: one Trio task that owns a run folder, first up and last down.

    async with open_journal(folder, ports=ports, catalogue=EVENTS, durability="process") as journal:
        journal.recorder.emit(SessionBegan(...))  # the first event, also when a journal is gone on with
        async with open_runtime(ports=ports, recorder=journal.recorder) as runtime:
            journal.check_open()                  # before a spawn, a claim, a tool's send: JournalError when intake is shut
            journal.write_before(Path("transcripts/main.jsonl"), line)
            seq = runtime.recorder.emit(...)      # may point into that transcript: its line is on disk later
            await journal.wait_durable(seq)       # before success is reported to a model or a host
            await journal.commit()                # the same for all that was handed in, transcripts included

Rule 1: emitting never waits: the listener stores a record and rings. The writer's task encodes it, a few at a time, and not
its thread: that would read the values from the memory of another core, at three times the price, and hold up the run all the
same (one interpreter lock). Rule 2: one batch is in flight, and what it points
into is written before it. Rule 3: nothing is dropped. When the disk refuses, or too much is pending, intake is shut, and
what is still held is written when everything else has closed. Rule 4: written is what a batch has returned from; nothing
else is reported as durable. Rule 5: the writer is shielded; a write that has begun is never abandoned.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final, get_args

import trio
from trio.lowlevel import enable_ki_protection

from greenroom._version import __version__
from greenroom.core import (
    CLASS,
    Event,
    JournalBusy,
    JournalError,
    Ports,
    Record,
    Recorder,
    UsageError,
    is_cancelled,
    whole_path,
)
from greenroom.trace._codec import Header, codec_of
from greenroom.trace._files import JournalFiles, Places
from greenroom.trace._leaving import Held, bare_interrupt
from greenroom.trace._lock import hold_run
from greenroom.trace._opening import Opened, make_folder, open_files
from greenroom.trace._reader import JOURNAL
from greenroom.trace._recent import RECENT, RecentPast
from greenroom.trace._statistics import JournalStatistics
from greenroom.trace._syncing import Syncing

Durability: TypeAlias = Literal["process", "power"]
"""`process`: written before it is reported, synced each second; survives kill -9. `power`: synced before it is reported."""

PENDING_BYTES: Final = 16 * 1024 * 1024
"""Above so much that is not written yet, intake is shut (DESIGN 12.21)."""
ENCODED_AT_ONCE: Final = 256
"""So many events are encoded before others may go on: half a millisecond."""
GUESSED_BYTES: Final = 200
"""Size of a line before the first was written."""
LINGER_S: Final = 0.005
"""So long the writer gathers a batch that nobody waits for: a thread hop costs as much as encoding 50 events."""


@final
class Journal:
    """What goes to the run folder of one run. Made by `open_journal`.

    Attributes:
        folder: The run folder.
        header: The journal's first line.
        recorder: Where events are emitted; hand it to the runtime.
        was_reopened: Whether an earlier process had begun this journal.
    """

    def __init__(self, folder: Path, opened: Opened, recorder: Recorder, ports: Ports, durability: Durability) -> None:
        self.folder = folder
        self.header = opened.header
        self.recorder = recorder
        self.was_reopened = opened.was_reopened
        self._files: JournalFiles = opened.files
        self._blocking = ports.blocking
        self._is_power = durability == "power"
        self._records: list[Record] = []
        self._lines: list[bytes] = []
        self._before: dict[Path, list[bytes]] = {}
        self._places = Places(folder, JOURNAL)
        self._held_bytes = 0
        """Of lines and of what is before them; what is in flight has left them."""
        self._before_count = 0
        self._waiters: dict[trio.Event, tuple[int, int]] = {}
        self._written = (recorder.seq, 0)
        self._durable = (recorder.seq, 0)
        self._first_seq = recorder.seq + 1
        self._in_flight = 0
        self._out: tuple[dict[Path, list[bytes]], list[bytes]] = ({}, [])
        self._line_bytes = 0
        """By what a batch has returned from: the files belong to the thread while a batch is out."""
        self._size = GUESSED_BYTES
        self._bell = trio.Event()
        self._is_parked = False
        self._is_closing = False
        self._is_closed = False
        self._failure: JournalError | None = None
        self._syncing = Syncing(opened.files, ports.blocking, recorder.now, self._wake)
        self._recent = RecentPast(recorder, opened.files.encode, functools.partial(self.write_before, folder / RECENT))
        if opened.was_reopened:  # an earlier process may have ended in the middle of a line
            self._recent.begin_anew()
        self._batches = 0

    def __repr__(self) -> str:
        state = "open" if self.is_open else "shut"
        return f"<Journal {self.header.run!r} seq={self.recorder.seq} durable={self._durable[0]} {state}>"

    # --- handing in ------------------------------------------------------------------------------------------------

    def hear(self, record: Record) -> None:
        """Take a record from the recorder: store it, and ring if the writer sleeps."""
        if record[CLASS].fails or self._recent.failure is not None:  # looked at here: it is one event in a dozen
            self._recent.look(record)
        self._records.append(record)
        if self._is_parked:
            self._ring()

    def write_before(self, path: Path, content: bytes) -> None:
        """Queue bytes for the end of a file of the run folder; they are on disk before every event emitted from now on.

        Args:
            path: A file in the run folder, relative to it or absolute, which is cheaper.
            content: Whole lines, so that a reader finds none torn.

        Raises:
            UsageError: The path is not in the run folder, or is the journal's own.
            JournalError: The journal has closed; or the disk has refused, and no more is kept for the last try at the end.
        """
        parts = self._before.get(path)
        place = self._places.find(path) if parts is None else path
        if self._is_closed:
            raise JournalError(str(self.folder), "the journal has closed")
        if self._failure is not None and self.pending_bytes + len(content) > PENDING_BYTES:
            raise self._refusal()
        if parts is None:
            parts = self._before.setdefault(place, [])
        parts.append(content)
        self._held_bytes += len(content)
        self._before_count += 1
        if self._is_parked:
            self._ring()

    def keep_recent(self, why: str) -> bool:
        """Put what the recorder alone knows of the recent past on disk, for `greenroom replay --recent`.

        Failures do that by themselves.

        Args:
            why: What the reader is told.

        Returns:
            Whether there was something that no moment had yet.
        """
        return self._recent.keep(why)

    @property
    def pending_bytes(self) -> int:
        """What is not on disk yet, transcripts included; a guess for events that are not encoded yet."""
        return self._held_bytes + self._in_flight + len(self._records) * self._size

    @property
    def is_open(self) -> bool:
        """Whether new work may be begun: the disk takes what it is given, and not too much is pending."""
        return self._failure is None and not self._is_closed and self.pending_bytes <= PENDING_BYTES

    def check_open(self) -> None:
        """Return if new work may be begun.

        Raises:
            JournalError: It may not, because it could not be put on record; `JournalBusy` if that is for now only.
        """
        if self._failure is not None:
            raise self._refusal()
        if self._is_closed:
            raise JournalError(str(self.folder), "the journal has closed")
        if self.pending_bytes > PENDING_BYTES:
            raise JournalBusy(str(self.folder), f"{self.pending_bytes} bytes wait to be written; try later")

    async def wait_open(self) -> None:
        """Return when new work may be begun: at once, or when what waits is written. Cancelled, it only stops waiting.

        Raises:
            JournalError: The disk refuses, or the journal has closed.
        """
        while self._failure is None and not self._is_closed and self.pending_bytes > PENDING_BYTES:
            await self.commit()
        self.check_open()

    # --- commit points ---------------------------------------------------------------------------------------------

    @property
    def durable_seq(self) -> int:
        """Number of the last event that is durable, in the sense of this journal's durability."""
        return self._durable[0]

    async def wait_durable(self, seq: int) -> None:
        """Return once the event with this number, and all before it, are durable. A commit point.

        Cancelled, it only stops waiting.

        Raises:
            JournalError: The disk refused; nobody knows whether it will ever be durable.
            UsageError: No event has that number yet.
        """
        if seq > self.recorder.seq:
            raise UsageError(f"no event has the number {seq} yet; the last one is {self.recorder.seq}")
        await self._wait((seq, 0))

    async def commit(self) -> None:
        """Return once everything that was handed in so far is durable. A commit point.

        It covers every event that was emitted and every line that went through `write_before`, also a transcript's last
        lines that no event points to. Cancelled, it only stops waiting. Raises `JournalError` as `wait_durable` does.
        """
        await self._wait((self.recorder.seq, self._before_count))

    async def _wait(self, mark: tuple[int, int]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if _covers(self._durable, mark):
            return
        if self._failure is not None:
            raise self._refusal()
        if self._is_closed:
            raise JournalError(str(self.folder), "the journal has closed")
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
        """Return the counters as of now."""
        return JournalStatistics(
            written=self._written[0] + 1 - self._first_seq,
            pending=self.recorder.seq - self._written[0],
            pending_bytes=self.pending_bytes,
            bytes=self._line_bytes,
            batches=self._batches,
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
        """Write, until the journal is closing or the disk refuses."""
        syncing = self._syncing
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                while not self._is_closing and self._failure is None:
                    if syncing.failure is not None:
                        self._fail(syncing.failure)
                    elif syncing.is_due and not self._is_power:
                        syncing.begin(nursery)
                    elif self._records or self._before or self._waiters or syncing.is_due:
                        if not self._waiters:
                            await self._sleep(LINGER_S, is_parked=False)
                        await self._write_batch()
                    else:
                        await self._sleep(syncing.until_s, is_parked=True)
            if self._failure is None and self._files.is_dirty and not self._is_power:
                async with trio.open_nursery() as nursery:
                    syncing.begin(nursery)  # side by side, before what is left is written and synced in one thread

    async def _sleep(self, limit_s: float, *, is_parked: bool) -> None:
        """Sleep until somebody rings: whoever emits, if parked; else only whoever waits for the disk."""
        self._bell = trio.Event()
        self._is_parked = is_parked
        with trio.move_on_after(limit_s):
            await self._bell.wait()
        self._is_parked = False

    async def _write_batch(self) -> None:
        is_sync = self._is_power and (self._syncing.is_due or bool(self._waiters))
        for _ in range(len(self._records) // ENCODED_AT_ONCE):  # not as long as there are some: others may be faster
            self._encode(ENCODED_AT_ONCE)
            await trio.lowlevel.checkpoint()
        mark = (self.recorder.seq, self._before_count)
        try:
            await self._blocking.run(self._hand_over(is_sync=is_sync))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run must learn that its journal has ended
            self._fail(error)
        else:
            self._note_written(mark, is_synced=is_sync)

    def _encode(self, count: int) -> None:
        """Make lines of so many records, the oldest."""
        lines = [*map(self._files.encode, self._records[:count])]
        del self._records[:count]
        self._lines += lines
        self._held_bytes += sum(map(len, lines))

    def _hand_over(self, *, is_sync: bool) -> Callable[[], None]:
        """Take what is pending, in one step; return the blocking call that writes it."""
        self._encode(len(self._records))
        lines, self._lines = self._lines, []
        before, self._before = self._before, {}
        self._in_flight, self._held_bytes = self._held_bytes, 0
        self._out = (before, lines)
        files = self._files

        def write() -> None:
            files.enqueue(before, lines)
            self._out = ({}, [])  # the files hold it now
            files.write()
            if is_sync:
                self._syncing.sync_here()

        return write

    def _note_written(self, mark: tuple[int, int], *, is_synced: bool) -> None:
        self._in_flight = 0
        self._line_bytes = self._files.lines_bytes
        self._batches += 1
        self._written = mark
        written = mark[0] + 1 - self._first_seq
        self._size = self._line_bytes // written if written else GUESSED_BYTES
        if is_synced or not self._is_power:
            self._durable = mark
            for event in [event for event, wanted in self._waiters.items() if _covers(mark, wanted)]:
                del self._waiters[event]
                event.set()

    def _fail(self, error: BaseException) -> None:
        before, lines = self._out  # nothing, unless the call was never made: no thread could be started
        for path, parts in self._before.items():
            before.setdefault(path, []).extend(parts)
        self._lines[:0], self._before, self._out = lines, before, ({}, [])
        self._held_bytes = sum(map(len, self._lines)) + sum(sum(map(len, parts)) for parts in before.values())
        self._in_flight = self._files.queued_bytes
        why = (error.strerror if isinstance(error, OSError) else None) or repr(error)
        self._failure = JournalError(str(self.folder), f"the journal cannot be written: {why}")
        self._failure.__cause__ = error
        waiters, self._waiters = self._waiters, {}
        for event in waiters:
            event.set()

    def _refusal(self) -> JournalError:
        """Make the error for one caller; each gets its own, because a traceback grows with every raise."""
        failure = self._failure or JournalError(str(self.folder), "the journal has closed")
        error = JournalError(failure.where, failure.why)
        error.__cause__ = failure.__cause__
        return error

    # --- the end ---------------------------------------------------------------------------------------------------

    def begin_closing(self) -> None:
        """Let the writer end after the batch that is in flight."""
        self._recent.settle()
        self._is_closing = True
        self._ring()

    @enable_ki_protection
    def finish(self) -> None:
        """Write what is still held, here and now, and sync it. To be called after the writer has ended.

        Raises:
            JournalError: The disk refuses; the text says how much was not written.
        """
        mark = (self.recorder.seq, self._before_count)
        write = self._hand_over(is_sync=True)
        try:
            write()
        except Exception as error:
            self._fail(error)
            missing = self.recorder.seq - self._written[0]
            failure = self._refusal()
            why = f"{failure.why}; {missing} events from number {self._written[0] + 1} on may be missing"
            raise JournalError(failure.where, why) from error
        else:
            self._note_written(mark, is_synced=True)
        finally:
            self._is_closed = True
            self._files.close()


def _covers(done: tuple[int, int], wanted: tuple[int, int]) -> bool:
    return done[0] >= wanted[0] and done[1] >= wanted[1]


def _check(durability: Durability) -> None:
    if durability not in get_args(Durability):
        raise UsageError(f"durability is 'process' or 'power', not {durability!r}")


@asynccontextmanager
async def open_journal(
    folder: Path,
    *,
    ports: Ports,
    catalogue: Iterable[type[Event]] = (),
    recorder: Recorder | None = None,
    run: str | None = None,
    seed: int | None = None,
    choices: str | None = None,
    about: Mapping[str, Any] | None = None,
    durability: Durability = "process",
    lock: Callable[[Path], AbstractContextManager[None]] = hold_run,
) -> AsyncIterator[Journal]:
    """Open the journal of a run folder, a new one or one to go on with; leaving the block writes and syncs everything.

    Open it around the runtime, so that it is first up and last down. No nursery shows: what the body raises leaves bare.

    Args:
        folder: The run folder; made if it is missing. A relative one counts from where the process is now.
        ports: Where time, disk and threads come from. The disk is closed at the end, for all who share it: give it alone.
        catalogue: The event classes that readers will be handed; what could not be read back is refused here.
        recorder: Where events are emitted; by default one is made, and `journal.recorder` is the one to hand on. It has to
            count on from the last event on disk.
        run: The id of a new run; by default the folder's name.
        seed: For the header.
        choices: For the header, as `about`: whatever else it should say.
        about: Plain values by name.
        durability: `process` or `power`.
        lock: Holds the folder against other writers; a test kit whose disk is no file system has its own.

    Raises:
        UsageError: The recorder does not count on from the last event on disk.
        JournalError: Another process writes this run, the folder cannot be written, the journal is damaged or of a newer
            format; at the end, what was still held could not be written.
        InternalError: Two event classes have one kind.
    """
    _check(durability)
    folder, codec, now = whole_path(folder), codec_of(tuple(catalogue)), ports.clock.bind()
    header = Header(
        run=run or folder.name,
        greenroom=__version__,
        python=platform.python_version(),
        trio=trio.__version__,
        seed=seed,
        choices=choices,
        clock=now(),
        started=ports.clock.wall().isoformat(timespec="seconds"),
        about=about or {},
    )
    await ports.blocking.run(make_folder, ports.disk, folder)
    with lock(folder):
        opened = await ports.blocking.run(open_files, ports, folder / JOURNAL, codec, header)
        own = recorder or Recorder(now, first_seq=opened.last_seq + 1)
        if own.seq != opened.last_seq:
            raise UsageError(f"the recorder stands at {own.seq}, and the journal ends at {opened.last_seq}")
        journal = Journal(folder, opened, own, ports, durability)
        async with _written(journal):
            yield journal


@asynccontextmanager
@enable_ki_protection  # of the frames here, not of the body's
async def _written(journal: Journal) -> AsyncIterator[None]:
    """Run the writer around the body; at the end, write what is left."""
    stop_listening = journal.recorder.listen(journal.hear)
    held = Held()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.run, name="greenroom journal")
            with held:
                yield
            journal.begin_closing()
    except BaseExceptionGroup as group:  # from the writer: a bug; or a KeyboardInterrupt that landed in the nursery
        error = bare_interrupt(group) or group
        error.__cause__ = None if held.error is None or is_cancelled(held.error) else held.error
        held.error = error
    finally:
        stop_listening()
        try:
            journal.finish()
        except JournalError as error:
            if held.error is None or is_cancelled(held.error):  # nobody would see the note
                raise
            held.error.add_note(str(error))
    if held.error is not None:
        raise held.error
