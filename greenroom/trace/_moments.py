"""The folded state of a run after any number of its events.

Snapshots are kept while the events are folded once, from the first to the last; a jump folds the events from the snapshot before it.

Rule 1: a moment equals the fold of the events before it. Rule 2: a jump folds at most as many events as are between two snapshots, a
step back an eighth of that. Rule 3: the memory of the snapshots is bounded: beyond that, every second one is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final, Generic, Protocol, Self, TypeAlias, TypeVar, final

from greenroom.trace._entries import Entry

SNAPSHOT_EVERY: Final = 2048
"""Events between two snapshots, until there are too many of them."""
MAX_SNAPSHOT_BYTES: Final = 100_000_000
_STEPS: Final = 8
_PART: Final = 256
"""Events that are folded at once where others wait."""

EntryReader: TypeAlias = Callable[[int, int], Sequence[Entry]]
"""Returns the entries from one position up to another, as `RunIndex.entries`."""


class FoldedState(Protocol):
    """A state that is folded from entries, such as `World`."""

    def apply(self, entry: Entry) -> None:
        """Apply the next entry."""
        ...

    def copy(self) -> Self:
        """Return an independent copy."""
        ...

    def copied_bytes(self) -> int:
        """Return about how many bytes the next copy takes beside those before it."""
        ...


S = TypeVar("S", bound=FoldedState)


@final
class Moments(Generic[S]):
    """The states of a run.

    Attributes:
        folded: Number of events that were folded so far; moments up to there are cheap.
        spacing: Events between two snapshots.

    Args:
        read: Returns entries by position.
        state: The state before the first event; it is changed.
        spacing: Events between two snapshots; a multiple of 8.
        max_bytes: Maximum memory of the snapshots.
    """

    def __init__(
        self,
        read: EntryReader,
        state: S,
        *,
        spacing: int = SNAPSHOT_EVERY,
        max_bytes: int = MAX_SNAPSHOT_BYTES,
    ) -> None:
        self._read = read
        self._state = state
        self._max_bytes = max_bytes
        self._snapshots = [state.copy()]
        self._sizes = [state.copied_bytes()]
        self._dropped: list[S] = []
        """Snapshots that are freed one after another: all at once takes longer than others should wait."""
        self._block = -1
        """Number of the block of `spacing` events whose first entries are at hand."""
        self._entries: list[Entry] = []
        self._steps: dict[int, S] = {}
        """States within that block by the number of its events that they have seen."""
        self.spacing = spacing
        self.folded = 0

    def __repr__(self) -> str:
        return f"<Moments: {self.folded} events folded, {len(self._snapshots)} snapshots>"

    def fold_on(self, count: int, *, most: int = SNAPSHOT_EVERY) -> bool:
        """Fold some further events up to a number of events; return False if there are none.

        Args:
            count: Number of events of the run that can be read.
            most: Maximum number of events to fold.
        """
        end = min(count, (self.folded // self.spacing + 1) * self.spacing, self.folded + most)
        if self.folded >= end:
            return False
        if self._dropped:
            self._dropped.pop()
        apply = self._state.apply
        for entry in self._read(self.folded, end):
            apply(entry)
        self.folded = end
        if self.folded % self.spacing == 0:
            self._keep()
        return True

    def at(self, count: int) -> S:
        """Return the state after the first `count` events, which the caller may change; folds up to there if needed."""
        walk = self.walk(count)
        while True:
            try:
                next(walk)
            except StopIteration as end:
                state: S = end.value
                return state

    def walk(self, count: int) -> Generator[None, None, S]:
        """Do what `at` does, and yield after every few events; meanwhile other moments must not be asked for."""
        while self.folded < count and self.fold_on(count, most=_PART):
            yield
        count = max(0, min(count, self.folded))
        if count == self.folded:
            return self._state.copy()
        block, wanted = divmod(count, self.spacing)
        spacing = self.spacing
        yield from self._open(block, wanted)
        begin = max(step for step in self._steps if step <= wanted)
        entries, state = self._entries, self._steps[begin].copy()
        for step, entry in enumerate(entries[begin:wanted], start=begin + 1):
            state.apply(entry)
            if step % (spacing // _STEPS) == 0:
                self._steps[step] = state.copy()
            if step % _PART == 0:
                yield
        return state

    def _keep(self) -> None:
        self._sizes.append(self._state.copied_bytes())
        self._snapshots.append(self._state.copy())
        while sum(self._sizes) > self._max_bytes and len(self._sizes) > 2:
            self._dropped += self._snapshots[1::2]
            del self._snapshots[1::2], self._sizes[1::2]
            self.spacing *= 2
            self._block = -1

    def _open(self, block: int, wanted: int) -> Generator[None, None, None]:
        """Have the first `wanted` entries of a block at hand, and those up to the next kept state."""
        begin = block * self.spacing
        if block != self._block:
            self._block, self._entries, self._steps = block, [], {0: self._snapshots[block]}
        entries, part = self._entries, self.spacing // _STEPS
        end = min(-(-wanted // part) * part, self.folded - begin)
        while len(entries) < min(wanted, end):
            read = self._read(begin + len(entries), begin + min(end, len(entries) + _PART))
            if not read:
                return
            entries += read
            yield
