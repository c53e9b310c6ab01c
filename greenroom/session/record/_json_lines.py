"""Reading the few lines of a long file that one wants: only lines that hold a mark are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

BLOCK_BYTES: Final = 1 << 20
"""Bytes that are searched at once: marks are found far faster than lines."""


def objects_of(path: Path, *marks: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of the lines of a file that hold one of the marks; nothing if the file does not exist."""
    import orjson

    for line in _lines_of(path, marks):
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(values, dict):
            yield values


def _lines_of(path: Path, marks: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield the lines of a file that hold one of the marks, in order."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        torn: list[bytes] = []
        """The beginning of a line whose end was not read yet."""
        while block := file.read(BLOCK_BYTES):
            end = block.rfind(b"\n") + 1
            if not end:
                torn.append(block)
                continue
            yield from _marked(b"".join((*torn, block[:end])), marks)
            torn = [block[end:]]
        yield from _marked(b"".join(torn), marks)


def _marked(lines: bytes, marks: tuple[bytes, ...]) -> Iterator[bytes]:
    places = {mark: lines.find(mark) for mark in marks}
    while found := [at for at in places.values() if at >= 0]:
        first = min(found)
        end = lines.find(b"\n", first) + 1 or len(lines)
        yield lines[lines.rfind(b"\n", 0, first) + 1 : end]
        places |= {mark: lines.find(mark, end) for mark, at in places.items() if 0 <= at < end}
