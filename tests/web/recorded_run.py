"""A recorded run in a folder of runs, whole or growing, and its page on a free port."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from greenroom.replay import problem_facts
from greenroom.trace import JOURNAL
from greenroom.web._opened_page import OpenedPage, open_run_page

HISTORIES: Final = Path(__file__).parents[1] / "histories"
RUN: Final = "20261120-225103-k3f9qz"
RECORDED: Final = (HISTORIES / "old-swarm-restarted.jsonl").read_bytes().splitlines(keepends=True)


def make_run(runs: Path, lines: list[bytes] = RECORDED, *, run: str = RUN) -> Path:
    """Put the lines of a journal into a run folder, and return the journal."""
    folder = runs / run
    (folder / "transcripts").mkdir(parents=True)
    journal = folder / JOURNAL
    journal.write_bytes(b"".join(lines))
    return journal


def transcript_line(text: str, *, role: str = "user", at: str = "2026-11-21T12:00:01.000Z") -> bytes:
    """Return a line of a transcript."""
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": role, "timestamp": at, "message": message}).encode() + b"\n"


def files_in(folder: Path) -> list[tuple[Path, int, bytes]]:
    """Return the files of a folder with their times and contents."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(path, path.stat().st_mtime_ns, path.read_bytes()) for path in found]


@asynccontextmanager
async def open_recorded_page(journal: Path, *, port: int = 0, **more: Any) -> AsyncIterator[OpenedPage]:
    """Serve the page of a run, with the runs beside it."""
    runs = journal.parents[1]
    async with open_run_page(journal, runs=runs, port=port, find_problems=problem_facts, **more) as page:
        yield page
