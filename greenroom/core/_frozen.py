"""Frozen records whose comparison, hash and text are made when they are first used.

`frozen` is `attrs.frozen`, with one difference: attrs compiles three methods for each class at its import, which is more
than half of the cost of a class, and most records are never compared, hashed or shown. This module must import nothing
of greenroom.
"""

from __future__ import annotations

from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

import attrs

__all__ = ["frozen"]


def _frozen(record: Any = None, /, **options: Any) -> Any:
    """Return a frozen class with slots, as `attrs.frozen`.

    Args:
        record: The class; without it a decorator is returned.
        options: Those of `attrs.frozen`, without `eq`, `order`, `hash` and `repr`. Fields may say `eq=False` and `repr=False`; functions
            there have no effect, nor has `hash`. A class with `__eq__` or `__hash__` of its own defines both.
    """
    if record is None:
        return lambda given: _frozen(given, **options)
    own = record.__dict__
    made = attrs.frozen(record, eq=False, repr=False, **options)
    if "__repr__" not in own:
        made.__repr__ = _shown
    if "__eq__" not in own:
        made.__eq__, made.__hash__ = _equals, _hashed
    return made


if TYPE_CHECKING:  # checkers know the decorator of attrs, and this one makes the same classes
    from attrs import frozen
else:
    frozen = _frozen


def _equals(self: Any, other: object) -> bool:
    _compare(self.__class__)
    return self.__eq__(other)  # type: ignore[no-any-return]


def _hashed(self: Any) -> int:
    _compare(self.__class__)
    return self.__hash__()  # type: ignore[no-any-return]


def _compare(record: type[attrs.AttrsInstance]) -> None:
    """Give a class its comparison and its hash: by the fields that are to be compared."""
    compared = [field.name for field in attrs.fields(record) if field.eq]
    values = attrgetter(*compared) if compared else lambda _: ()
    name = record.__qualname__  # not the class, whose hash is its address: with one hash seed, sets have one order

    def equals(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash((name, values(self)))

    changed: Any = record
    changed.__eq__, changed.__hash__ = equals, hashed


@recursive_repr("...")
def _shown(self: Any) -> str:
    """Return the text of a record: its class and its fields."""
    shown = [
        f"{field.name}={getattr(self, field.name)!r}" for field in attrs.fields(self.__class__) if field.repr is True
    ]
    return f"{self.__class__.__qualname__.rsplit('>.', 1)[-1]}({', '.join(shown)})"
