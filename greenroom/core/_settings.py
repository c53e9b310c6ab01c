"""Reading settings: plain mappings into attrs classes, with every problem named by its full path.

Rule 1: an unknown key is refused. Rule 2: all problems of one source are reported together.
Must not know: where files lie and which settings there are; folders declare their own part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Final, TypeVar

import cattrs
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from greenroom.core._errors import SettingsError

S = TypeVar("S")


def read_settings(settings_class: type[S], values: Mapping[str, Any], *, source: str) -> S:
    """Make an attrs settings object from a mapping.

    Args:
        settings_class: An attrs class; nested attrs classes are nested mappings.
        values: What a settings file held; missing keys take the class's defaults.
        source: Where the values came from, for the message.

    Raises:
        SettingsError: A key is unknown or a value does not fit; `problems` names each with its path.
    """
    try:
        return _converter().structure(dict(values), settings_class)
    except BaseValidationError as error:
        problems = cattrs.transform_error(error, format_exception=_describe)
        raise SettingsError(source, tuple(_place(problem) for problem in problems)) from None


@cache
def _converter() -> cattrs.Converter:
    """Return the reader of all settings; it writes code for each class that it meets, once."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(Decimal, _decimal)
    for plain in (str, bool):  # settings say what they mean: 3 is no text, and "false" is no switch
        converter.register_structure_hook(plain, _exact(plain))
    converter.register_structure_hook(str | int | None, _word_or_number)
    return converter


def _exact(wanted: type[Any]) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, wanted):
            raise TypeError(f"{value!r} is no {_NAMES[wanted]}")
        return value

    return structure


_NAMES: Final = {str: "text", bool: "switch (true or false)"}


def _word_or_number(value: Any, _: Any) -> str | int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise TypeError(f"{value!r} is neither a word nor a whole number")
    return value


def _decimal(value: Any, _: type[Decimal]) -> Decimal:
    """Read money as it is written: `0.1` is a tenth, not the nearest float."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise TypeError(f"{value!r} is no number")
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is no number") from None
    if not number.is_finite():
        raise ValueError(f"{value!r} is no finite number")
    return number


def _describe(error: BaseException, expected: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        return "unknown key " + ", ".join(sorted(repr(key) for key in error.extra_fields))
    if isinstance(error, KeyError):
        return "required key is missing"
    name = getattr(expected, "__name__", str(expected))
    return f"{error} (expected {name})" if expected is not None else str(error)


def _place(problem: str) -> str:
    what, _, path = problem.rpartition(" @ ")
    return f"{path.removeprefix('$').removeprefix('.') or 'top level'}: {what}"
