"""Rows of numbers as columns, and changes as JSON: what the columns of a run are made of, in little memory."""

from __future__ import annotations

import json
import sys
import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, final, overload

from greenroom.core.texts import as_json
from greenroom.trace._world_changes import Patch

_CODES: Final = {"u1": "B", "u2": "H", "u4": "I", "f8": "d"}
_LIMITS: Final = {"u1": 0xFF, "u2": 0xFFFF, "u4": 0xFFFF_FFFF}
_ALIGNED_BYTES: Final = 8


@final
class ColumnTable:
    """Columns of the same length; rows get there in bunches, which takes a fraction of the time. Any thread may read while one appends.

    Attributes:
        rows: The last rows, which are not in the columns yet; others append to it.
    """

    def __init__(self, columns: Iterable[tuple[str, str]]) -> None:
        self._columns: dict[str, array[Any]] = {name: array(_CODES[width]) for name, width in columns}
        self._limits = [_LIMITS.get(width) for _, width in columns]
        self._first = next(iter(self._columns.values()))
        self._filling = threading.Lock()
        """Held while rows move; never for longer than a bunch takes."""
        self.rows: list[tuple[float, ...]] = []

    def __len__(self) -> int:
        with self._filling:
            return len(self._first) + len(self.rows)

    @property
    def columns(self) -> Mapping[str, array[Any]]:
        """The columns by name; they must not be changed."""
        self.fill()
        return self._columns

    def fill(self) -> None:
        """Move the last rows into the columns."""
        if self.rows:
            with self._filling:
                self._move_rows()

    def _move_rows(self) -> None:
        rows = self.rows[:]  # another thread may append meanwhile
        if not rows:
            return
        count = len(self._first)
        parts = list(map(list, zip(*rows, strict=True)))
        del self.rows[: len(rows)]
        for column, limit, part in zip(self._columns.values(), self._limits, parts, strict=True):
            try:
                column.fromlist(part)
            except OverflowError:  # a number that no sound journal has
                del column[count:]
                column.extend(value if limit is None else max(0, min(value, limit)) for value in part)

    def packed(self, name: str, begin: int, end: int) -> bytes:
        """Return some rows of a column, filled up to a multiple of 8 bytes."""
        part = self.columns[name][begin:end]
        if sys.byteorder == "big":
            part.byteswap()
        content = part.tobytes()
        return content + bytes(-len(content) % _ALIGNED_BYTES)


@final
class KeptPatches(Sequence[tuple[int, list[Any]]]):
    """Changes of sections that are no tables: they are kept as JSON, a fraction of what their objects take."""

    def __init__(self) -> None:
        self._positions = array("I")
        self._places = array("Q", [0])
        """Place of each in the text, and its end."""
        self._text = bytearray()

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, place: int) -> tuple[int, list[Any]]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[int, list[Any]]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        position = self._positions[place]  # raises for a place beyond the end
        begin, end = self._places[place % len(self)], self._places[place % len(self) + 1]
        return position, json.loads(self._text[begin:end])

    def append(self, position: int, patch: Patch) -> None:
        """Append the change of an event."""
        self._positions.append(position)
        self._text += as_json(tuple(patch))  # a named tuple would become text
        self._places.append(len(self._text))

    def clear(self) -> None:
        """Forget them."""
        self._positions, self._places, self._text = array("I"), array("Q", [0]), bytearray()
