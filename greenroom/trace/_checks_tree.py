"""Checks of the tree: restarts, names, terminations, and the numbering of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from greenroom.trace._entries import Entry


def gone_means_gone(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-31: a terminated actor has no names, and no events but the failures of its watchers."""
    owner: dict[str, str] = {}
    gone: dict[str, int] = {}
    for entry in entries:
        actor = entry.event.actor
        if actor in gone and entry.event.inc and entry.kind != "watch.failed":
            yield entry.seq, f"{entry.kind} of {actor}, which terminated at {gone[actor]}"
        match entry.kind:
            case "name.registered":
                owner[entry["name"]] = actor
            case "name.released":
                owner.pop(entry["name"], None)
            case "actor.gone":
                left = sorted(name for name, holder in owner.items() if holder == actor)
                if left:
                    yield entry.seq, f"{actor} has terminated, but still has the name {left[0]!r}"
                gone.setdefault(actor, entry.seq)


def names_lead_to_one(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-42: a name belongs to at most one actor, and only that actor's end frees it."""
    owner: dict[str, str] = {}
    for entry in entries:
        if entry.kind not in {"name.registered", "name.released"}:
            continue
        name, actor = entry["name"], entry.event.actor
        if entry.kind == "name.registered":
            if name in owner:
                yield entry.seq, f"the name {name!r} is registered for {actor} while {owner[name]} has it"
            owner[name] = actor
        elif owner.pop(name, None) != actor:
            yield entry.seq, f"the name {name!r} is freed by {actor}, which does not have it"


def restarts_decided(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-36: an incarnation after the first follows a decision, and never one about an actor that was asked to end."""
    decided: Counter[str] = Counter()  # not carried out yet: a batch may be decided on while another is carried out
    asked: dict[str, int] = {}
    for entry in entries:
        actor = entry.event.actor
        match entry.kind:
            case "actor.new":
                if entry.event.inc > 1:
                    if not decided[actor]:
                        yield entry.seq, f"incarnation {entry.event.inc} of {actor} begins without a decision"
                    decided[actor] -= 1
                asked.pop(actor, None)
            case "actor.stop_requested" | "actor.kill_requested":
                asked.setdefault(actor, entry.seq)
            case "child.restarted":
                child = entry["child"]
                if child in asked:
                    yield entry.seq, f"{child} is restarted, but was asked to end at {asked[child]}"
                decided.update(entry["together"])


def restart_budget(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-37: a supervisor that gave up restarts nothing more, and had not restarted more often before."""
    decisions: Counter[str] = Counter()
    most: dict[str, Entry] = {}
    limit: dict[str, Entry] = {}
    for entry in entries:
        supervisor = entry.event.actor
        if entry.kind == "child.restarted":
            is_counted = not entry.get("is_requested")
            decisions[supervisor] += is_counted
            if supervisor in limit:
                yield entry.seq, f"{supervisor} restarts {entry['child']}, but gave up at {limit[supervisor].seq}"
            if not is_counted <= entry["restarts"] <= decisions[supervisor]:
                yield entry.seq, f"{supervisor} counts {entry['restarts']} restarts after {decisions[supervisor]}"
            if supervisor not in most or entry["restarts"] > most[supervisor]["restarts"]:
                most[supervisor] = entry
        elif entry.kind == "supervisor.escalated":
            limit.setdefault(supervisor, entry)
            if supervisor in most and most[supervisor]["restarts"] > entry["restarts"]:
                yield most[supervisor].seq, f"{supervisor} restarts more often than the allowed {entry['restarts']}"


def numbering(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-47: numbers have no gaps, and every parent is an earlier event."""
    wanted = entries[0].seq if entries else 0
    for entry in entries:
        if entry.seq != wanted:
            yield entry.seq, f"number {entry.seq}, expected {wanted}"
        wanted = entry.seq + 1
        if not 0 <= entry.event.parent < entry.seq:
            yield entry.seq, f"{entry.kind} has the parent {entry.event.parent}, which is not an earlier event"
