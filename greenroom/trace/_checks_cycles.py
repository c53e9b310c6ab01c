"""Checks of the wait graph: asks that were refused, and actors that were linked to a turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from greenroom.trace._entries import Entry


def refused_rings(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-45: an ask is refused only where it would close a circle, of actors that run; nothing comes of it.

    Accepted asks are not on record as such, so what is checked is that no refusal was wrong.
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
        yield f"an ask of {actor} to {entry['target']} is refused, and {ring} is no circle through both"
    elif len(set(ring)) != len(ring) - 1:
        yield f"an ask of {actor} is refused for {ring}, which passes somebody twice"
    for one in sorted(set(ring) - alive):
        yield f"an ask of {actor} is refused because of {one}, which does not run"


def linked_end_first(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-23: what is linked to a turn ends before the turn does, or is on record as unresponsive."""
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
                        f"turn {entry['turn']} of {entry.event.actor} ends, and {child}, linked to it, has not",
                    )


def _turn(entry: Entry) -> tuple[str, int, int]:
    return entry.event.actor, entry.event.inc, entry["turn"]
