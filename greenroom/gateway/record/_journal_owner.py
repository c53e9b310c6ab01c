"""The journal that a command line means, and its owner: a session, or a gateway, whose events are imported when its journal is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from greenroom.core import Event, UsageError
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, Entry, find_run

_FIRST_EVENTS: Final = (b'"ev":"gateway.begin"', b'"ev":"gateway.snapshot"')
_HEAD_BYTES: Final = 64 * 1024


def find_journal(run: str, runs: Path) -> Path:
    """Return a journal file: as `find_run`, or `STATE/ID` for the session of a gateway.

    Args:
        run: As for `find_run`; or the state folder of a gateway and, behind a slash, the id of a run or of a session, or its beginning, or
            a session key.
        runs: The folder of runs.

    Raises:
        UsageError: It does not exist.
        JournalError: The gateway's journal cannot be read.
    """
    try:
        return find_run(run, runs)
    except UsageError:
        state, _, name = run.rpartition("/")
        if not name or not (Path(state) / JOURNAL).is_file():
            raise
    from greenroom.gateway.record._record_replay import find_session_journal

    return find_session_journal(Path(state), name)


def events_of(journal: Path) -> tuple[type[Event], ...]:
    """Return the events that a journal can hold, by its first lines; those of a session if it cannot be read."""
    try:
        with journal.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return EVENTS
    if not any(event in head for event in _FIRST_EVENTS):
        return EVENTS
    from greenroom.gateway.record._gateway_events import EVENTS as GATEWAY_EVENTS

    return GATEWAY_EVENTS


def is_gateways(entries: Sequence[Entry]) -> bool:
    """Return True if a journal is that of a gateway."""
    return any(entry.kind in {"gateway.begin", "gateway.snapshot"} for entry in entries)
