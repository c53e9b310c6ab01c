"""Reading of settings: plain mappings into attrs classes, with every problem named by its full path; and switches.

Unknown keys are refused, and all problems of one source are reported together. Each folder declares its own settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cache, partial
from inspect import isabstract
from typing import Any, Final, Literal, TypeVar, final, get_args, get_origin

import attrs
import cattrs
from cattrs.cols import (
    homogenous_tuple_structure_factory,
    is_mapping,
    list_structure_factory,
    mapping_structure_factory,
)
from cattrs.errors import BaseValidationError, ClassValidationError, ForbiddenExtraKeysError, IterableValidationError

from greenroom.core._errors import SettingsError
from greenroom.core.validation._validators import BadValue

S = TypeVar("S")


def read_settings(settings_class: type[S], values: Mapping[str, Any], *, source: str) -> S:
    """Return an attrs settings object made from a mapping.

    Args:
        settings_class: An attrs class; nested attrs classes are nested mappings.
        values: Content of a settings file; missing keys take the defaults of the class.
        source: Origin of the values, for the message.

    Raises:
        SettingsError: A key is unknown or a value does not fit; `problems` names each with its path.
    """
    try:
        return _converter().structure(dict(values), settings_class)
    except BaseValidationError as error:
        problems = cattrs.transform_error(error, format_exception=_describe)
        raise SettingsError(source, tuple(_place(problem) for problem in problems)) from None


def locate_problems(
    error: BaseException, key_of: Callable[[str], str], *, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], BaseException]]:
    """Yield each problem of a value that could not be structured, with its path.

    Args:
        error: What the converter raised.
        key_of: Returns the key in the file of an attribute of a class.
        path: Where the value stands.
    """
    match error:
        case ClassValidationError():
            noted, others = error.group_exceptions()
            for each, note in noted:
                yield from locate_problems(each, key_of, path=(*path, key_of(note.name)))
            for each in others:
                yield from locate_problems(each, key_of, path=path)
        case IterableValidationError():
            placed, others = error.group_exceptions()
            for each, place in placed:
                yield from locate_problems(each, key_of, path=(*path, place.index))
            for each in others:
                yield from locate_problems(each, key_of, path=path)
        case ForbiddenExtraKeysError():
            yield from (((*path, key), error) for key in sorted(error.extra_fields))
        case _:
            yield path, error


@final
class WrongKind(TypeError):
    """A value is not of the wanted type; the text is the complete message.

    Attributes:
        value: The value.
        wanted: The type, in words.
    """

    def __init__(self, value: object, wanted: str) -> None:
        super().__init__(f"{value!r} is not {wanted}")
        self.value = value
        self.wanted = wanted


class _Misfit(TypeError):
    """A value does not fit; the text is the complete message."""


@cache
def _converter() -> cattrs.Converter:
    """Return the converter of all settings; it generates code once for each class."""
    return make_converter()


def make_converter() -> cattrs.Converter:
    """Return a strict converter: no unknown keys, and no value becomes one of another type."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(Decimal, _decimal)
    for plain in (str, bool, int):  # strict: 3 is not text, and "false" is not a switch
        converter.register_structure_hook(plain, _exact(plain))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(str | int | None, _word_or_number)
    for makes, structure in (
        (attrs.has, converter.gen_structure_attrs_fromdict),
        (is_mapping, partial(_mapping, converter=converter)),
    ):
        converter.register_structure_hook_factory(makes, partial(_of_object, structure))
    converter.register_structure_hook_factory(_is_choice, _one_of)
    tuples = partial(homogenous_tuple_structure_factory, converter=converter)
    converter.register_structure_hook_factory(_is_tuple, partial(_of_list, tuples))
    lists = partial(list_structure_factory, converter=converter)
    converter.register_structure_hook_factory(_is_list, partial(_of_list, lists))
    return converter


def _mapping(kind: Any, *, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    # Not the converter's own hook, which would replace the value that is made here.
    kept: type[Any] = get_origin(kind) or kind
    return mapping_structure_factory(kind, converter, dict if isabstract(kept) else kept)


def _exact(wanted: type[Any]) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise WrongKind(value, _NAMES[wanted])
        return value

    return structure


_NAMES: Final = {str: "text", bool: "a switch (true or false)", int: "a whole number"}


def _number(value: Any, _: Any) -> float:
    """Return a number; JSON can express infinity only as the text `inf`."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or value == "inf"):
        raise WrongKind(value, "a number")
    return float(value)


def _of_object(make: Callable[[Any], Callable[[Any, Any], Any]], kind: Any) -> Callable[[Any, Any], Any]:
    structure = make(kind)

    def checked(value: Any, wanted: Any) -> Any:
        if not isinstance(value, Mapping):
            raise WrongKind(value, "an object")
        return structure(value, wanted)

    return checked


def _is_choice(kind: Any) -> bool:
    return bool(get_origin(kind) is Literal)


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _of_list(make: Callable[[Any], Callable[[Any, Any], Any]], kind: Any) -> Callable[[Any, Any], Any]:
    structure = make(kind)

    def checked(value: Any, wanted: Any) -> Any:
        if not isinstance(value, list | tuple):  # text is a sequence too: `"Bash"` must not become B, a, s, h
            raise WrongKind(value, "a list")
        return structure(value, wanted)

    return checked


def _one_of(kind: Any) -> Callable[[Any, Any], Any]:
    words = get_args(kind)

    def checked(value: Any, _: Any) -> Any:
        if value not in words:
            raise _Misfit(f"expected one of {', '.join(map(str, words))}, got {value!r}")
        return value

    return checked


def _word_or_number(value: Any, _: Any) -> str | int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise _Misfit(f"{value!r} is neither a word nor a whole number")
    return value


def _decimal(value: Any, _: type[Decimal]) -> Decimal:
    """Return money exactly as written: `0.1` is a tenth, not the nearest float."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise WrongKind(value, "a number")
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a finite number")
    return number


def _describe(error: BaseException, expected: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl)]
        renamed: Mapping[str, str] = getattr(error.cl, "RENAMED", {})
        close = {key: get_close_matches(str(key), known, 1) for key in sorted(error.extra_fields)}
        near = [name for key, found in close.items() for name in ([renamed[key]] if key in renamed else found)]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        return "unknown key " + ", ".join(sorted(repr(key) for key in error.extra_fields)) + hint
    if isinstance(error, KeyError):
        return "required key is missing"
    if isinstance(error, BadValue):
        return error.problem
    if isinstance(error, _Misfit | WrongKind):
        return str(error)
    name = getattr(expected, "__name__", str(expected))
    return f"{error} (expected {name})" if expected is not None else str(error)


def _place(problem: str) -> str:
    what, _, path = problem.rpartition(" @ ")
    return f"{path.removeprefix('$').removeprefix('.') or 'top level'}: {what}"


_OFF: Final = frozenset({"0", "false", "no", "off"})


def read_switch(environ: Mapping[str, str], name: str) -> bool | None:
    """Return the state of a switch: True for any word except `0`, `false`, `no` and `off`, None if it is not set."""
    word = environ.get(name, "").strip().lower()
    return word not in _OFF if word else None
