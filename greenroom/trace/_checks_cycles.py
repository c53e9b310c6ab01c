"""Checks of the wait graph: refused asks, and actors linked to a turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from greenroom.trace._entries import Entry


def refused_rings(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-45: an ask is refused only if it would close a cycle of running actors, and has no consequences.

    Accepted asks are not recorded as such, so the check is that no refusal was wrong.
    """
    alive: set[str] = set()
    refused: dict[int, str] = {}
    for entry in entries:
        actor = entry.event.actor
        if entry.event.parent in refused:
            yield (
                entry.seq,
                f"{entry.kind} of {actor or 'the run'} follows from the ask that {refused[entry.event.parent]}",
            )
        match entry.kind:
            case "actor.begin":
                alive.add(actor)
            case "actor.end":
                alive.discard(actor)
            case "ask.refused":
                refused[entry.seq] = f"was refused at {entry.seq}"
                yield from ((entry.seq, why) for why in _faults(entry, alive))


def _faults(entry: Entry, alive: set[str]) -> Iterator[str]:
    actor, ring = entry.event.actor, tuple(entry["ring"])
    if len(ring) < 2 or ring[0] != actor or ring[-1] != actor or ring[1] != entry["target"]:
        yield f"an ask of {actor} to {entry['target']} is refused, but {ring} is not a cycle through both"
    elif len(set(ring)) != len(ring) - 1:
        yield f"an ask of {actor} is refused for {ring}, which contains an actor twice"
    for idle in sorted(set(ring) - alive):
        yield f"an ask of {actor} is refused because of {idle}, which is not running"


def linked_end_first(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-23: an actor linked to a turn ends before the turn does, or is recorded as unresponsive."""
    held: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    over: set[str] = set()
    for entry in entries:
        match entry.kind:
            case "turn.linked":
                held[_turn(entry)].add(entry["child"])
            case "turn.unlinked":
                held[_turn(entry)].discard(entry["child"])
            case "actor.new":
                over.discard(entry.event.actor)
            case "actor.end" | "actor.unresponsive":
                over.add(entry.event.actor)
            case "turn.end":
                for child in sorted(held.pop(_turn(entry), set()) - over):
                    yield (
                        entry.seq,
                        f"turn {entry['turn']} of {entry.event.actor} ends, but {child}, linked to it, has not ended",
                    )


def _turn(entry: Entry) -> tuple[str, int, int]:
    return entry.event.actor, entry.event.inc, entry["turn"]
