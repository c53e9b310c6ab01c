"""Validation of fields and of settings, with errors that name the field."""

from greenroom.core.validation._settings_reader import (
    WrongKind,
    locate_problems,
    make_converter,
    read_settings,
    read_switch,
)
from greenroom.core.validation._validators import (
    BadValue,
    as_tuple,
    as_word,
    at_least_one,
    checked,
    finite,
    fits,
    in_words,
    not_negative,
    positive,
)

__all__ = [
    "BadValue",
    "WrongKind",
    "as_tuple",
    "as_word",
    "at_least_one",
    "checked",
    "finite",
    "fits",
    "in_words",
    "locate_problems",
    "make_converter",
    "not_negative",
    "positive",
    "read_settings",
    "read_switch",
]
