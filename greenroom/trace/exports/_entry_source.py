"""The entries of a run by position, for readers that go through them block by block and look at a few others.

source = source_of(index, count=5_000)       # the first 5,000 events of a `RunIndex`
window = EntryWindow(source)
for position, entry in window.walk(0): ...   # the next block is at hand as well
window.entry(position)                       # any other: its line alone is read
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import Event, JournalError
from greenroom.trace._codec import Header
from greenroom.trace._entries import Entry
from greenroom.trace._moments import EntryReader
from greenroom.trace._run_index import RunIndex

Sink: TypeAlias = Callable[[bytes], object]
"""Takes the next bytes of a file."""
BLOCK: Final = 2_000
"""Entries that are read at a time."""


@final
@attrs.frozen(kw_only=True)
class EntrySource:
    """A run, or its first events."""

    header: Header
    read: EntryReader
    count: int
    """Number of events."""
    since: int = 0
    """Position of the first event that is wanted; those before it are read too, as the state at it comes from them."""
    classes: tuple[type[Event], ...]
    """The known event classes, at least those of the events."""


def source_of(index: RunIndex, *, since: int = 0, count: int | None = None) -> EntrySource:
    """Return the events that an index has.

    Args:
        index: The index; it must have read a header, and stay open.
        since: Position of the first event that is wanted.
        count: Number of events; None for all.
    """
    assert index.header is not None
    size = len(index) if count is None else min(count, len(index))
    return EntrySource(header=index.header, read=index.entries, count=size, since=since, classes=index.classes)


def source_of_entries(entries: Sequence[Entry], header: Header) -> EntrySource:
    """Return entries that are in memory."""
    classes = tuple({entry.kind: type(entry.event) for entry in entries}.values())
    return EntrySource(header=header, read=lambda begin, end: entries[begin:end], count=len(entries), classes=classes)


@final
class EntryWindow:
    """A few blocks of a source.

    Args:
        source: The source.
    """

    def __init__(self, source: EntrySource) -> None:
        self._source = source
        self._blocks: dict[int, Sequence[Entry]] = {}

    def walk(self) -> Iterator[tuple[int, Entry]]:
        """Yield each entry with its position.

        Raises:
            JournalError: It cannot be read, or has changed since it was indexed.
        """
        for number in range(-(-self._source.count // BLOCK)):
            for wanted in (number, number + 1):
                if wanted not in self._blocks and wanted * BLOCK < self._source.count:
                    self._blocks[wanted] = self._read(wanted * BLOCK, (wanted + 1) * BLOCK)
            yield from enumerate(self._blocks[number], start=number * BLOCK)
            self._blocks.pop(number - 1, None)

    def entry(self, position: int) -> Entry:
        """Return an entry.

        Raises:
            JournalError: It cannot be read, or has changed since it was indexed.
        """
        block = self._blocks.get(position // BLOCK)
        return block[position % BLOCK] if block is not None else self._read(position, position + 1)[0]

    def _read(self, begin: int, end: int) -> Sequence[Entry]:
        end = min(end, self._source.count)
        entries = self._source.read(begin, end)
        if len(entries) != end - begin:
            raise JournalError(self._source.header.run, "the journal was changed while it was read")
        return entries
