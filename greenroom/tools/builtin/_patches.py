"""Differences between two texts, as hunks of lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, Final

CONTEXT_LINES: Final = 3
MAX_COMPARED: Final = 300
"""Maximum number of lines between the first and the last change that are compared one by one."""

Opcode = tuple[str, int, int, int, int]


def patch_of(before: str, after: str) -> list[dict[str, Any]]:
    """Return the hunks that lead from one text to another; none where both are the same.

    Each has `oldStart`, `oldLines`, `newStart`, `newLines`, lines counted from 1, and `lines`, each with ` `, `-` or `+` before it.
    """
    if before == after:
        return []
    old, new = _lines(before), _lines(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first, last_old, last_new = max(0, start - CONTEXT_LINES), len(old) - end, len(new) - end
    more = min(end, CONTEXT_LINES)
    if max(last_old, last_new) - start <= MAX_COMPARED:
        part = old[first : last_old + more], new[first : last_new + more]
        groups = SequenceMatcher(None, *part, autojunk=False).get_grouped_opcodes(CONTEXT_LINES)
        return [_hunk([_moved(line, first) for line in group], old, new) for group in groups]
    whole = [
        ("equal", first, start, first, start),
        ("replace", start, last_old, start, last_new),
        ("equal", last_old, last_old + more, last_new, last_new + more),
    ]
    return [_hunk(whole, old, new)]


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a final line end gives an empty line at the end, so that texts with and without it
    differ.
    """
    return text.split("\n") if text else []


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines are the same at the beginning of both."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _moved(opcode: Opcode, by: int) -> Opcode:
    tag, i1, i2, j1, j2 = opcode
    return tag, i1 + by, i2 + by, j1 + by, j2 + by


def _hunk(opcodes: Sequence[Opcode], old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    lines: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            lines += [f" {line}" for line in old[i1:i2]]
            continue
        lines += [f"-{line}" for line in old[i1:i2]]
        lines += [f"+{line}" for line in new[j1:j2]]
    (_, i1, _, j1, _), (_, _, i2, _, j2) = opcodes[0], opcodes[-1]
    return {"oldStart": i1 + 1, "oldLines": i2 - i1, "newStart": j1 + 1, "newLines": j2 - j1, "lines": lines}
