"""Simplification of a failing list of choices: shorter, with more zeros, with lower numbers.

A list counts only if its run fails in the same way. The passes are repeated until none helps, or the runs are used up.
Zeros are the plain schedule without faults and follow every list implicitly, so trailing zeros are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

Fails: TypeAlias = Callable[[tuple[int, ...]], bool]


def trimmed(choices: Sequence[int]) -> tuple[int, ...]:
    """Return a list without trailing zeros."""
    end = len(choices)
    while end and choices[end - 1] == 0:
        end -= 1
    return tuple(choices[:end])


def shrink(choices: Sequence[int], fails: Fails, *, most: int) -> tuple[tuple[int, ...], int]:
    """Return a simpler list that still fails, and the number of runs.

    Args:
        choices: A list that fails.
        fails: Runs a list and returns True if it fails in the same way.
        most: Maximum number of runs.
    """
    best, runs = trimmed(choices), 0
    seen = {best}
    is_better = True
    while is_better:
        is_better = False
        for candidate in _simpler(best):
            if candidate in seen:
                continue
            if runs >= most:
                return best, runs
            seen.add(candidate)
            runs += 1
            if fails(candidate):
                best, is_better = candidate, True
                break
    return best, runs


def _simpler(choices: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield simpler lists, the boldest first."""
    length = len(choices)
    cut = 0
    while cut < length:  # keep nothing, half, three quarters ...
        yield trimmed(choices[:cut])
        cut += max(1, (length - cut) // 2)
    size = length // 2
    while size:  # remove ever smaller blocks; later choices move up
        for start in range(0, length, size):
            yield trimmed((*choices[:start], *choices[start + size :]))
        size //= 2
    size = length
    while size:  # zero ever smaller blocks
        for start in range(0, length, size):
            if any(choices[start : start + size]):
                zeros = (0,) * len(choices[start : start + size])
                yield trimmed((*choices[:start], *zeros, *choices[start + size :]))
        size //= 2
    for place, choice in enumerate(choices):
        for lower in dict.fromkeys((1, choice // 2, choice - 1)):
            if 0 < lower < choice:
                yield (*choices[:place], lower, *choices[place + 1 :])
