"""Answers of the gateway as they are printed: JSON for programs, and short lines for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from greenroom.core.texts import as_json, printable_text
from greenroom.terminal import json_for_reader

_TIMES: Final = frozenset({"startedAt", "endedAt", "createdAt", "updatedAt", "dueAt", "askedAt", "expiresAt", "nextMs"})
_MAX_TEXT: Final = 200


def print_lines(*lines: str) -> None:
    """Print lines; a process without standard output prints nothing."""
    if sys.stdout is not None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    import orjson

    print_lines(json_for_reader(as_json(facts, orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()))


def print_rows(rows: Iterable[Mapping[str, Any]], *, nothing: str) -> None:
    """Print a line for each row, with its values by name.

    Args:
        rows: The rows.
        nothing: What is printed if there are none.
    """
    lines = [row_text(row) for row in rows]
    print_lines(*(lines or [nothing]))


def row_text(row: Mapping[str, Any]) -> str:
    """Return a row as one line."""
    return "  ".join(f"{name}={_text(name, value)}" for name, value in row.items() if value not in ("", None, {}, []))


def _text(name: str, value: Any) -> str:
    if name in _TIMES and isinstance(value, int | float):
        return datetime.fromtimestamp(value / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return "{" + " ".join(f"{key}={_text(str(key), each)}" for key, each in value.items()) + "}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    line = printable_text(" ".join(str(value).split()))
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"
