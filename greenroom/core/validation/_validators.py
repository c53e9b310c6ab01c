"""Validation of spec fields at construction: the type of each value, by its annotation, and its range.

    @attrs.frozen(kw_only=True, field_transformer=checked)
    class Backoff:
        first_s: float = attrs.field(default=0.1, validator=not_negative)

A value that does not fit raises `BadValue`, which names the class, the field and the value.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    final,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs

from greenroom.core._errors import UsageError

E = TypeVar("E", bound=StrEnum)

_UNIONS: Final = (Union, types.UnionType)
_SEQUENCES: Final[tuple[Any, ...]] = (tuple, list, Sequence, Iterable, Collection)
_NAMES: Final = {type(None): "None", str: "text", int: "a whole number", float: "a number", bool: "True or False"}


@final
class BadValue(UsageError, ValueError):
    """A field of a spec was given an invalid value.

    Attributes:
        problem: The problem, without the name of the class.
    """

    def __init__(self, owner: str, problem: str) -> None:
        super().__init__(f"{owner}.{problem}" if owner else problem)
        self.problem = problem


def checked(_: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Add a type check to every field of a class, before its own validators: a `field_transformer`."""
    return [field.evolve(validator=_Check(field.validator)) for field in fields]


Kind: TypeAlias = Callable[[Any], bool]


@final
class _Check:
    """The validator of one field: its type, then the validator that its class declares."""

    def __init__(self, then: Callable[[Any, attrs.Attribute[Any], Any], object] | None) -> None:
        self._then = then
        self._kinds: dict[type, Kind] = {}
        """By class: a field that is inherited may be of another kind there."""

    def __call__(self, instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        owner = type(instance)
        fits_here = self._kinds.get(owner)
        if fits_here is None:
            fits_here = self._kinds[owner] = _kind_of(_hint(owner, attribute))
        if not fits_here(value):
            name = attribute.name.lstrip("_")
            raise BadValue(owner.__name__, f"{name} must be {in_words(_hint(owner, attribute))}, got {value!r}")
        if self._then is not None:
            self._judge(owner, instance, attribute, value)

    def _judge(self, owner: type, instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        assert self._then is not None
        try:
            self._then(instance, attribute, value)
        except BadValue as error:
            raise BadValue(owner.__name__, error.problem) from None
        except (TypeError, ValueError, UsageError) as error:
            name = attribute.name.lstrip("_")
            said = str(error).removeprefix(f"'{attribute.name}' ").removeprefix(f"{name} ")
            got = "" if str(value) in said else f", got {value!r}"
            what = name if said.startswith(("must ", "has to ", "is ")) else f"{name}:"
            raise BadValue(owner.__name__, f"{what} {said}{got}") from None


def _hint(owner: Any, attribute: attrs.Attribute[Any]) -> Any:
    return _hints(owner).get(attribute.name, Any)


@cache
def _hints(owner: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(owner)
    except NameError:  # an annotation for type checkers alone
        return {}


def fits(value: Any, hint: Any) -> bool:
    """True if a value is of the type that an annotation names; values that cannot be examined fit.

    A whole number fits a number, a bool only a bool, a list a tuple of one type, and text never a sequence.
    """
    return _kind_of(hint)(value)


@cache
def _kind_of(hint: Any) -> Kind:
    """Return the check of one annotation, which is read once: specs are made in every turn of every agent."""
    if hint is Any:
        return _anything
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind_of(args[0])
    if origin in _UNIONS:
        return _any_of(tuple(map(_kind_of, args)))
    if origin is Literal:
        return lambda value: any(value == word and type(value) is type(word) for word in args)
    if origin in _SEQUENCES or hint in _SEQUENCES:
        return _sequence(origin, tuple(_kind_of(kind) for kind in args if kind is not ...), is_open=args[-1:] == (...,))
    if origin in {Mapping, dict} or hint in {Mapping, dict}:
        return _mapping(*map(_kind_of, args or (Any, Any)))
    if origin in {frozenset, set}:
        each = _kind_of(args[0])
        return lambda value: isinstance(value, frozenset | set) and all(map(each, value))
    if origin is Callable or hint is Callable or _is_callable_alias(hint):
        return callable
    return _plain(hint, origin)


def _plain(hint: Any, origin: Any) -> Kind:
    if hint is Decimal:
        return lambda value: isinstance(value, Decimal | int) and not isinstance(value, bool)
    if hint in {int, float}:
        numbers: Any = int if hint is int else int | float
        return lambda value: isinstance(value, numbers) and not isinstance(value, bool)
    plain = hint if isinstance(hint, type) else origin
    if not isinstance(plain, type) or plain is object or getattr(plain, "_is_protocol", False):
        return _nothing if hint is None else _anything
    # Where nothing is asked but the class, its own check is called, without a frame around it.
    return plain.__instancecheck__ if type(plain).__instancecheck__ is type.__instancecheck__ else _of(plain)


def _of(plain: type) -> Kind:
    return lambda value: isinstance(value, plain)


def _anything(_: Any) -> bool:
    return True


def _nothing(value: Any) -> bool:
    return value is None


def _any_of(kinds: tuple[Kind, ...]) -> Kind:
    if len(kinds) == 2:  # mostly a kind or None
        first, second = kinds
        return lambda value: first(value) or second(value)
    return lambda value: any(kind(value) for kind in kinds)


def _mapping(key: Kind, each: Kind) -> Kind:
    if key is _anything and each is _anything:
        return lambda value: isinstance(value, Mapping)
    return lambda value: isinstance(value, Mapping) and all(key(name) and each(one) for name, one in value.items())


def _sequence(origin: Any, kinds: tuple[Kind, ...], *, is_open: bool) -> Kind:
    is_exact = origin is tuple and bool(kinds) and not is_open

    def fits_sequence(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping):
            return False
        if not isinstance(value, Collection):  # one that can be walked only once is not looked at
            return origin is Iterable and isinstance(value, Iterable)
        if is_exact:
            return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_apply, kinds, value))
        return not kinds or all(map(kinds[0], value))

    return fits_sequence


def _apply(kind: Kind, value: Any) -> bool:
    return kind(value)


def _is_callable_alias(hint: Any) -> bool:
    return get_origin(hint) is not None and getattr(get_origin(hint), "__name__", "") == "Callable"


def in_words(hint: Any) -> str:
    """Return the type that an annotation asks for, in words."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return in_words(args[0])
    if origin in _UNIONS:
        return " or ".join(map(in_words, args))
    if origin is Literal:
        return f"one of {', '.join(map(repr, args))}"
    if origin in _SEQUENCES:
        return f"a sequence of {_plural(args[0])}" if args else "a sequence"
    if origin in {Mapping, dict}:
        return "a mapping"
    if _is_callable_alias(hint):
        return "a function"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return f"one of {', '.join(repr(str(word)) for word in hint)}"
    return _NAMES.get(hint) or f"of the class {getattr(hint, '__name__', hint)}"


def _plural(hint: Any) -> str:
    if hint is Any:
        return "values"
    return {str: "texts", int: "whole numbers", float: "numbers"}.get(hint) or f"values, each {in_words(hint)}"


# --- converters -------------------------------------------------------------------------------------------------------


def as_word(words: type[E], value: E | str) -> E:
    """Return the enum member of a text; other values unchanged, for the field check to refuse."""
    try:
        return words(value)
    except ValueError:
        return value  # type: ignore[return-value]


def as_tuple(value: Iterable[str]) -> tuple[str, ...]:
    """Return a sequence as a tuple; other values unchanged, for the field check to refuse."""
    given: Any = value
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else given


# --- ranges -----------------------------------------------------------------------------------------------------------


def _refuse_unless(holds: bool, attribute: attrs.Attribute[Any], constraint: str, value: object) -> None:  # noqa: FBT001
    if not holds:
        raise BadValue("", f"{attribute.name} must be {constraint}, got {value!r}")


def positive(_: object, attribute: attrs.Attribute[Any], value: float) -> None:
    """Require a value above 0."""
    _refuse_unless(value > 0, attribute, "more than 0", value)


def not_negative(_: object, attribute: attrs.Attribute[Any], value: float) -> None:
    """Require 0 or more."""
    _refuse_unless(value >= 0, attribute, "0 or more", value)


def finite(_: object, attribute: attrs.Attribute[Any], value: float) -> None:
    """Require a finite number of seconds: an actor that never ends would block its supervisor."""
    _refuse_unless(0 <= value < math.inf, attribute, "a finite number of seconds, 0 or more", value)


def at_least_one(_: object, attribute: attrs.Attribute[Any], value: float) -> None:
    """Require 1 or more."""
    _refuse_unless(value >= 1, attribute, "1 or more", value)
