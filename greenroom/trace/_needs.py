"""Content that a journal needs before a check can say anything about it.

A check whose need is not met is reported as not checked, never as passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

import attrs

from greenroom.trace._entries import Entry
from greenroom.trace._world import ENDS


@final
@attrs.frozen
class JournalNeed:
    """Required content of a journal."""

    words: str
    """Name of the missing content, such as "actor at level full"."""
    is_met: Callable[[Sequence[Entry]], bool]


def full_actors(entries: Sequence[Entry]) -> set[str]:
    """Return the ids of the actors whose mail is recorded."""
    return {
        entry.event.actor
        for entry in entries
        if entry.kind == "message.put" or (entry.kind == "actor.new" and entry["journal"] == "full")
    }


def _has_kind(kind: str) -> Callable[[Sequence[Entry]], bool]:
    return lambda entries: any(entry.kind == kind for entry in entries)


def _has_field(kind: str, field: str) -> Callable[[Sequence[Entry]], bool]:
    return lambda entries: any(entry.kind == kind and entry.get(field) is not None for entry in entries)


def _has_turns(entries: Sequence[Entry]) -> bool:
    return any(entry.kind == "turn.begin" or entry.get("journal") in {"turns", "full"} for entry in entries)


FULL: Final = JournalNeed("actor at level full", lambda entries: bool(full_actors(entries)))
TURNS: Final = JournalNeed("actor whose turns are recorded", _has_turns)
SESSION_END: Final = JournalNeed(
    "end of the last session", lambda entries: any(entry.kind in ENDS for entry in entries)
)
SUPERVISORS: Final = JournalNeed("supervisor.opened", _has_kind("supervisor.opened"))
KILL_GRACE: Final = JournalNeed("grace in actor.kill_requested", _has_field("actor.kill_requested", "grace_s"))
