"""Parsing of command lines that reads the annotations of a command once per process, not twice for each command line."""

from functools import cache
from typing import get_type_hints

from cyclopts import field_info


def read_annotations_once() -> None:
    """Remember what annotations say; a second call changes nothing."""
    setattr(field_info, "get_type_hints", _HINTS)  # noqa: B010 - mypy compares with the function's own type


_HINTS = cache(get_type_hints)
