"""The gateway's journal: what is durable, what a start finds, and what becomes of a damaged one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from trio.testing import MockClock

from greenroom.core import IllegalTransition, JournalError
from greenroom.gateway.record._archive_names import archived_transcript, journal_name, outdated_journals, transcript_of
from greenroom.gateway.record._gateway_events import EVENTS, GatewaySnapshot
from greenroom.gateway.record._gateway_journal import open_gateway_journal
from greenroom.gateway.record._run_events import RunBegan
from greenroom.trace import JOURNAL, read_journal
from tests.gateway.record.histories import START, ended, registered
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, make_ports, unlocked

FILE: Final = FOLDER / JOURNAL
HISTORY: Final = (*START, registered(), RunBegan(at_s=1e9 + 1, run="r1"), ended())
NOON: Final = datetime(2026, 11, 22, 7, 31, 5, 123_000, UTC)


def opened(disk: MemoryDisk, **options: Any) -> Any:
    return open_gateway_journal(FOLDER, ports=make_ports(disk), lock=unlocked, **options)


async def a_day(disk: MemoryDisk) -> dict[str, Any]:
    """Record the history, and return what it adds up to."""
    async with opened(disk) as record:
        await record.write(*HISTORY)
        snapshot: dict[str, Any] = record.registry.snapshot()
        return snapshot


async def test_a_start_finds_what_was_recorded(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    before = await a_day(disk)

    async with opened(disk) as record:
        assert record.registry.snapshot() == before
        assert (record.kept, record.damaged_lines) == ("", 0)


@pytest.mark.promise("A5-e")
async def test_an_impossible_event_is_not_written(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    await a_day(disk)
    content = disk.files[FILE]

    async with opened(disk) as record:
        with pytest.raises(IllegalTransition):
            await record.write(ended())

    assert disk.files[FILE] == content


async def test_nothing_is_reported_as_durable_on_a_full_disk(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()

    with pytest.raises(JournalError):
        async with opened(disk) as record:
            disk.room_bytes = 10
            await record.write(*HISTORY)


@pytest.mark.promise("A5-f")
async def test_a_torn_last_line_is_as_if_it_had_never_been(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    await a_day(disk)
    *rest, last = disk.files[FILE].splitlines(keepends=True)
    disk.files[FILE] = b"".join(rest) + last[: len(last) // 2]

    async with opened(disk) as record:
        assert record.damaged_lines == 0
        assert not record.registry.runs["r1"].is_ended
        await record.write(HISTORY[-1])

    assert disk.files[FILE].count(b"\n") == len(rest) + 1
    assert list(disk.files) == [FILE]


@pytest.mark.promise("A5-f")
@pytest.mark.parametrize("line", range(6))
async def test_a_journal_that_is_damaged_inside_is_put_aside(line: int, autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    await a_day(disk)
    lines = disk.files[FILE].splitlines(keepends=True)
    lines[line] = b"\x00" * 10 + b"\n"
    disk.files[FILE] = damaged = b"".join(lines)

    async with opened(disk) as record:
        assert record.damaged_lines > 0
        assert disk.files[FOLDER / record.kept] == damaged
        state = record.registry.snapshot()
    async with opened(disk) as record:
        assert (record.damaged_lines, record.registry.snapshot()) == (0, state)

    entries = read_journal(FILE, EVENTS, disk=disk).entries
    assert [entry.kind for entry in entries] == ["gateway.snapshot"]
    assert entries[0]["former"] == "journal.jsonl.damaged.2026-11-21T12-00-00.000Z"


async def test_a_long_journal_begins_anew_with_its_state(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    before = await a_day(disk)
    whole = disk.files[FILE]

    async with opened(disk, rotate_bytes=100) as record:
        assert record.damaged_lines == 0
        assert disk.files[FOLDER / record.kept] == whole
        assert record.registry.snapshot() == before
        await record.write(registered("r2"))
        after = record.registry.snapshot()
    async with opened(disk) as record:
        assert record.registry.snapshot() == after

    former = read_journal(
        FOLDER / journal_name(datetime(2026, 11, 21, 12, tzinfo=UTC), is_damaged=False), EVENTS, disk=disk
    )
    entries = read_journal(FILE, EVENTS, disk=disk).entries
    assert isinstance(entries[0].event, GatewaySnapshot)
    assert [entry.seq for entry in (*former.entries, *entries)] == [*range(1, len(HISTORY) + 3)]


async def test_a_second_former_journal_of_a_second_has_another_name(autojump_clock: MockClock) -> None:
    disk = MemoryDisk()
    await a_day(disk)

    kept = set()
    for _ in range(3):
        async with opened(disk, rotate_bytes=0) as record:
            kept.add(record.kept)

    assert len(kept) == 3


async def test_a_process_that_ends_during_the_new_beginning_loses_nothing(autojump_clock: MockClock) -> None:
    class DyingDisk(MemoryDisk):
        writes = 1

        def write(self, path: Any, content: bytes) -> None:
            if self.writes == 0:
                raise KeyboardInterrupt
            self.writes -= 1
            super().write(path, content)

    for writes in range(2):
        disk = DyingDisk()
        before = await a_day(disk)
        disk.writes = writes
        with pytest.raises(KeyboardInterrupt):
            async with opened(disk, rotate_bytes=0):
                pass
        disk.writes = 100

        async with opened(disk, rotate_bytes=0) as record:
            assert record.registry.snapshot() == before


@pytest.mark.promise("A12-f")
def test_an_archived_transcript_never_takes_a_name_that_is_in_use() -> None:
    taken: set[str] = set()
    for _ in range(3):
        taken.add(archived_transcript("main.jsonl", NOON, taken))

    stem = "main.jsonl.deleted.2026-11-22T07-31-05.123Z"
    assert taken == {stem, f"{stem}-2", f"{stem}-3"}
    assert {transcript_of(name) for name in taken} == {"main.jsonl"}


def test_former_journals_are_outdated_after_a_week_and_damaged_ones_stay() -> None:
    names = [journal_name(NOON, is_damaged=is_damaged) for is_damaged in (False, True)]
    others = ["journal.jsonl", "journal.jsonl.old", "recent.jsonl", f"{names[0]}-2"]

    found = outdated_journals([*names, *others], NOON + timedelta(days=8))

    assert found == [names[0], f"{names[0]}-2"]
    assert outdated_journals(names, NOON + timedelta(days=6)) == []
