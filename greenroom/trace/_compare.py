"""The invariants that take two runs to check, as a table of named comparisons.

    for finding in COMPARED["I-46"].find(first.entries, second.entries):
        print(finding.seq, finding.text)

A comparison is a pure function over the entries of two runs, and every finding names an event of the second one, or 0
if that has none. Aspects that the invariant does not cover, such as the scheduler's order across actors, are removed
before the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core import Level, field_names
from greenroom.trace._diff import labels_of
from greenroom.trace._entries import Entry, UnknownEvent

Finding: TypeAlias = tuple[int, str]

_Row: TypeAlias = tuple[str, str, tuple[tuple[str, Any], ...]]
"""An event in comparable form: actor, kind, fields."""
_LEVELS: Final = {level.name.lower(): level for level in Level}
_OF_THE_RUN: Final = frozenset({"actor", "parent"})
_OF_THE_MAIL: Final = frozenset({"msg", "turn"})
"""Counters that shift by one message more or less."""


@final
@attrs.frozen
class Comparison:
    """One invariant over two runs, and the function that finds the events in which they differ."""

    id: str
    sentence: str
    find: Callable[[Sequence[Entry], Sequence[Entry]], Iterator[Finding]]


def identical(left: Sequence[Entry], right: Sequence[Entry]) -> Iterator[Finding]:
    """I-46: two runs of the same code, scenario and choices are equal, including ids, numbers and times."""
    for first, second in zip_longest(left, right):
        if first != second:
            yield second.seq if second else 0, f"{_text(second)}, where the other run has {_text(first)}"
            return


def idle_abort_changes_nothing(without: Sequence[Entry], with_: Sequence[Entry]) -> Iterator[Finding]:
    """I-21: a run in which an idle actor was asked to abort equals the run without it, minus the request event."""
    idle = _idle_requests(with_)
    kept = [entry for entry in with_ if entry.seq not in idle]
    place = {entry.seq: number for number, entry in enumerate(kept, without[0].seq if without else 1)}
    again = [
        Entry(place[entry.seq], entry.t, entry.kind, attrs.evolve(entry.event, parent=place.get(entry.event.parent, 0)))
        for entry in kept
    ]
    for seq, text in identical(without, again):
        yield next((old for old, new in place.items() if new == seq), 0), text


def abort_stays_inside(without: Sequence[Entry], with_: Sequence[Entry]) -> Iterator[Finding]:
    """I-25: an abort changes nothing about actors outside its turn, except the messages between them.

    Each actor is compared by itself, without times, and without the events that the aborted actor caused.
    """
    aborted = {entry.event.actor for entry in with_ if entry.kind == "turn.abort_requested"}
    labels = {labels_of(with_).get(actor, actor) for actor in aborted}
    left, right = _outside(without, labels), _outside(with_, labels)
    for label in dict.fromkeys([*left, *right]):
        for first, second in zip_longest(left.get(label, ()), right.get(label, ())):
            mine, yours = first and first[1], second and second[1]
            if mine != yours:
                yield second[0] if second else 0, f"{_say(yours)}, where the run without the abort has {_say(mine)}"
                break


def level_changes_nothing(left: Sequence[Entry], right: Sequence[Entry]) -> Iterator[Finding]:
    """I-50: the recording level changes no outcome and no order: events in both runs come in the same order."""
    left_levels, right_levels = _levels(left), _levels(right)
    common = {label: min(level, right_levels.get(label, level)) for label, level in left_levels.items()}
    rows = [
        [(entry.seq, row) for entry, row in _rows(run, hidden=frozenset({"journal"})) if _is_in(entry, row, common)]
        for run in (left, right)
    ]
    for mine, yours in zip_longest(*rows):
        first, second = mine and mine[1], yours and yours[1]
        if first != second:
            yield yours[0] if yours else 0, f"{_say(second)}, where the other run has {_say(first)}"
            return


COMPARED: Final[Mapping[str, Comparison]] = {
    comparison.id: comparison
    for comparison in (
        Comparison("I-21", "an abort of an idle actor changes nothing", idle_abort_changes_nothing),
        Comparison("I-25", "an abort changes nothing about others, save messages", abort_stays_inside),
        Comparison("I-46", "the same code, scenario and choices give the same journal", identical),
        Comparison("I-50", "how much is recorded changes neither outcome nor order", level_changes_nothing),
    )
}
"""Comparisons of two runs, by id."""


def _idle_requests(entries: Sequence[Entry]) -> set[int]:
    """Return the numbers of the requests to abort a turn that was not open."""
    opened: set[tuple[str, int, int]] = set()
    found: set[int] = set()
    for entry in entries:
        if entry.kind in {"turn.begin", "turn.end", "turn.abort_requested"}:
            turn = (entry.event.actor, entry.event.inc, entry["turn"])
            if entry.kind == "turn.begin":
                opened.add(turn)
            elif entry.kind == "turn.end":
                opened.discard(turn)
            elif turn not in opened:
                found.add(entry.seq)
    return found


def _levels(entries: Sequence[Entry]) -> dict[str, Level]:
    labels = labels_of(entries)
    return {
        labels[entry.event.actor]: _LEVELS.get(entry["journal"], Level.LIFECYCLE)
        for entry in entries
        if entry.kind == "actor.new"
    }


def _is_in(entry: Entry, row: _Row, common: Mapping[str, Level]) -> bool:
    return type(entry.event).level <= common.get(row[0], Level.FULL)


def _outside(entries: Sequence[Entry], labels: AbstractSet[str]) -> dict[str, list[tuple[int, _Row]]]:
    """Return the events of each actor that the labelled ones had no part in."""
    own = labels_of(entries)
    touched: set[int] = set()
    below = {actor for actor, label in own.items() if label in labels}
    found: dict[str, list[tuple[int, _Row]]] = {}
    open_turn: dict[str, int] = {}
    for entry, row in _rows(entries, hidden=_OF_THE_MAIL):
        actor = entry.event.actor
        if entry.kind == "actor.new" and entry.get("descent") in below:
            below.add(actor)
        if entry.kind == "turn.begin":
            open_turn[actor] = entry.seq
        turn = open_turn.get(actor, 0)
        if entry.kind == "turn.end":
            open_turn.pop(actor, None)
        if actor in below or entry.event.parent in touched or turn in touched:
            touched.add(entry.seq)
        elif not entry.kind.startswith("message."):
            found.setdefault(row[0], []).append((entry.seq, row))
    return found


def _rows(entries: Sequence[Entry], *, hidden: AbstractSet[str] = frozenset()) -> Iterator[tuple[Entry, _Row]]:
    """Yield each event in comparable form: with labels for ids, without numbers, times and hidden fields."""
    labels = labels_of(entries)
    for entry in entries:
        event = entry.event
        names = event.fields if isinstance(event, UnknownEvent) else field_names(type(event))
        fields = tuple(
            (name, _named(entry[name], labels))
            for name in names
            if name not in _OF_THE_RUN and name not in hidden and not name.endswith(("_t", "_s"))
        )
        yield entry, (labels.get(event.actor, event.actor), entry.kind, fields)


def _named(value: Any, labels: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return labels.get(value, value)
    if isinstance(value, tuple):
        return tuple(_named(item, labels) for item in value)
    if attrs.has(type(value)):
        return tuple(_named(getattr(value, field.name), labels) for field in attrs.fields(type(value)))
    return value


def _text(entry: Entry | None) -> str:
    return "nothing" if entry is None else f"event {entry.seq} {entry.kind} of {entry.event.actor or 'the run'}"


def _say(row: _Row | None) -> str:
    if row is None:
        return "nothing"
    return f"{row[1]} of {row[0] or 'the run'} " + " ".join(f"{name}={value!r}" for name, value in row[2] if value)
