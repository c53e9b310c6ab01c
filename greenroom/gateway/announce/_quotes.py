"""Quoting of what models said, so that no line of it can pass for a line of the gateway's own."""

from __future__ import annotations

from typing import Final

from greenroom.core.texts import escape_text

QUOTE: Final = "> "
"""Begins every line of a quoted text: no label, and no line of statistics, begins so."""


def one_line(text: str, limit: int) -> str:
    """Return a text on one line, cut at `limit` characters."""
    line = " ".join(escape_text(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def quoted(label: str, text: str) -> str:
    """Return a label with a text: on its own line if the text is one line, else below it with each line quoted."""
    lines = escape_text(text.strip()).splitlines()  # every kind of line break that a reader may take for one
    if len(lines) <= 1:
        return f"{label} {''.join(lines)}".rstrip()
    return "\n".join((label, *(f"{QUOTE}{line}".rstrip() for line in lines)))
