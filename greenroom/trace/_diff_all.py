"""Comparison of two whole runs: every actor with what became of it, and conversations message by message.

Actors are matched by label, as for the first divergence. Messages are compared without their ids and times: ids of calls, actors and sessions
count by the order in which a run names them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core.texts import as_json
from greenroom.trace._diff import Divergence, NormalRun, divergence_of, labels_of
from greenroom.trace._entries import Entry
from greenroom.trace._spans import OPEN

MAX_COMPARED: Final = 2_000
"""Differing messages of a conversation that are matched; beyond that they are told as edited, place by place."""
_IDS: Final = re.compile(
    r"a[0-9a-f]{16}|(?:toolu|msg|call)_[0-9A-Za-z]+|\d{8}-\d{6}-[0-9a-z]{6}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


class ActorStanding(StrEnum):
    """The fate of an actor in another run."""

    SAME = "same"
    DIFFERS = "differs"
    ONLY_LEFT = "only left"
    ONLY_RIGHT = "only right"


@final
@attrs.frozen(kw_only=True)
class ComparedActor:
    """An actor of either run."""

    actor: str
    """Its label."""
    standing: ActorStanding
    divergence: Divergence | None
    """The first place where it differs, if it is in both."""
    events: tuple[int, int]
    """Number of its events in each run."""
    outcomes: tuple[str, str]
    """State in which it ended in each run: `open` if it has not, empty if it is not there."""


class MessageChange(StrEnum):
    """The fate of a message."""

    EDITED = "edited"
    MISSING = "missing"
    ADDED = "added"
    MOVED = "moved"


@final
@attrs.frozen(kw_only=True)
class ComparedMessage:
    """A message that differs."""

    change: MessageChange
    left: int
    """Its number in the first run, from 1; 0 if it is not there."""
    right: int
    text: str
    """The beginning of it, in the first run if it is there."""


def compare_actors(left: Sequence[Entry], right: Sequence[Entry]) -> list[ComparedActor]:
    """Return every actor of two runs, in order of appearance, those of the first run first."""
    ours, theirs = NormalRun(left), NormalRun(right)
    outcomes = _outcomes(left), _outcomes(right)
    return [
        _compared(label, ours, theirs, (outcomes[0].get(label, ""), outcomes[1].get(label, "")))
        for label in dict.fromkeys([*ours.shown, *theirs.shown])
    ]


def _compared(label: str, ours: NormalRun, theirs: NormalRun, outcomes: tuple[str, str]) -> ComparedActor:
    events = len(ours.shown.get(label, ())), len(theirs.shown.get(label, ()))
    divergence = divergence_of(label, ours, theirs) if all(events) else None
    if not events[1]:
        standing = ActorStanding.ONLY_LEFT
    elif not events[0]:
        standing = ActorStanding.ONLY_RIGHT
    else:
        standing = ActorStanding.SAME if divergence is None else ActorStanding.DIFFERS
    return ComparedActor(actor=label, standing=standing, divergence=divergence, events=events, outcomes=outcomes)


def _outcomes(entries: Sequence[Entry]) -> dict[str, str]:
    labels = labels_of(entries)
    found = dict.fromkeys(labels.values(), OPEN)
    for entry in entries:
        if entry.kind == "actor.end" and entry.event.actor in labels:
            found[labels[entry.event.actor]] = str(entry.get("state", "ended"))
    return found


def compare_messages(left: Sequence[Any], right: Sequence[Any]) -> list[ComparedMessage]:
    """Return the messages of two conversations that differ, in order.

    Args:
        left: The messages of one agent as JSON values, such as `{"role": ..., "content": ...}`.
        right: Those of the same agent in the other run.
    """
    ours, theirs = _named(left), _named(right)
    missing: defaultdict[str, list[int]] = defaultdict(list)
    added: defaultdict[str, list[int]] = defaultdict(list)
    found: list[ComparedMessage] = []
    for tag, begin, end, other_begin, other_end in _edits(ours, theirs):
        pairs = min(end - begin, other_end - other_begin) if tag == "replace" else 0
        found += [
            _message(MessageChange.EDITED, begin + offset, other_begin + offset, left[begin + offset])
            for offset in range(pairs)
        ]
        for place in range(begin + pairs, end):
            missing[ours[place]].append(place)
        for place in range(other_begin + pairs, other_end):
            added[theirs[place]].append(place)
    for text, places in missing.items():
        for place in places:
            if added[text]:
                found.append(_message(MessageChange.MOVED, place, added[text].pop(0), left[place]))
            else:
                found.append(_message(MessageChange.MISSING, place, -1, left[place]))
    found += [_message(MessageChange.ADDED, -1, place, right[place]) for places in added.values() for place in places]
    return sorted(found, key=lambda message: (message.left or message.right, message.right))


def _edits(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the ranges that differ; what both begin and end with is not searched."""
    begin = 0
    while begin < min(len(ours), len(theirs)) and ours[begin] == theirs[begin]:
        begin += 1
    tail = 0
    while tail < min(len(ours), len(theirs)) - begin and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    mine, yours = ours[begin : len(ours) - tail], theirs[begin : len(theirs) - tail]
    if max(len(mine), len(yours)) > MAX_COMPARED:
        yield "replace", begin, begin + len(mine), begin, begin + len(yours)
        return
    for tag, *places in SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes():
        if tag != "equal":
            first, end, other, other_end = (place + begin for place in places)
            yield tag, first, end, other, other_end


def _named(messages: Sequence[Any]) -> list[str]:
    """Return messages as text, with ids by the order in which they appear."""
    numbers: Counter[str] = Counter()

    def number(found: re.Match[str]) -> str:
        numbers.setdefault(found[0], len(numbers) + 1)
        return f"id {numbers[found[0]]}"

    return [_IDS.sub(number, as_json(message).decode()) for message in messages]


def _message(change: MessageChange, left: int, right: int, message: Any) -> ComparedMessage:
    return ComparedMessage(change=change, left=left + 1, right=right + 1, text=_text_of(message))


def _text_of(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text") or content[0].get("name") or content[0].get("content") or content[0]
    return content if isinstance(content, str) else as_json(content).decode()
