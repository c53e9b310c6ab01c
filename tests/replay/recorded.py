"""A recorded swarm in which a teammate crashed, in a folder of a test."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, JournalText, RunIndex, read_journal

RESTARTED: Final = Path(__file__).parents[1] / "histories" / "old-swarm-restarted.jsonl"


def record(folder: Path) -> tuple[Path, JournalText]:
    """Put the run into a folder; return its journal, and what is in it."""
    journal = folder / JOURNAL
    shutil.copyfile(RESTARTED, journal)
    return journal, read_journal(journal, EVENTS)


def indexed(journal: Path) -> RunIndex:
    """Return the index of a whole journal."""
    index = RunIndex(journal, EVENTS)
    while index.grow():
        pass
    return index
