"""The writer: what is on disk when it says so, in which order, and what becomes of it when the disk refuses."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import ActorBegan
from greenroom.core import JournalBusy, JournalError, Recorder, UsageError
from greenroom.core.ports import InlineBlocking, Ports, SystemDisk
from greenroom.session import SessionBegan
from greenroom.supervisor import Runtime
from greenroom.trace import JOURNAL, Journal, check_journal, fold, open_journal, read_journal
from greenroom.trace._journal import ENCODED_AT_ONCE, RETRY_S
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import EVENTS, FOLDER, FOLDS, make_ports, run_journal, together, unlocked, work

FILE: Final = FOLDER / JOURNAL
TRANSCRIPT: Final = Path("transcripts/main.jsonl")
BEGAN: Final = ActorBegan(actor="a1", inc=1)


def written(disk: MemoryDisk, path: Path = FILE) -> list[dict[str, Any]]:
    """Return the lines of a file, without the header if it is the journal."""
    lines = [orjson.loads(line) for line in disk.files[path].splitlines()]
    return lines[1:] if path == FILE else lines


def numbers(disk: MemoryDisk) -> list[int]:
    return [line["seq"] for line in written(disk)]


def opened(disk: MemoryDisk, **options: Any) -> Any:
    return open_journal(FOLDER, ports=make_ports(disk), catalog=EVENTS, lock=unlocked, **options)


def told(error: BaseException) -> str:
    """Return what an error says, notes included."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])


# --- what is written --------------------------------------------------------------------------------------------------


async def test_every_event_is_on_disk_when_the_block_is_left(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async with opened(disk) as journal:
        for _ in range(1_000):
            journal.recorder.emit(BEGAN)

    assert numbers(disk) == list(range(1, 1_001))
    assert disk.calls[-1] == ("sync", FILE)
    assert journal.statistics().written == 1_000
    assert journal.statistics().pending == 0


async def test_a_durable_event_is_on_disk(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        seq = journal.recorder.emit(BEGAN)
        assert numbers(disk) == []

        await journal.wait_durable(seq)

        assert numbers(disk) == [1]
        assert journal.durable_seq == 1
        await journal.wait_durable(seq)  # at once


async def test_events_that_nobody_waits_for_are_gathered(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        for _ in range(50):
            journal.recorder.emit(BEGAN)
            await trio.lowlevel.checkpoint()
        await trio.sleep(0.1)

        assert len(numbers(disk)) == 50
        assert journal.statistics().batches <= 2


async def test_a_long_batch_lets_others_go_on_while_it_is_encoded(autojump_clock: MockClock) -> None:
    disk, steps = MemoryDisk(), 0

    async def step() -> None:
        nonlocal steps
        while True:
            await trio.lowlevel.checkpoint()
            steps += 1

    async with opened(disk) as journal, trio.open_nursery() as nursery:
        for _ in range(4 * ENCODED_AT_ONCE):
            journal.recorder.emit(ActorBegan(actor="a1", inc=1))
        seq = journal.recorder.seq
        nursery.start_soon(step)
        await journal.wait_durable(seq)
        nursery.cancel_scope.cancel()

        assert steps >= 4
        assert [line["seq"] for line in written(disk)] == list(range(1, seq + 1))


async def test_those_who_wait_share_a_batch(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk, durability="power") as journal, trio.open_nursery() as nursery:

        async def commit() -> None:
            await journal.wait_durable(journal.recorder.emit(BEGAN))

        for _ in range(100):
            nursery.start_soon(commit)

    assert journal.statistics().syncs <= 4
    assert len(numbers(disk)) == 100


async def test_nobody_can_wait_for_an_event_that_does_not_exist(autojump_clock: MockClock) -> None:
    async with opened(MemoryDisk()) as journal:
        with pytest.raises(UsageError):
            await journal.wait_durable(1)


async def test_a_cancelled_wait_only_stops_waiting(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        seq = journal.recorder.emit(BEGAN)
        with trio.CancelScope() as scope:
            scope.cancel()
            await journal.wait_durable(seq)

        assert journal.statistics().waiting == 0
    assert numbers(disk) == [1]


# --- durability -------------------------------------------------------------------------------------------------------


async def test_for_a_process_nothing_is_synced_before_a_second_has_passed(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk, durability="process") as journal:
        await journal.wait_durable(journal.recorder.emit(BEGAN))
        assert ("sync", FILE) not in disk.calls

        await trio.sleep(1.1)

        assert disk.calls.count(("sync", FILE)) == 1
        await trio.sleep(100)
        assert disk.calls.count(("sync", FILE)) == 1  # nothing new, nothing to sync


@attrs.define
class SlowDevice(InlineBlocking):  # type: ignore[misc]  # final, but a test needs a gate in it
    """Writes at once, and holds every sync back until the gate is open."""

    gate: trio.Event = attrs.field(factory=trio.Event)
    began: int = 0

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if getattr(function, "__name__", "") == "sync":
            self.began += 1
            await self.gate.wait()
        return function(*args, **kwargs)


async def test_nobody_waits_for_a_device_that_a_process_does_not_need(autojump_clock: MockClock) -> None:
    disk, blocking = MemoryDisk(), SlowDevice()
    async with open_journal(FOLDER, ports=attrs.evolve(make_ports(disk), blocking=blocking), lock=unlocked) as journal:
        journal.recorder.emit(BEGAN)
        await trio.sleep(2)
        assert blocking.began == 1

        with trio.fail_after(0.1):
            await journal.wait_durable(journal.recorder.emit(BEGAN))
        await trio.sleep(5)
        assert blocking.began == 1  # one at a time
        blocking.gate.set()
        await trio.sleep(100)

        assert blocking.began == 2
        assert disk.calls[-1] == ("sync", FILE)
        assert journal.statistics().syncs == 2


async def test_a_sync_that_fails_beside_the_batches_ends_the_journal(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async def body() -> None:
        async with opened(disk) as journal:
            disk.refuses_sync = True
            await journal.wait_durable(journal.recorder.emit(BEGAN))
            await trio.sleep(2)
            disk.refuses_sync = False
            with pytest.raises(JournalError, match="Input/output error"):
                journal.check_open()
            with pytest.raises(JournalError):
                await journal.wait_durable(journal.recorder.emit(BEGAN))

    with pytest.raises(JournalError, match="Input/output error"):
        await body()


async def test_against_a_power_cut_a_commit_point_is_synced_and_nothing_else(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk, durability="power") as journal:
        journal.recorder.emit(BEGAN)
        await trio.sleep(0.1)
        assert numbers(disk) == [1]
        assert journal.durable_seq == 0

        await journal.commit()

        assert disk.calls[-1] == ("sync", FILE)
        assert journal.durable_seq == 1


# --- transcripts before the lines that point into them ----------------------------------------------------------------


async def test_a_transcript_is_written_before_the_event_that_points_into_it(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk, durability="power") as journal:
        for number in range(20):
            journal.write_before(TRANSCRIPT, b"%d\n" % number)
            journal.recorder.emit(BEGAN)
            if number % 3 == 0:
                await journal.wait_durable(journal.recorder.seq)

    appends = [path for name, path in disk.calls if name == "append"]
    assert disk.files[FOLDER / TRANSCRIPT] == b"".join(b"%d\n" % number for number in range(20))
    assert appends == [FOLDER / TRANSCRIPT, FILE] * (len(appends) // 2)
    syncs = [path for name, path in disk.calls if name == "sync"]
    assert syncs[:2] == [FOLDER / TRANSCRIPT, FILE]


async def test_a_commit_covers_a_transcript_without_an_event(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        journal.write_before(FOLDER / TRANSCRIPT, b"hello\n")

        await journal.commit()

        assert disk.files[FOLDER / TRANSCRIPT] == b"hello\n"


@pytest.mark.parametrize("path", ["../elsewhere", "/etc/passwd", "tasks/../../x", JOURNAL, "run/../journal.jsonl"])
async def test_bytes_go_nowhere_but_into_the_run_folder(path: str, autojump_clock: MockClock) -> None:
    async with opened(MemoryDisk()) as journal:
        for place in (Path(path), FOLDER / path):
            with pytest.raises(UsageError):
                journal.write_before(place, b"x\n")


# --- how the block ends -----------------------------------------------------------------------------------------------


async def test_the_error_of_the_body_leaves_bare(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async def body() -> None:
        async with opened(disk) as journal:
            journal.recorder.emit(BEGAN)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await body()
    assert numbers(disk) == [1]


def test_a_keyboard_interrupt_of_the_body_leaves_bare_and_loses_nothing() -> None:
    disk = MemoryDisk()

    async def main() -> None:
        async with opened(disk) as journal:
            journal.recorder.emit(BEGAN)
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert numbers(disk) == [1]


@pytest.mark.parametrize("own", [None, ValueError("mine")])
def test_a_keyboard_interrupt_while_the_last_batch_is_written_leaves_bare(own: ValueError | None) -> None:
    """It lands in the nursery that waits for the writer."""

    class Interrupted(InlineBlocking):  # type: ignore[misc]  # final, but a test strikes in it
        is_armed = False

        async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if self.is_armed:
                self.is_armed = False
                await trio.sleep(1)
                signal.raise_signal(signal.SIGINT)
                await trio.sleep(1)  # until it has landed
            return await super().run(function, *args, **kwargs)

    disk, blocking = MemoryDisk(), Interrupted()

    async def main() -> None:
        ports = attrs.evolve(make_ports(disk), blocking=blocking)
        async with open_journal(FOLDER, ports=ports, lock=unlocked) as journal:
            journal.recorder.emit(BEGAN)
            blocking.is_armed = True
            await trio.sleep(0.1)  # the batch is out
            if own is not None:
                raise own

    with pytest.raises(KeyboardInterrupt) as caught:
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert caught.value.__cause__ is own
    assert numbers(disk) == [1]


def test_a_keyboard_interrupt_is_not_hidden_by_a_lost_journal() -> None:
    disk = MemoryDisk()

    class Interrupted(InlineBlocking):  # type: ignore[misc]  # final, but a test strikes in it
        async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if disk.room_bytes == 0:
                await trio.sleep(1)
                signal.raise_signal(signal.SIGINT)
                await trio.sleep(1)
            return await super().run(function, *args, **kwargs)

    async def main() -> None:
        ports = attrs.evolve(make_ports(disk), blocking=Interrupted())
        async with open_journal(FOLDER, ports=ports, lock=unlocked) as journal:
            disk.room_bytes = 0
            journal.recorder.emit(BEGAN)
            await trio.sleep(0.1)

    with pytest.raises(KeyboardInterrupt) as caught:
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert "1 events from number 1" in told(caught.value)


async def test_under_cancellation_everything_is_written(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    with trio.CancelScope() as scope:
        async with opened(disk) as journal:
            try:
                scope.cancel()
                await trio.sleep_forever()
            finally:
                for _ in range(100):
                    journal.recorder.emit(BEGAN)

    assert scope.cancelled_caught
    assert len(numbers(disk)) == 100


async def test_a_closed_journal_takes_nothing_more(autojump_clock: MockClock) -> None:
    async with opened(MemoryDisk()) as journal:
        pass

    assert not journal.is_open
    for call in (journal.check_open, lambda: journal.write_before(TRANSCRIPT, b"late\n")):
        with pytest.raises(JournalError):
            call()
    journal.recorder.emit(BEGAN)
    with pytest.raises(JournalError):
        await journal.commit()


# --- a disk that refuses ----------------------------------------------------------------------------------------------


async def test_a_refusal_shuts_intake_and_reaches_who_waits(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async def body() -> None:
        async with opened(disk) as journal:
            journal.check_open()
            disk.room_bytes = 10
            seq = journal.recorder.emit(BEGAN)
            for _ in range(2):
                with pytest.raises(JournalError):
                    await journal.wait_durable(seq)
                with pytest.raises(JournalError):
                    journal.check_open()
            assert not journal.is_open
            assert journal.durable_seq == 0
            journal.recorder.emit(BEGAN)

    with pytest.raises(JournalError) as caught:
        await body()
    assert "No space left" in str(caught.value)
    assert "2 events from number 1 on" in str(caught.value)


@pytest.mark.parametrize("room_bytes", range(0, 200, 7))
async def test_after_a_refusal_nothing_is_lost_or_written_twice(room_bytes: int, autojump_clock: MockClock) -> None:
    """The disk takes a part, refuses, and has room again when the run ends: the rest goes where the part stopped."""
    disk = MemoryDisk()
    async with opened(disk) as journal:
        journal.recorder.emit(BEGAN)
        await journal.commit()
        disk.room_bytes = room_bytes
        for number in range(10):
            journal.write_before(TRANSCRIPT, b"line %d\n" % number)
            journal.recorder.emit(BEGAN)
            with suppress(JournalError):
                await journal.commit()
        disk.room_bytes = float("inf")

    assert numbers(disk) == list(range(1, 12))
    assert disk.files[FOLDER / TRANSCRIPT] == b"".join(b"line %d\n" % number for number in range(10))


@pytest.mark.parametrize("room_bytes", range(0, 160, 16))
async def test_files_that_were_forgotten_lose_nothing_in_a_refusal(
    room_bytes: int, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of very many agents appends to more files than are remembered."""
    monkeypatch.setattr("greenroom.trace._journal_files.MAX_FILES", 1)
    disk = MemoryDisk()
    files = [FOLDER / "transcripts" / name for name in ("a.jsonl", "b.jsonl")]
    async with opened(disk) as journal:
        disk.room_bytes = room_bytes
        for number in range(6):
            for file in files:
                journal.write_before(file, b"line %d\n" % number)
            with suppress(JournalError):
                await journal.commit()
        disk.room_bytes = float("inf")

    assert {disk.files[file] for file in files} == {b"".join(b"line %d\n" % number for number in range(6))}


async def test_intake_opens_again_when_the_disk_has_room(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        disk.room_bytes = 10
        refused = journal.recorder.emit(BEGAN)
        with pytest.raises(JournalError):
            await journal.wait_durable(refused)
        await trio.sleep(3 * RETRY_S)
        assert not journal.is_open
        disk.room_bytes = float("inf")
        await trio.sleep(2 * RETRY_S)

        journal.check_open()
        await journal.wait_durable(refused)
        await journal.wait_durable(journal.recorder.emit(BEGAN))
        assert numbers(disk) == [1, 2]


async def test_what_an_earlier_process_left_in_a_transcript_is_not_taken_for_ours(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    disk.files[FOLDER / TRANSCRIPT] = b"line\n" * 3
    async with opened(disk) as journal:
        disk.room_bytes = 0
        journal.write_before(TRANSCRIPT, b"line\n" * 2)
        with pytest.raises(JournalError):
            await journal.commit()
        disk.room_bytes = float("inf")

    assert disk.files[FOLDER / TRANSCRIPT] == b"line\n" * 5


async def test_a_refused_sync_is_never_forgotten(autojump_clock: MockClock) -> None:
    """A system may drop what it could not sync, and say yes the next time."""
    disk = MemoryDisk()

    async def body() -> None:
        async with opened(disk, durability="power") as journal:
            journal.recorder.emit(BEGAN)
            disk.refuses_sync = True
            with pytest.raises(JournalError):
                await journal.commit()
            disk.refuses_sync = False

    with pytest.raises(JournalError):
        await body()


async def test_a_lost_journal_is_told_with_the_error_of_the_body(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async def body() -> None:
        async with opened(disk) as journal:
            disk.room_bytes = 0
            journal.recorder.emit(BEGAN)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        await body()
    assert "1 events from number 1" in told(caught.value)


async def test_a_lost_journal_is_told_although_the_body_was_cancelled(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async def body(scope: trio.CancelScope) -> None:
        async with opened(disk) as journal:
            disk.room_bytes = 0
            journal.recorder.emit(BEGAN)
            scope.cancel()
            await trio.sleep_forever()

    with trio.CancelScope() as scope, pytest.raises(JournalError):
        await body(scope)


@attrs.define
class SlowBlocking(InlineBlocking):  # type: ignore[misc]  # final, but a test needs a gate in it
    """Holds every call back until it is opened."""

    gate: trio.Event = attrs.field(factory=trio.Event)

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        await self.gate.wait()
        return function(*args, **kwargs)


async def test_too_much_that_waits_shuts_intake_until_it_is_written(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    blocking = SlowBlocking()
    blocking.gate.set()
    ports = attrs.evolve(make_ports(disk), blocking=blocking)
    async with open_journal(FOLDER, ports=ports, lock=unlocked) as journal:
        blocking.gate = trio.Event()
        journal.write_before(TRANSCRIPT, bytes(17 * 1024 * 1024))
        assert not journal.is_open
        with pytest.raises(JournalError):
            journal.check_open()
        await trio.sleep(1)  # in flight, and still pending
        assert not journal.is_open

        blocking.gate.set()
        await journal.commit()

        journal.check_open()


async def test_new_work_can_wait_for_what_is_to_be_written(autojump_clock: MockClock) -> None:
    blocking = SlowBlocking()
    blocking.gate.set()
    async with open_journal(
        FOLDER, ports=attrs.evolve(make_ports(MemoryDisk()), blocking=blocking), lock=unlocked
    ) as journal:
        await journal.wait_open()
        blocking.gate = trio.Event()
        journal.write_before(TRANSCRIPT, bytes(17 * 1024 * 1024))
        with pytest.raises(JournalBusy):
            journal.check_open()
        with trio.move_on_after(1) as scope:
            await journal.wait_open()
        assert scope.cancelled_caught

        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.wait_open)
            await trio.sleep(1)
            blocking.gate.set()

        journal.check_open()


async def test_who_waits_for_a_disk_that_refuses_is_told(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    async def body() -> None:
        async with opened(disk) as journal:
            disk.room_bytes = 0
            journal.write_before(TRANSCRIPT, bytes(17 * 1024 * 1024))
            with pytest.raises(JournalError, match="No space left"):
                await journal.wait_open()

    with pytest.raises(JournalError):
        await body()


@attrs.define
class LateBlocking(InlineBlocking):  # type: ignore[misc]  # final, but a test needs a gate in it
    """Does each call at once and comes back when the gate is open: a thread that has written, and waits for the disk."""

    gate: trio.Event = attrs.field(factory=trio.Event)

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        await self.gate.wait()
        return result


async def test_a_burst_on_a_slow_disk_is_no_reason_to_shut_intake(autojump_clock: MockClock) -> None:
    """While a batch was out, all of its bytes once counted as the size of the few lines that had been written."""
    blocking = LateBlocking()
    blocking.gate.set()
    ports = attrs.evolve(make_ports(MemoryDisk()), blocking=blocking)
    async with open_journal(FOLDER, ports=ports, lock=unlocked) as journal:
        await journal.wait_durable(journal.recorder.emit(BEGAN))
        size = journal.statistics().bytes
        blocking.gate = trio.Event()
        for _ in range(2_000):
            journal.recorder.emit(BEGAN)
        await trio.sleep(1)  # in flight
        for _ in range(2_000):
            journal.recorder.emit(BEGAN)

        assert journal.statistics().bytes == size
        assert journal.pending_bytes <= 4_000 * 2 * size
        journal.check_open()
        blocking.gate.set()


async def test_after_a_refusal_no_more_is_kept_than_what_may_be_pending(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    part = bytes(1024 * 1024)
    async with opened(disk) as journal:
        disk.room_bytes = 0
        taken = 0
        with pytest.raises(JournalError, match="No space left"):
            while taken < 100:
                journal.write_before(TRANSCRIPT, part)
                taken += 1
                with suppress(JournalError):
                    await journal.commit()
        assert taken == 16
        assert journal.pending_bytes == taken * len(part)
        with pytest.raises(JournalError):
            journal.write_before(TRANSCRIPT, b"x")
        disk.room_bytes = float("inf")

    assert disk.files[FOLDER / TRANSCRIPT] == part * taken, "what was taken is written, what was refused is not"


async def test_what_no_thread_could_be_found_for_is_written_at_the_end(autojump_clock: MockClock) -> None:
    class NoThread(InlineBlocking):  # type: ignore[misc]  # final, but a test needs it to fail
        is_exhausted = False

        async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if self.is_exhausted:
                raise RuntimeError("can't start new thread")
            return await super().run(function, *args, **kwargs)

    disk, blocking = MemoryDisk(), NoThread()
    async with open_journal(FOLDER, ports=attrs.evolve(make_ports(disk), blocking=blocking), lock=unlocked) as journal:
        blocking.is_exhausted = True
        journal.write_before(TRANSCRIPT, b"one\n")
        with pytest.raises(JournalError, match="new thread"):
            await journal.wait_durable(journal.recorder.emit(BEGAN))
        journal.write_before(TRANSCRIPT, b"two\n")
        journal.recorder.emit(BEGAN)

    assert numbers(disk) == [1, 2]
    assert disk.files[FOLDER / TRANSCRIPT] == b"one\ntwo\n"


async def test_events_wait_outside_the_ring(autojump_clock: MockClock) -> None:
    """A small ring overwrites; the journal has its own list."""
    disk = MemoryDisk()
    ports = make_ports(disk)
    recorder = Recorder(ports.clock.bind(), capacity=4)
    async with open_journal(FOLDER, ports=ports, recorder=recorder, lock=unlocked):
        for _ in range(100):
            recorder.emit(BEGAN)
    assert len(numbers(disk)) == 100


# --- going on with a journal ------------------------------------------------------------------------------------------


async def test_a_journal_is_resumed(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk, run="first", seed=7) as journal:
        journal.recorder.emit(BEGAN)
        await trio.sleep(2.5)
        journal.recorder.emit(BEGAN)
        assert not journal.was_reopened
    header = disk.files[FILE].splitlines()[0]
    await trio.sleep(1_000)

    async with opened(disk, run="second") as journal:
        assert (journal.was_reopened, journal.header.run, journal.header.seed) == (True, "first", 7)
        assert journal.recorder.emit(BEGAN) == 3
        await journal.wait_durable(3)

    assert disk.files[FILE].splitlines()[0] == header
    assert [(line["seq"], line["t"]) for line in written(disk)] == [(1, 0.0), (2, 2.5), (3, 2.5)]


async def test_going_on_cuts_a_torn_tail(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        for _ in range(3):
            journal.recorder.emit(BEGAN)
    whole = disk.files[FILE]
    for end in range(whole.index(b"\n"), len(whole)):
        disk.files[FILE] = whole[:end]
        async with opened(disk) as journal:
            journal.recorder.emit(BEGAN)

        last = whole[:end].count(b"\n")  # a header alone, or none, leaves no event
        assert numbers(disk) == list(range(1, max(last, 1) + 1))


async def test_an_unknown_durability_is_refused(autojump_clock: MockClock) -> None:
    with pytest.raises(UsageError):
        async with opened(MemoryDisk(), durability="forever"):
            pass


async def test_a_recorder_that_counts_differently_is_refused(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        journal.recorder.emit(BEGAN)
    with pytest.raises(UsageError):
        async with opened(disk, recorder=Recorder(lambda: 0.0)):
            pass


@pytest.mark.parametrize(
    "content",
    [b"not a journal\n", b"{}\n", b'{"v":2,"run":"x"}\n', b'{"v":0,"run":"x"}\n', b'{"v":1}\n', b"[1]\n", b"\n\n"],
)
async def test_what_is_no_journal_of_ours_is_left_alone(content: bytes, autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    disk.files[FILE] = content
    with pytest.raises(JournalError):
        async with opened(disk):
            pass
    assert disk.files[FILE] == content


async def test_a_damaged_last_line_is_not_resumed(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    async with opened(disk) as journal:
        journal.recorder.emit(BEGAN)
    disk.files[FILE] += b"{}\n"
    with pytest.raises(JournalError):
        async with opened(disk):
            pass


# --- whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["process", "power"])
def test_two_runs_from_the_same_choices_are_equal_byte_for_byte(durability: str) -> None:
    async def scenario(runtime: Runtime, journal: Journal) -> None:
        await work(runtime)
        journal.write_before(TRANSCRIPT, b"{}\n")
        await journal.commit()
        await together(runtime)

    disks = MemoryDisk(), MemoryDisk()
    first, second = (run_journal(scenario, disk) for disk in disks)

    assert first == second
    assert disks[0].files == disks[1].files
    assert len(first) > 10_000


def test_the_journal_of_a_run_holds_what_the_recorder_emitted() -> None:
    seen: list[int] = []

    async def scenario(runtime: Runtime, journal: Journal) -> None:
        journal.recorder.listen(lambda record: seen.append(record[0]))
        await work(runtime)

    disk = MemoryDisk()
    run_journal(scenario, disk)

    text = read_journal(FILE, EVENTS, disk=disk)
    assert [entry.seq for entry in text.entries][-len(seen) :] == seen
    assert check_journal(text.entries, folds=FOLDS) == []
    assert not fold(text.entries, FOLDS).faults


# --- the real disk ----------------------------------------------------------------------------------------------------

CHILD: Final = """
import sys, trio
from pathlib import Path
from greenroom.actors import ActorBegan
from greenroom.core.ports import Ports
from greenroom.trace import open_journal

async def main():
    async with open_journal(Path(sys.argv[1]), ports=Ports()) as journal:
        while True:
            journal.write_before(Path("transcripts/main.jsonl"), b"{}\\n" * 50)
            for _ in range(50):
                seq = journal.recorder.emit(ActorBegan(actor="a1", inc=1))
            await journal.wait_durable(seq)
            print(seq, flush=True)

trio.run(main)
"""


def start_child(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CHILD, str(folder)], stdout=subprocess.PIPE, text=True)


def test_kill_9_loses_nothing_that_was_reported_as_durable(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    child = start_child(folder)
    try:
        assert child.stdout is not None
        reported = [int(child.stdout.readline()) for _ in range(20)][-1]
    finally:
        child.send_signal(signal.SIGKILL)
        assert child.stdout is not None
        rest = child.stdout.read().splitlines()
        child.stdout.close()
        child.wait(5)

    text = read_journal(folder / JOURNAL, EVENTS)
    reported = int(rest[-1]) if rest else reported
    assert text.entries[-1].seq >= reported
    assert [entry.seq for entry in text.entries] == list(range(1, len(text.entries) + 1))
    # What the journal points into was there before it.
    assert (folder / TRANSCRIPT).read_bytes().count(b"\n") >= len(text.entries)


async def test_a_run_has_one_writer(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    child = start_child(folder)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(JournalError) as caught:
            async with open_journal(folder, ports=Ports(blocking=InlineBlocking())):
                pass
        assert str(child.pid) in caught.value.why
    finally:
        child.kill()
        child.wait(5)
        assert child.stdout is not None
        child.stdout.close()

    async with open_journal(folder, ports=Ports(blocking=InlineBlocking())) as journal:  # the dead hold nothing
        assert journal.was_reopened
        with pytest.raises(JournalError):
            async with open_journal(folder, ports=Ports(blocking=InlineBlocking())):
                pass


async def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "run"
    async with open_journal(folder, ports=Ports()) as journal:
        journal.write_before(TRANSCRIPT, b"{}\n")
        journal.recorder.emit(SessionBegan(session="s", model="m", cwd="."))
        await journal.commit()

    modes = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    assert modes == {
        "journal.jsonl": 0o600,
        "run.lock": 0o600,
        "transcripts": 0o700,
        "transcripts/main.jsonl": 0o600,
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)  # noqa: ASYNC240 - one call, in a test
    with pytest.raises(JournalError):
        async with open_journal(tmp_path / "run", ports=Ports()):
            pass


async def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.touch()
    with pytest.raises(JournalError):
        async with open_journal(place, ports=Ports(disk=SystemDisk())):
            pass
