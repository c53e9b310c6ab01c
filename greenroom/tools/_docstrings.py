"""Parser of docstrings for the model: the first paragraph, and the meaning of each argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import attrs

_HEADING: Final = re.compile(r"(Args|Arguments|Attributes):\s*")
_ENTRY: Final = re.compile(r"(\*{0,2}[\w-]+)(?: \([^)]*\))?:\s*(.*)")


@attrs.frozen
class Described:
    """The parts of a docstring for the model."""

    summary: str
    """The first paragraph on one line; empty without a docstring."""
    entries: Mapping[str, str]
    """The text of each name under `Args:` or `Attributes:`, on one line."""


def describe(documented: object) -> Described:
    """Read the docstring of a function or class; an inherited one does not count."""
    # A class without a docstring would answer with that of its base, and `dict` has a long one.
    own = vars(documented).get("__doc__") if isinstance(documented, type) else getattr(documented, "__doc__", None)
    return _described(own if isinstance(own, str) else "")


@lru_cache(maxsize=1_024)
def _described(written: str) -> Described:
    """Read a docstring; once, because every session makes its own tools of the same functions."""
    text = inspect.cleandoc(written)
    summary = " ".join(text.split("\n\n", 1)[0].split())
    return Described(summary, _entries(text.splitlines()))


def _entries(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    is_inside = False
    indent = 0
    current: list[str] | None = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if depth == 0:
            is_inside = _HEADING.fullmatch(line) is not None
            indent = 0
            current = None
            continue
        if not is_inside:
            continue
        indent = indent or depth
        entry = _ENTRY.fullmatch(line.strip()) if depth == indent else None
        if entry is not None:
            current = found.setdefault(entry[1], [])
            current.append(entry[2])
        elif current is not None:
            current.append(line.strip())
    return {name: " ".join(" ".join(parts).split()) for name, parts in found.items()}
