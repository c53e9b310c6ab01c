"""Frozen records whose comparison, hash and text are made when they are first used.

`frozen` is `attrs.frozen`, with one difference: attrs compiles three methods for each class at its import, which is more
than half of the cost of a class, and most records are never compared, hashed or shown. This module must import nothing
of greenroom.

`record_maker` and `altered` are for those who make very many records: readers of journals, folds. The constructor of a frozen class sets
each field through a function, because plain assignment is refused. A record of a maker is filled by plain assignment while it still belongs
to an open class of the same layout, and becomes one of its own class then: a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

__all__ = ["altered", "frozen", "record_maker"]


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
    options.setdefault("weakref_slot", False)  # nobody has a weak reference to one, and `record_maker` needs the place
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


R = TypeVar("R")


def record_maker(kind: type[R]) -> Callable[..., R]:
    """Return a function that makes records of a class of attrs from the values of all its fields, in order.

    Records are those that the constructor makes. It is called itself where it does more than to set fields (validators, converters,
    functions that run afterwards), or where the layout of the class does not allow the short way: a class without slots, or with
    references that are weak (`weakref_slot`).
    """
    maker: Callable[..., R] | None = _makers.get(kind)
    if maker is None:
        maker = _makers[kind] = _open_class(kind) or _caller(kind)
    return maker


def altered(record: R, **values: Any) -> R:
    """Return a frozen record with other values of some fields, as `attrs.evolve` does, in a fraction of the time.

    Raises:
        KeyError: The record has no such field.
    """
    kind = record.__class__
    read, place_of, make = _fields.get(kind) or _read_fields(kind)
    fields = [*read(record)]
    for name, value in values.items():
        fields[place_of[name]] = value
    made: R = make(*fields)
    return made


_makers: Final[dict[type, Callable[..., Any]]] = {}
_fields: Final[dict[type, tuple[Callable[[Any], tuple[Any, ...]], dict[str, int], Callable[..., Any]]]] = {}


def _read_fields(kind: type[Any]) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, int], Callable[..., Any]]:
    names = [field.name for field in attrs.fields(kind)]
    read = attrgetter(*names) if len(names) > 1 else lambda record: tuple(getattr(record, name) for name in names)
    found = _fields[kind] = read, {name: place for place, name in enumerate(names)}, record_maker(kind)
    return found


def _caller(kind: type[R]) -> Callable[..., R]:
    arguments = [field.alias if field.init else "" for field in attrs.fields(kind)]  # type: ignore[arg-type]

    def call(*values: Any) -> R:
        return kind(**{name: value for name, value in zip(arguments, values, strict=True) if name})

    return call


def _open_class(kind: type[R]) -> Callable[..., R] | None:
    """Return a class of the same layout whose objects become records of the given class; None if there cannot be one."""
    fields, own = attrs.fields(kind), vars(kind)  # type: ignore[arg-type]
    hooks = ("__attrs_pre_init__", "__attrs_post_init__", "__attrs_init__", "__new__")
    if "__slots__" not in own or any(getattr(kind, name, None) is not getattr(object, name, None) for name in hooks):
        return None
    if any(field.validator or field.converter or not field.init for field in fields):
        return None

    def close(made: Any) -> None:
        made.__class__ = kind

    body = {
        "__slots__": own["__slots__"],
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
        "__attrs_post_init__": close,
    }
    try:
        made = type(kind.__name__, kind.__bases__, body)
        close(object.__new__(made))
    except TypeError:  # another layout
        return None
    these = {field.name: attrs.field(alias=field.alias) for field in fields}
    return attrs.define(made, these=these, slots=False, eq=False, repr=False)
