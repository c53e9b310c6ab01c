"""Checks of machines: actors and their turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from greenroom.actors import EDGE_TO, TERMINAL, Edge, State, step
from greenroom.core import IllegalTransition
from greenroom.trace._entries import Entry


def _machine(entry: Entry) -> tuple[str, int]:
    return entry.event.actor, entry.event.inc


def _turn(entry: Entry) -> tuple[str, int, int]:
    return entry.event.actor, entry.event.inc, entry["turn"]


def _say(machine: tuple[str, int]) -> str:
    return f"{machine[0]} (incarnation {machine[1]})"


def legal_edges(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-1: every machine's events are a path of the five legal edges."""
    states: dict[tuple[object, ...], State] = {}
    for entry in entries:
        machine: tuple[object, ...] = _machine(entry)
        match entry.kind:
            case "actor.new":
                states.setdefault(machine, State.PENDING)  # twice is a matter of I-35
                continue
            case "turn.begin":
                states.setdefault(_turn(entry), State.RUNNING)  # a turn exists only from here on; twice is I-6's
                continue
            case "actor.begin":
                edge: Edge | None = Edge.BEGIN
            case "actor.end" | "turn.end":
                edge = {state.value: edge for state, edge in EDGE_TO.items() if state in TERMINAL}.get(entry["state"])
                machine = machine if entry.kind == "actor.end" else _turn(entry)
            case _:
                continue
        before = states.get(machine)
        if before is None:
            yield entry.seq, f"{entry.kind} of {machine}, which never began"
        elif edge is None:
            yield entry.seq, f"{entry.kind} of {machine} to {entry['state']!r}, which is no terminal state"
        else:
            try:
                states[machine] = step(before, edge)
            except IllegalTransition:
                yield entry.seq, f"{entry.kind} of {machine}, which is {before}"


def one_terminal_event(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-2: one terminal event per incarnation, and per turn."""
    ended: dict[tuple[object, ...], int] = {}
    for entry in entries:
        if entry.kind in {"actor.end", "turn.end"}:
            machine = _machine(entry) if entry.kind == "actor.end" else _turn(entry)
            if machine in ended:
                yield entry.seq, f"{entry.kind} of {machine} once more, after the one at {ended[machine]}"
            ended.setdefault(machine, entry.seq)


def nothing_after_the_end(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-3: nothing of an incarnation comes after its end, save what its end led to.

    Mail is left out: the mailbox follows the id and outlives the incarnation.
    """
    ended: dict[tuple[str, int], int] = {}
    for entry in entries:
        if entry.kind.startswith("message.") or not entry.event.inc:
            continue
        end = ended.get(_machine(entry))
        if end is not None and entry.event.parent < end:
            yield entry.seq, f"{entry.kind} of {_say(_machine(entry))}, which ended at {end}"
        if entry.kind == "actor.end":
            ended.setdefault(_machine(entry), entry.seq)


def one_turn_at_a_time(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-4: a turn begins only while its incarnation runs and no other turn of it does."""
    running: dict[tuple[str, int], int] = {}
    for entry in entries:
        machine = _machine(entry)
        match entry.kind:
            case "actor.begin":
                running[machine] = 0
            case "actor.end":
                running.pop(machine, None)
            case "turn.begin" if machine not in running:
                yield entry.seq, f"turn {entry['turn']} of {_say(machine)} begins, which is not running"
            case "turn.begin":
                if running[machine]:
                    yield entry.seq, f"turn {entry['turn']} of {_say(machine)} begins within turn {running[machine]}"
                running[machine] = entry["turn"]
            case "turn.end" if running.get(machine) == entry["turn"]:
                running[machine] = 0


def turns_end_first(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-5: a turn's terminal event precedes its actor's."""
    opened: dict[tuple[str, int], set[int]] = {}
    for entry in entries:
        turns = opened.setdefault(_machine(entry), set())
        if entry.kind == "turn.begin":
            turns.add(entry["turn"])
        elif entry.kind == "turn.end":
            turns.discard(entry["turn"])
        elif entry.kind == "actor.end" and turns:
            yield entry.seq, f"{_say(_machine(entry))} ends while turn {min(turns)} is open"
            turns.clear()


def turn_numbers(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-6: the turns of an incarnation are 1, 2, 3 ..."""
    last: dict[tuple[str, int], int] = {}
    for entry in entries:
        if entry.kind == "turn.begin":
            wanted = last.get(_machine(entry), 0) + 1
            if entry["turn"] != wanted:
                yield entry.seq, f"turn {entry['turn']} of {_say(_machine(entry))}, where {wanted} is next"
            last[_machine(entry)] = entry["turn"]


def abort_before_kill(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-22: a turn is killed by its own scope only if somebody named it, or its deadline passed."""
    asked: set[tuple[str, int, int]] = set()
    for entry in entries:
        if entry.kind == "turn.abort_requested":
            asked.add(_turn(entry))
        elif entry.kind == "turn.end" and entry["state"] == State.KILLED and entry["by"] == "own":
            cause = entry["cause"]
            if _turn(entry) not in asked and (cause is None or cause.who != "deadline"):
                yield entry.seq, f"turn {entry['turn']} of {_say(_machine(entry))} was killed, and nobody asked for it"


def requests_in_time(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-28: a request after the end of what it names emits nothing."""
    turns: set[tuple[str, int, int]] = set()
    alive: set[tuple[str, int]] = set()
    for entry in entries:
        match entry.kind:
            case "actor.new":
                alive.add(_machine(entry))
            case "actor.end":
                alive.discard(_machine(entry))
            case "turn.begin":
                turns.add(_turn(entry))
            case "turn.end":
                turns.discard(_turn(entry))
            case "turn.abort_requested" if _turn(entry) not in turns:
                yield entry.seq, f"an abort of turn {entry['turn']} of {_say(_machine(entry))}, which is not open"
            case "actor.stop_requested" | "actor.kill_requested" if _machine(entry) not in alive:
                yield entry.seq, f"{entry.kind} of {_say(_machine(entry))}, which is not alive"


def incarnations_in_turn(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-35: incarnations of one id are 1, 2, 3 ..., each after the end of the one before."""
    last: dict[str, int] = {}
    alive: dict[str, int] = {}
    for entry in entries:
        actor, incarnation = _machine(entry)
        if entry.kind == "actor.new":
            if actor in alive:
                yield entry.seq, f"incarnation {incarnation} of {actor} begins while {alive[actor]} is there"
            if incarnation != last.get(actor, 0) + 1:
                yield entry.seq, f"incarnation {incarnation} of {actor}, where {last.get(actor, 0) + 1} is next"
            last[actor] = alive[actor] = incarnation
        elif entry.kind == "actor.end" and alive.get(actor) == incarnation:
            del alive[actor]
