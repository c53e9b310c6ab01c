"""JSON for any value: text stands in for what JSON cannot represent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, Final

import attrs

_INT64: Final = 2**63
_DEEPEST: Final = 100
"""Deeper nesting is written as text; orjson gives up at 254 levels."""


def as_json(value: Any, option: int | None = None) -> bytes:
    """Return a value as JSON, with text in place of values that JSON cannot represent. It never fails.

    Args:
        value: Any value.
        option: Options of orjson.
    """
    import orjson

    try:
        return orjson.dumps(value, json_default, option)
    except TypeError:
        return orjson.dumps(_written_out(value), option=option)


def json_default(value: Any) -> Any:
    """Convert a value for which JSON has no type."""
    if attrs.has(type(value)):
        return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    if isinstance(value, AbstractSet):
        return sorted(value, key=repr)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)


def _written_out(value: Any, levels: int = _DEEPEST) -> Any:
    """Return the value with everything that JSON cannot represent replaced by text.

    That is lone surrogates, numbers above 64 bits, and overly deep nesting.
    """
    if isinstance(value, str):
        return _as_utf8(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return int(value) if -_INT64 <= value < _INT64 else str(value)
    if not levels:
        return _as_utf8(safe_repr(value))
    if isinstance(value, Mapping):
        return {_as_utf8(str(key)): _written_out(item, levels - 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_written_out(item, levels - 1) for item in value]
    return _written_out(json_default(value), levels - 1)


def safe_repr(value: Any) -> str:
    """Return the `repr` of a value, or its type if `repr` fails: it may be too deep, or raise anything."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a foreign object's own code
        return f"<{type(value).__name__}>"


def _as_utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
