"""Reading the few lines of a long file that one wants: only those are decoded that bear a mark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def objects_of(path: Path, mark: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of those lines of a file in which some bytes stand; of a file that is not there, none."""
    try:
        lines = path.open("rb")
    except FileNotFoundError:
        return
    with lines:
        for line in lines:
            if mark not in line:
                continue
            try:
                values = json.loads(line)
            except ValueError:
                continue
            if isinstance(values, dict):
                yield values
