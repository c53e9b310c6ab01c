"""Checks of what waited for a session: each accepted item ends once, and the store and the transcripts agree with the journal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, final

import attrs

from greenroom.trace._entries import Entry

_ACCEPTED: Final = "inbox.accepted"
_TAKEN: Final = "inbox.taken"
_POISONED: Final = "inbox.poisoned"
_WITHOUT_LINE: Final = frozenset(("inbox.withdrawn", "inbox.expired"))
_ENDS: Final = frozenset((_TAKEN, *_WITHOUT_LINE))
_KNOWN_S: Final = 7 * 24 * 3600.0
"""Seconds for which a store knows the id of an item that has ended."""


@final
@attrs.frozen(kw_only=True)
class InboxRecord:
    """Items of a run outside of its journal."""

    lines: Mapping[str, int]
    """Number of lines of the transcript that name an item."""
    stored: Collection[str] | None = None
    """Items that the store of the run has; None if it is not known."""
    is_at_rest: bool = False
    """True if the last session of the run has ended, so that nothing is between the store and the journal."""


@attrs.define
class _Item:
    """What the journal tells of one item."""

    seq: int
    was_stored: bool = False
    is_command: bool = False
    """True if it may have been run without a line of its own."""
    end: str = ""
    ended_t: float = 0.0
    is_poisoned: bool = False


def items_end_once(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-56: an item is accepted before it is taken, and ends once."""
    items: dict[str, _Item] = {}
    for entry in entries:
        if entry.kind.startswith("inbox."):
            yield from _step(items, entry)


def _step(items: dict[str, _Item], entry: Entry) -> Iterator[tuple[int, str]]:
    name = entry["item"]
    item = items.get(name)
    if entry.kind == _ACCEPTED:
        if item is not None and item.end and entry.t - item.ended_t > _KNOWN_S:
            item = None
        if item is not None and item.end:
            yield entry.seq, f"item {name} is accepted again, although it has ended ({item.end})"
        elif item is not None and item.is_poisoned:
            yield entry.seq, f"item {name} is accepted again, although it is poisoned"
        if item is None:
            item = items[name] = _Item(entry.seq)
        item.was_stored = item.was_stored or bool(entry.get("was_stored", default=False))
        item.is_command = entry["origin"] == "human" or entry["entry"] != "prompt"
        return
    if item is None:
        if entry.kind == _TAKEN:
            yield entry.seq, f"item {name} is taken, and was never accepted"
        item = items[name] = _Item(entry.seq)
    if entry.kind == _POISONED:
        if item.end:
            yield entry.seq, f"item {name} is poisoned, although it has ended ({item.end})"
        item.is_poisoned = True
        return
    if item.end:
        yield entry.seq, f"item {name} ends as {entry.kind}, and has ended as {item.end} before"
    elif item.is_poisoned and entry.kind == _TAKEN:
        yield entry.seq, f"item {name} is taken, although it is poisoned"
    item.end, item.ended_t, item.seq = entry.kind, entry.t, entry.seq


def balance(entries: Sequence[Entry], record: InboxRecord) -> Iterator[tuple[int, str]]:
    """I-56: what the transcript and the store of a run hold is what its journal tells of items."""
    items: dict[str, _Item] = {}
    for entry in entries:
        if entry.kind.startswith("inbox."):
            list(_step(items, entry))
    for name, item in items.items():
        lines = record.lines.get(name, 0)
        is_stored = record.stored is not None and name in record.stored
        if lines > 1:
            yield item.seq, f"item {name} was read {lines} times"
        if lines and item.end in _WITHOUT_LINE:
            yield item.seq, f"item {name} ended as {item.end}, and is in the transcript"
        if not lines and item.end == _TAKEN and not item.is_command:
            yield item.seq, f"item {name} was taken, and is in no line of the transcript"
        if item.end and is_stored and record.is_at_rest:
            yield item.seq, f"item {name} ended as {item.end}, and is in the store still"
        if item.was_stored and not item.end and not lines and record.stored is not None and not is_stored:
            yield item.seq, f"item {name} was accepted, has no end, and is not in the store"
