"""Opening and resuming a transcript of 50 MB, against a loop that only parses its lines; and the memory that it takes.

The peer reads the whole file: `orjson.loads` line by line, each result dropped at once.
"""

from __future__ import annotations

import itertools
import tempfile
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import Target, cpu_seconds, print_figures, report, run_group
from greenroom.agents import encode_message, load_conversation
from greenroom.core.ports import SeededIds, SystemDisk
from greenroom.models import Message, TextBlock, ToolResultBlock, ToolUseBlock
from greenroom.store import RESUMED_BYTES, Transcript, TranscriptHeader
from greenroom.store._transcript_reader import read_transcript

MEGABYTE = 1_000_000
SIZE_BYTES = 50 * MEGABYTE
ROUNDS_OF_A_TURN = 20
PARSE = "orjson.loads, line by line"
OPEN = "open: every line"
RESUME = "resume: a conversation to go on with"
COMPACTED = "resume, compacted at 40 MB"
WHOLE = "resume without a limit: all 50 MB"


def write_transcript(path: Path, size_bytes: int, *, compact_at: int | None = None) -> None:
    """Write what an agent leaves that reads files all day: turns of 20 rounds, results of 0 to 6 kB."""
    disk = SystemDisk()
    written = 0

    def write(_: Path, content: bytes) -> None:
        nonlocal written
        written += len(content)
        disk.append(path, content)

    header = TranscriptHeader(session_id="bench", agent_id="a1", is_sidechain=False, cwd="/", version="0")
    log = Transcript(path, header, write=write, ids=SeededIds(1), wall=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    say = partial(_say, log)
    for number in itertools.count():
        if written >= size_bytes:
            break
        if compact_at is not None and written >= compact_at:
            log.append_compaction(encode_message(Message.user("What was done.")), trigger="auto", pre_tokens=1)
            compact_at = None
        say(Message.user(f"Do number {number}."))
        for round_ in range(ROUNDS_OF_A_TURN):
            call = ToolUseBlock(f"toolu_{number}_{round_}", "Read", {"path": f"src/{round_}.py", "offset": number})
            say(Message("assistant", (TextBlock("I look at the next file, to see what it does."), call)))
            shown = "a line of a file, as it is\n" * ((number * 37 + round_ * 11) % 220)
            say(Message("user", (ToolResultBlock(call.id, shown or "(nothing)"),)))
        say(Message("assistant", (TextBlock("It is done. " * 20),)))
    disk.close()


def _say(log: Transcript, message: Message) -> None:
    log.append(message.role, encode_message(message))


def parse(path: Path) -> None:
    """Do the least that reading a transcript takes."""
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)


def walk(path: Path) -> None:
    """Open a transcript, and look at every line of it."""
    for _ in read_transcript(path):
        pass


def peak_bytes(function: Callable[[], Any]) -> int:
    """Return the most memory that a call holds at once."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main(size_bytes: int = SIZE_BYTES) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, compacted = Path(folder) / "main.jsonl", Path(folder) / "compacted.jsonl"
        write_transcript(path, size_bytes)
        write_transcript(compacted, size_bytes, compact_at=size_bytes * 4 // 5)
        measure(path, compacted, size_bytes)


def measure(path: Path, compacted: Path, size_bytes: int) -> None:
    """Measure, and print the figures."""
    systems: dict[str, Callable[[], object]] = {
        PARSE: partial(parse, path),
        OPEN: partial(walk, path),
        RESUME: partial(load_conversation, path),
        COMPACTED: partial(load_conversation, compacted),
        WHOLE: partial(load_conversation, path, limit_bytes=2 * size_bytes),
    }
    run_group(
        f"a transcript of {size_bytes / MEGABYTE:.0f} MB, CPU",
        {name: partial(cpu_seconds, system) for name, system in systems.items()},
        [
            Target(bench="transcript opened", numerator=OPEN, denominator=PARSE, limit=3, at_least=False),
            Target(bench="transcript resumed", numerator=RESUME, denominator=PARSE, limit=3, at_least=False),
            Target(
                bench="transcript resumed, compacted", numerator=COMPACTED, denominator=PARSE, limit=3, at_least=False
            ),
            Target(bench="transcript resumed, no limit", numerator=WHOLE, denominator=PARSE),
        ],
        unit="s",
        slices=1,
    )
    for name, limit in ((OPEN, 0.1), (RESUME, 2.0)):
        # Against what is read at most: it is the same for a transcript of any size.
        target = Target(
            bench=f"memory of {name.partition(':')[0]}",
            numerator="most memory at once",
            denominator=f"the {RESUMED_BYTES / MEGABYTE:.0f} MB that are read at most",
            limit=limit,
            at_least=False,
        )
        report(target, [peak_bytes(systems[name]) / RESUMED_BYTES])


if __name__ == "__main__":
    main()
    print_figures()
