"""The state of a run after the last event read: ended, cut by `--at`, still running, or broken off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.core.ports import SystemClock
from greenroom.replay._entry_words import paths_of
from greenroom.terminal import first_of, seconds
from greenroom.trace import Entry, JournalText, LockState, has_ended, open_spans, read_lock, split_processes

MAX_OPEN: Final = 3
"""Things that are open and named on one line."""


class Standing(StrEnum):
    """Facts about the run beyond the events that were read."""

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
        without_end: What `writer_of` said before the journal was read; later, a run could have ended in between.
    """
    if len(looked_at.entries) < len(journal.entries):
        return Standing.CUT
    if has_ended(journal.entries):
        return Standing.ENDED
    return without_end


@attrs.frozen(kw_only=True)
class StandingWriter:
    """The process that writes a run, or wrote it last."""

    standing: Standing
    """The state of a run that has no end."""
    pid: int | None
    idle_s: float
    """Seconds since it last wrote, by the clock of the machine."""


def writer_of(journal: Path) -> StandingWriter:
    """Return who writes a run, by its lock, which the system releases when the process ends, however it ends."""
    state, pid = read_lock(journal.parent)
    idle_s = SystemClock().wall().timestamp() - journal.stat().st_mtime
    return StandingWriter(standing=_BY_LOCK[state], pid=pid, idle_s=max(0.0, idle_s))


_BY_LOCK: Final = {
    LockState.HELD: Standing.RUNNING,
    LockState.FREE: Standing.BROKEN_OFF,
    LockState.UNKNOWN: Standing.UNKNOWN,
}


def running(entries: Sequence[Entry], writer: StandingWriter) -> dict[str, Any]:
    """Return what there is to say of a run that is being written: its process, how long it is silent, what is open."""
    return {"pid": writer.pid, "idle_s": round(writer.idle_s, 3), "open": open_work(entries, writer.idle_s)}


def running_in_words(facts: Mapping[str, Any]) -> str:
    """Return the same on one line."""
    pid = f" (pid {facts['pid']})" if facts["pid"] else ""
    shown, left = first_of(facts["open"], MAX_OPEN)
    work = [f"{line['what']} for {seconds(line['for_s'])}" for line in shown] + ([f"{left:,} more"] if left else [])
    return f"running{pid}, last event {seconds(facts['idle_s'])} ago, open: {', '.join(work) or 'nothing'}"


def open_work(entries: Sequence[Entry], idle_s: float) -> list[dict[str, Any]]:
    """Return the calls, requests and turns that are open, innermost only, with how long they take; the longest first."""
    last = list(split_processes(entries))[-1]
    begun = [entry for entry in open_spans(last) if entry.kind in _WORK]
    busy = {entry.event.actor for entry in begun if entry.kind != "turn.begin"}
    paths = paths_of(entries)
    return [
        {
            "seq": entry.seq,
            "actor": entry.event.actor,
            "what": f"{paths.get(entry.event.actor, entry.event.actor)}/{entry.get('tool') or _WORK[entry.kind]}",
            "for_s": round(last[-1].t - entry.t + idle_s, 3),
        }
        for entry in sorted(begun, key=lambda entry: entry.t)
        if entry.kind != "turn.begin" or entry.event.actor not in busy
    ]


_WORK: Final = {"tool.begin": "tool", "model.begin": "model", "turn.begin": "turn"}


def cut_at(journal: JournalText, seq: int | None) -> JournalText:
    """Leave out what came after a moment."""
    if seq is None:
        return journal
    return attrs.evolve(journal, entries=[entry for entry in journal.entries if entry.seq <= seq])
