"""The order on disk: a killed process leaves a beginning of what it handed in, whatever shared a batch."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import ActorBegan
from greenroom.core import JournalError
from greenroom.trace import JOURNAL, open_journal
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import EVENTS, FOLDER, make_ports, unlocked

HISTORY: Final[list[str]] = json.loads(
    (Path(__file__).resolve().parents[1] / "histories" / "item-ahead-of-its-event.batch").read_text("utf-8")
)["handed_in"]
COMMIT: Final = "commit"
FILES: Final = ("transcripts/main.jsonl", "transcripts/agent-mate-1.jsonl")


class OrderedDisk(MemoryDisk):
    """A disk that keeps the lines of all files in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        """The names of files; a header of the journal is none."""
        self.written = b""
        """All that was written, in order."""

    def append(self, path: Path, content: bytes) -> None:
        before = len(self.files.get(path, b""))
        try:
            super().append(path, content)
        finally:
            self.written += self.files[path][before:]
        name = str(path.relative_to(FOLDER))
        self.lines += [name for line in content.splitlines() if b'"ev"' in line or name != JOURNAL]


async def written(handed_in: Sequence[str]) -> list[str]:
    """Hand in events, lines of files and commits; return the names of the files in the order on disk."""
    disk = OrderedDisk()
    async with open_journal(FOLDER, ports=make_ports(disk), catalog=EVENTS, lock=unlocked) as journal:
        for each in handed_in:
            if each == COMMIT:
                await journal.commit()
            elif each.startswith("transcripts/"):
                journal.write_before(FOLDER / each, b"{}\n")
            else:
                journal.recorder.emit(ActorBegan(actor="a1", inc=1))
    return disk.lines


def between_events(names: Sequence[str]) -> list[dict[str, int]]:
    """Return how many lines of each file stand between two events: their order among themselves makes no difference."""
    groups: list[dict[str, int]] = [{}]
    for name in names:
        if name == JOURNAL:
            groups.append({})
        else:
            groups[-1][name] = groups[-1].get(name, 0) + 1
    return groups


@pytest.mark.promise("R7-order")
@settings(max_examples=60)
@example(HISTORY)
@given(st.lists(st.sampled_from(["event", "event", COMMIT, *FILES]), max_size=20))
def test_everything_is_written_in_the_order_handed_in(handed_in: list[str]) -> None:
    """A line never precedes the events before it, nor follows those after it."""
    names = [each if each in FILES else JOURNAL for each in handed_in if each != COMMIT]

    found = trio.run(written, handed_in, clock=MockClock(autojump_threshold=0))

    assert between_events(found) == between_events(names)


@pytest.mark.promise("R7-order")
@settings(max_examples=40)
@example(["event", FILES[0], "event", FILES[0], "event"], 150)
@given(st.lists(st.sampled_from(["event", COMMIT, *FILES]), max_size=12), st.integers(0, 400))
def test_a_disk_that_fills_up_in_a_batch_goes_on_where_it_stopped(handed_in: list[str], room_bytes: int) -> None:
    """Whatever was written when it was full, each file gets its bytes in order and once, in the order of all files."""
    whole, filled = OrderedDisk(), OrderedDisk()

    async def run(disk: OrderedDisk, room: float) -> None:
        async with open_journal(FOLDER, ports=make_ports(disk), catalog=EVENTS, lock=unlocked) as journal:
            await journal.commit()
            disk.room_bytes = room
            for number, each in enumerate(handed_in):
                if each == COMMIT:
                    with suppress(JournalError):
                        await journal.commit()
                elif each == "event":
                    journal.recorder.emit(ActorBegan(actor="a1", inc=number + 1))
                else:
                    journal.write_before(FOLDER / each, b"%d\n" % number)
            with suppress(JournalError):
                await journal.commit()
            disk.room_bytes = float("inf")

    for disk, room in ((whole, float("inf")), (filled, room_bytes)):
        trio.run(run, disk, room, clock=MockClock(autojump_threshold=0))

    assert bytes_in_order(filled) == bytes_in_order(whole)


def bytes_in_order(disk: OrderedDisk) -> bytes:
    """Return all that was written, without the times of events."""
    return re.sub(rb'"t":[0-9.e-]+', b"", disk.written)
