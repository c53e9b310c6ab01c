"""Checks of machines: actors and their turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from greenroom.actors import EDGE_TO, TERMINAL, Edge, State, step
from greenroom.core import IllegalTransition, words_of
from greenroom.trace._entries import Entry

Machine: TypeAlias = tuple[str, int]
"""An incarnation: id and number."""
TurnKey: TypeAlias = tuple[str, int, int]
"""A turn: id, incarnation, number."""


def machine_of(entry: Entry) -> Machine:
    """Return the incarnation of an event."""
    return entry.event.actor, entry.event.inc


def turn_of(entry: Entry) -> TurnKey:
    """Return the turn of an event."""
    return entry.event.actor, entry.event.inc, entry["turn"]


def say(machine: Machine) -> str:
    """Return an incarnation in words."""
    return f"{machine[0]} (incarnation {machine[1]})"


def legal_edges(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-1: every machine's events are a path of the five legal edges."""
    states: dict[tuple[object, ...], State] = {}
    for entry in entries:
        machine: tuple[object, ...] = machine_of(entry)
        match entry.kind:
            case "actor.new":
                states.setdefault(machine, State.PENDING)  # duplicates are checked by I-35
                continue
            case "turn.begin":
                states.setdefault(
                    turn_of(entry), State.RUNNING
                )  # a turn exists only from here on; duplicates are checked by I-6
                continue
            case "actor.begin":
                edge: Edge | None = Edge.BEGIN
            case "actor.end" | "turn.end":
                edge = {state.value: edge for state, edge in EDGE_TO.items() if state in TERMINAL}.get(entry["state"])
                machine = machine if entry.kind == "actor.end" else turn_of(entry)
            case _:
                continue
        before = states.get(machine)
        if before is None:
            yield entry.seq, f"{entry.kind} of {machine}, which never began"
        elif edge is None:
            yield entry.seq, f"{entry.kind} of {machine} to {entry['state']!r}, which is not a terminal state"
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
            machine = machine_of(entry) if entry.kind == "actor.end" else turn_of(entry)
            if machine in ended:
                yield entry.seq, f"{entry.kind} of {machine} repeated, after the one at {ended[machine]}"
            ended.setdefault(machine, entry.seq)


def nothing_after_the_end(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-3: an incarnation has no events after its end, except those that its end caused.

    Mail is not checked: the mailbox belongs to the id and outlives the incarnation.
    """
    ended: dict[Machine, int] = {}
    for entry in entries:
        if entry.kind.startswith("message.") or not entry.event.inc:
            continue
        end = ended.get(machine_of(entry))
        if end is not None and entry.event.parent < end:
            yield entry.seq, f"{entry.kind} of {say(machine_of(entry))}, which ended at {end}"
        if entry.kind == "actor.end":
            ended.setdefault(machine_of(entry), entry.seq)


def one_turn_at_a_time(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-4: a turn begins only while its incarnation runs and has no other turn."""
    running: dict[Machine, int] = {}
    for entry in entries:
        machine = machine_of(entry)
        match entry.kind:
            case "actor.begin":
                running[machine] = 0
            case "actor.end":
                running.pop(machine, None)
            case "turn.begin" if machine not in running:
                yield entry.seq, f"turn {entry['turn']} of {say(machine)} begins, which is not running"
            case "turn.begin":
                if running[machine]:
                    yield entry.seq, f"turn {entry['turn']} of {say(machine)} begins within turn {running[machine]}"
                running[machine] = entry["turn"]
            case "turn.end" if running.get(machine) == entry["turn"]:
                running[machine] = 0


def turns_end_first(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-5: a turn's terminal event precedes its actor's."""
    opened: dict[Machine, set[int]] = {}
    for entry in entries:
        turns = opened.setdefault(machine_of(entry), set())
        if entry.kind == "turn.begin":
            turns.add(entry["turn"])
        elif entry.kind == "turn.end":
            turns.discard(entry["turn"])
        elif entry.kind == "actor.end" and turns:
            yield entry.seq, f"{say(machine_of(entry))} ends while turn {min(turns)} is open"
            turns.clear()


def turn_numbers(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-6: the turns of an incarnation are 1, 2, 3 ..."""
    last: dict[Machine, int] = {}
    for entry in entries:
        if entry.kind == "turn.begin":
            wanted = last.get(machine_of(entry), 0) + 1
            if entry["turn"] != wanted:
                yield entry.seq, f"turn {entry['turn']} of {say(machine_of(entry))}, expected {wanted}"
            last[machine_of(entry)] = entry["turn"]


def abort_before_kill(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-22: a turn is killed by its own scope only if that was requested, or its deadline passed."""
    asked: set[TurnKey] = set()
    for entry in entries:
        if entry.kind == "turn.abort_requested":
            asked.add(turn_of(entry))
        elif entry.kind == "turn.end" and entry["state"] == State.KILLED and entry["by"] == "own":
            cause = entry["cause"]
            if turn_of(entry) not in asked and (cause is None or cause.who != "deadline"):
                yield entry.seq, f"turn {entry['turn']} of {say(machine_of(entry))} was killed without a request"


def requests_in_time(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-28: a request after the end of its target emits nothing."""
    turns: set[TurnKey] = set()
    alive: set[Machine] = set()
    for entry in entries:
        match entry.kind:
            case "actor.new":
                alive.add(machine_of(entry))
            case "actor.end":
                alive.discard(machine_of(entry))
            case "turn.begin":
                turns.add(turn_of(entry))
            case "turn.end":
                turns.discard(turn_of(entry))
            case "turn.abort_requested" if turn_of(entry) not in turns:
                yield entry.seq, f"an abort of turn {entry['turn']} of {say(machine_of(entry))}, which is not open"
            case "actor.stop_requested" | "actor.kill_requested" if machine_of(entry) not in alive:
                yield entry.seq, f"{entry.kind} of {say(machine_of(entry))}, which is not alive"


def incarnations_in_turn(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-35: incarnations of one id are 1, 2, 3 ..., each after the end of the one before."""
    last: dict[str, int] = {}
    alive: dict[str, int] = {}
    for entry in entries:
        actor, incarnation = machine_of(entry)
        if entry.kind == "actor.new":
            if actor in alive:
                yield entry.seq, f"incarnation {incarnation} of {actor} begins while {alive[actor]} exists"
            if incarnation != last.get(actor, 0) + 1:
                yield entry.seq, f"incarnation {incarnation} of {actor}, expected {last.get(actor, 0) + 1}"
            last[actor] = alive[actor] = incarnation
        elif entry.kind == "actor.end" and alive.get(actor) == incarnation:
            del alive[actor]


def known_words(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-55: a field with a fixed set of words, such as a state, holds one of them."""
    for entry in entries:
        for field, words in words_of(type(entry.event)).items():
            value = getattr(entry.event, field)
            if value not in words:
                expected = ", ".join(map(repr, sorted(words)))
                yield entry.seq, f"{field} of {entry.kind} must be one of {expected}, got {value!r}"
