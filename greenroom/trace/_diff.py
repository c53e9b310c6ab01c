"""Comparison of two runs, actor by actor: without times, and with ids by order of appearance.

Actors are matched by label: the path, with the id of an unnamed actor replaced by its behavior and position among its
siblings; actors with the same path are matched in order of appearance. Events are compared by kind and fields; a parent
by its actor and position, not by its number. Only the order within an actor counts: the interleaving of different
actors is up to the scheduler.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core import field_names
from greenroom.trace._entries import Entry, UnknownEvent

CONTEXT: Final = 3
"""Number of events shown before the divergence."""
RUN: Final = "(run)"
"""Label of events without an actor."""
ROOT: Final = "(root)"
"""Label of the actor whose path is empty."""

_ACTOR_ID: Final = re.compile(r"a[0-9a-f]{16}")
_SESSION_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-z]{6}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A time with random characters, or a UUID."""
_TASK_ID: Final = re.compile(r"[brm](?=[0-9a-z]*[0-9])[0-9a-z]{8}")
"""Only as a whole word and with a digit in it; otherwise it would match words."""
_TIME_SUFFIXES: Final = ("_t", "_s")

_Shown: TypeAlias = "tuple[str, tuple[tuple[str, Any], ...]]"
"""An event in comparable form: kind and fields."""


@final
@attrs.frozen(kw_only=True)
class Divergence:
    """The first place where two runs differ."""

    actor: str
    """Label of the actor."""
    place: int
    """Number of its event, from 1."""
    left: str
    """The event in the first run; empty if there is none."""
    right: str
    left_seq: int
    right_seq: int
    context: tuple[str, ...]
    """The actor's preceding events, equal in both runs."""


@final
class NormalRun:
    """One run, prepared for comparison.

    Attributes:
        entries: The events of each actor, by label.
        shown: The same in comparable form.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._labels = labels_of(entries)
        self._others: dict[str, str] = {}
        self._place: dict[int, str] = {}
        self.entries: dict[str, list[Entry]] = {}
        self.shown: dict[str, list[_Shown]] = {}
        for entry in entries:
            label = self._labels.get(entry.event.actor, entry.event.actor) or RUN
            own = self.entries.setdefault(label, [])
            own.append(entry)
            self._place[entry.seq] = f"{label} #{len(own)}"
            self.shown.setdefault(label, []).append(self._show(entry))

    def _show(self, entry: Entry) -> _Shown:
        event = entry.event
        if isinstance(event, UnknownEvent):
            fields: dict[str, Any] = dict(event.fields)
        else:
            fields = {
                name: getattr(event, name) for name in field_names(type(event)) if name not in {"actor", "parent"}
            }
        if event.parent:
            fields["parent"] = self._place.get(event.parent, "unknown")
        kept = {name: value for name, value in fields.items() if not name.endswith(_TIME_SUFFIXES)}
        return entry.kind, tuple((name, self._rename(value)) for name, value in kept.items())

    def _rename(self, value: Any) -> Any:
        if isinstance(value, str):
            text = _ACTOR_ID.sub(lambda found: self._labels.get(found.group(), found.group()), value)
            text = _SESSION_ID.sub(lambda found: self._renamed(found.group()), text)
            return self._renamed(text) if _TASK_ID.fullmatch(text) else text
        if isinstance(value, Mapping):
            return {name: self._rename(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._rename(item) for item in value]
        if attrs.has(type(value)):
            return self._rename({field.name: getattr(value, field.name) for field in attrs.fields(type(value))})
        return value

    def _renamed(self, other_id: str) -> str:
        return self._others.setdefault(other_id, f"id {len(self._others) + 1}")


def diff_runs(left: Sequence[Entry], right: Sequence[Entry]) -> Divergence | None:
    """Return the first divergence of two runs, in the order of the first one; None if there is none."""
    ours, theirs = NormalRun(left), NormalRun(right)
    found = [
        divergence
        for label in dict.fromkeys([*ours.shown, *theirs.shown])
        if (divergence := divergence_of(label, ours, theirs)) is not None
    ]
    return min(found, key=lambda found: (found.left_seq or found.right_seq, found.right_seq), default=None)


def divergence_of(label: str, ours: NormalRun, theirs: NormalRun) -> Divergence | None:
    """Return the first place where an actor differs; None if there is none."""
    left_events, right_events = ours.shown.get(label, []), theirs.shown.get(label, [])
    for place, (shown, expected) in enumerate(zip_longest(left_events, right_events)):
        if shown != expected:
            mine, yours = (
                ours.entries.get(label, [])[place : place + 1],
                theirs.entries.get(label, [])[place : place + 1],
            )
            return Divergence(
                actor=label,
                place=place + 1,
                left=_text(shown),
                right=_text(expected),
                left_seq=mine[0].seq if mine else 0,
                right_seq=yours[0].seq if yours else 0,
                context=tuple(map(_text, left_events[max(0, place - CONTEXT) : place])),
            )
    return None


def _text(shown: _Shown | None) -> str:
    if shown is None:
        return ""
    kind, fields = shown
    return " ".join(
        [kind, *(f"{name}={value!r}" for name, value in fields if value not in ("", 0, None, False, [], {}))]
    )


def labels_of(entries: Sequence[Entry]) -> dict[str, str]:
    """Return an id-independent label for each actor id."""
    labels: dict[str, str] = {}
    segments: dict[str, str] = {}
    siblings: Counter[tuple[str, str]] = Counter()
    seen: Counter[str] = Counter()
    for entry in entries:
        actor = entry.event.actor
        if entry.kind != "actor.new" or actor in labels:
            continue
        # The parts of a path are names, and the ids of unnamed actors.
        *above, own = entry["path"].split("/")
        parent = "/".join(segments.get(part, part) for part in above)
        if own == actor:
            sibling = parent, entry["behavior"]
            siblings[sibling] += 1
            own = segments[actor] = f"{entry['behavior']}~{siblings[sibling]}"
        label = f"{parent}/{own}".removeprefix("/") or ROOT
        seen[label] += 1
        labels[actor] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return labels
