"""What a journal has to hold before a check can say anything about it.

Rule 1: a need is a question about the entries of a whole journal. Rule 2: a check whose need is not met is told as not
checked, never as held.
Must not know: disk, Trio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

import attrs

from greenroom.trace._entries import Entry


@final
@attrs.frozen
class Need:
    """Something that a journal holds, or does not."""

    words: str
    """What there is none of where it does not, such as "actor at level full"."""
    is_met: Callable[[Sequence[Entry]], bool]


def full_actors(entries: Sequence[Entry]) -> set[str]:
    """Return the ids of the actors whose mail is on record."""
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


FULL: Final = Need("actor at level full", lambda entries: bool(full_actors(entries)))
TURNS: Final = Need("actor whose turns are on record", _has_turns)
SESSION_END: Final = Need("end of the last session", _has_kind("session.end"))
SUPERVISORS: Final = Need("supervisor.opened", _has_kind("supervisor.opened"))
KILL_GRACE: Final = Need("grace in actor.kill_requested", _has_field("actor.kill_requested", "grace_s"))
