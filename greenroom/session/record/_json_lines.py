"""Reading the few lines of a long file that one wants: only lines that hold a mark are decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def objects_of(path: Path, *marks: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of the lines of a file that hold one of the marks; nothing if the file does not exist."""
    try:
        lines = path.open("rb")
    except FileNotFoundError:
        return
    with lines:
        for line in lines:
            if not any(mark in line for mark in marks):
                continue
            try:
                values = json.loads(line)
            except ValueError:
                continue
            if isinstance(values, dict):
                yield values
