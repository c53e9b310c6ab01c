"""Writing Markdown: tables, code spans, counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_SUMMARY_CHARACTERS: Final = 200


def code(text: str) -> str:
    """Return text as a code span, whatever it holds."""
    if not text:
        return ""
    text = escaped(text)
    fence = "`"
    while fence in text:
        fence += "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def escaped(text: str) -> str:
    """Return text with line ends and other characters that cannot be seen written as escapes."""
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a table; numbers are set to the right and grouped by thousands."""
    cells = [list(row) for row in rows]
    if not cells:
        return []
    is_number = [all(isinstance(row[at], int) for row in cells) for at in range(len(columns))]
    marks = ["---:" if right else "---" for right in is_number]
    return [_row(columns), _row(marks), *(_row([_cell(cell) for cell in row]) for row in cells)]


def more(shown: int, total: int, what: str) -> list[str]:
    """Return a line on what a table does not show, if there is more."""
    return ["", f"And {total - shown:,} more {what}."] if total > shown else []


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(part: int, whole: int) -> str:
    """Return a share; never 100% where something is missing."""
    if not whole:
        return "-"
    return f"{part * 100 // whole}%"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _row(cells: Iterable[str]) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def left_out_summary(found: Sequence[str]) -> list[str]:
    """Return the line of a summary that names what was not looked at; nothing if all was."""
    if not found:
        return []
    shown = "; ".join(map(_shortened, found[:2]))
    others = f"; and {len(found) - 2:,} more, listed at the end" if len(found) > 2 else ""
    return [f"- **Left out:** {shown}{others}"]


def left_out_section(found: Sequence[str]) -> list[str]:
    """Return the section of a report that lists what was not looked at."""
    return [
        "",
        "## What was left out",
        "",
        *(f"- {line}" for line in found),
        *([] if found else ["Nothing that could be seen."]),
    ]


def _shortened(line: str) -> str:
    if len(line) <= _SUMMARY_CHARACTERS:
        return line
    start = line[:_SUMMARY_CHARACTERS]
    return f"{start}{'`' * (start.count('`') % 2)}..."
