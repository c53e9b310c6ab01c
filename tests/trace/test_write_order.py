"""The order on disk: a killed process leaves a beginning of what it handed in, whatever shared a batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import ActorBegan
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

    def append(self, path: Path, content: bytes) -> None:
        super().append(path, content)
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
