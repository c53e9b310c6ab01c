"""A page of output, for people and for programs; and how durations, counts and cut lists look in one."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, final

import attrs

from greenroom.core.texts import as_json, printable_text
from greenroom.terminal._output import is_terminal, json_for_reader

T = TypeVar("T")


@final
@attrs.frozen(kw_only=True)
class Page:
    """A page of output."""

    facts: Mapping[str, Any]
    """For `--json`."""
    lines: Sequence[str]

    def print(self, *, is_json: bool) -> None:
        """Print it: as one JSON object, or as lines that are cut at the width of a terminal."""
        if is_json:
            import orjson

            print(json_for_reader(as_json(self.facts, orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()))
            return
        for line in self.cut_lines(shutil.get_terminal_size().columns if is_terminal() else sys.maxsize):
            print(line)

    def cut_lines(self, width: int) -> Iterator[str]:
        """Yield its lines without control characters, cut at a width: names are text of a model or a user."""
        for line in self.lines:
            safe = printable_text(line)
            yield safe if len(safe) <= width else safe[: width - 1] + "…"


def seconds(value: float) -> str:
    """Return a duration as people read it."""
    if not math.isfinite(value):
        return str(value)
    if value < 1:
        return f"{value * 1000:.3g} ms" if value else "0 s"
    if value < 120:
        return f"{value:.3g} s"
    return f"{int(value // 60)} min {value % 60:.0f} s"


def first_of(values: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """Return the values to list, and how many are left out: never just one, its line would be as long."""
    shown = values if len(values) <= most + 1 else values[:most]
    return shown, len(values) - len(shown)


def counted(number: int, thing: str) -> str:
    """Return a number and what is counted, in the plural where it is one."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def tally(counts: Mapping[str, int]) -> str:
    """Return `3 completed, 1 failed`, the most frequent first."""
    return ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
