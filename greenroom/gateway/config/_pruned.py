"""Values of a configuration without those that cannot be used, so that the others can be checked as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from greenroom.gateway.config._files import Place

_GONE: Final = object()


@final
class Pruned:
    """A tree of values from which some were taken away."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values: Any = _copied(values)
        self._wrong: list[Place] = []
        self._places: dict[Place, list[int]] = {}
        """Of lists that have lost an element, by the path as written: the former place of each that is left."""
        self._lost: set[Place] = set()

    def add(self, place: Place, *, is_unknown: bool) -> None:
        """Note a value that cannot be used, by its present path.

        Args:
            place: The path.
            is_unknown: True for a key that means nothing, so nothing is missing without it.
        """
        self._wrong.append(place)
        if not is_unknown:
            self._lost.add(self.written(place))

    def drop(self) -> bool:
        """Take away the values that were noted; False if nothing is left without them."""
        wrong, self._wrong = self._wrong, []
        lists: set[Place] = set()
        for place in wrong:
            if not self._drop(place, lists):
                return False
        for place in lists:
            self._close(place)
        return True

    def written(self, place: Place) -> Place:
        """Return the path, in the files, of a value of the tree that is left."""
        made: Place = ()
        for part in place:
            is_moved = isinstance(part, int) and made in self._places
            made = (*made, self._places[made][int(part)] if is_moved else part)
        return made

    def is_whole(self, place: Place) -> bool:
        """True if nothing was taken away that decides what stands at a path, or directly below it."""
        place = self.written(place)
        return not any(place[: len(lost)] == lost or lost[:-1] == place for lost in self._lost)

    def _drop(self, place: Place, lists: set[Place]) -> bool:
        while place:
            holder = self._at(place[:-1])
            key = place[-1]
            if isinstance(holder, dict) and key in holder:
                del holder[key]
                return True
            if isinstance(holder, list) and isinstance(key, int):
                holder[key] = _GONE  # closed when all are dropped, so that the places hold until then
                lists.add(place[:-1])
                self._lost.add(self.written(place))
                return True
            if holder is _GONE or holder is None:
                return True  # what holds it was dropped in the same round
            place = place[:-1]  # a required key is missing: nothing can be made of what should have it
        return False

    def _at(self, place: Place) -> Any:
        value = self.values
        for key in place:
            if isinstance(value, dict):
                value = value.get(key) if isinstance(key, str) else None
            elif isinstance(value, list) and isinstance(key, int):
                value = value[key]
            else:
                return None
        return value

    def _close(self, place: Place) -> None:
        holder = self._at(place)
        if not isinstance(holder, list):
            return
        written = self.written(place)
        before = self._places.get(written, list(range(len(holder))))
        self._places[written] = [at for at, value in zip(before, holder, strict=True) if value is not _GONE]
        holder[:] = [value for value in holder if value is not _GONE]


def _copied(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _copied(each) for key, each in value.items()}
        case list():
            return [_copied(each) for each in value]
    return value
