"""Where a run stands after the last event that is looked at: ended, cut off by `--at`, still going on, or broken off."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from greenroom.trace import JournalText, has_ended

LOCK: Final = "run.lock"
"""What `hold_run` of greenroom.trace locks; a test compares."""


class Standing(StrEnum):
    """What is known of the run beyond the events that are looked at."""

    ENDED = "ended"
    CUT = "cut"
    """Events after these were left out because `--at` said so."""
    RUNNING = "running"
    BROKEN_OFF = "broken_off"
    """Its process ended before the run did."""
    UNKNOWN = "unknown"
    """It has no end, and this system cannot tell whether somebody still writes it."""


def standing_of(journal: JournalText, looked_at: JournalText, *, without_end: Standing) -> Standing:
    """Say how a run stands, of which only the first events may be looked at.

    Args:
        journal: The whole run.
        looked_at: As much of it as is shown.
        without_end: What `standing_by_lock` said before the journal was read; later, a run could have ended in between.
    """
    if len(looked_at.entries) < len(journal.entries):
        return Standing.CUT
    if has_ended(journal.entries):
        return Standing.ENDED
    return without_end


def standing_by_lock(journal: Path) -> Standing:
    """Return how a run stands that has no end, from its lock: it is let go of by the system when the process ends, however it ends.

    Shared, without waiting, and for an instant, so that a writer at work never notices.
    """
    try:
        import fcntl
    except ImportError:
        return Standing.UNKNOWN
    try:
        descriptor = os.open(journal.parent / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Standing.BROKEN_OFF
    except OSError:
        return Standing.UNKNOWN
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Standing.RUNNING
    except OSError:
        return Standing.UNKNOWN
    finally:
        os.close(descriptor)
    return Standing.BROKEN_OFF


def cut_at(journal: JournalText, seq: int | None) -> JournalText:
    """Leave out what came after a moment."""
    if seq is None:
        return journal
    return attrs.evolve(journal, entries=[entry for entry in journal.entries if entry.seq <= seq])
