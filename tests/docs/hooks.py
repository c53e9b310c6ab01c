"""The tables of docs/reference/hooks.md, made from the code: `python -m tests.docs.hooks` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from greenroom.hooks import Exit, HandlerType, Refusal
from greenroom.hooks._event_table import CATALOG
from greenroom.hooks.inputs._encoding import INPUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "hooks.md"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ticked(words: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words) or "-"


def events() -> str:
    """Return the table of the events."""
    rows = []
    for event, row in CATALOG.items():
        handlers = "all" if len(row.handlers) == len(HandlerType) else _ticked(sorted(row.handlers))
        stops = "ends everything" if row.can_stop else "-"
        rows.append((f"`{event}`", row.matches or "-", handlers, stops))
    return _table(("event", "matched by", "handlers", "`continue: false`"), rows)


def inputs() -> str:
    """Return the table of their inputs."""
    rows = []
    for event in CATALOG:
        told = INPUTS[event]
        fields = [field for field in attrs.fields(told) if field.metadata.get("is_encoded", True)]
        names = tuple(field.metadata.get("key", field.name) + "?" * (field.default is None) for field in fields)
        rows.append((f"`{event}`", _ticked(names), " ".join((told.__doc__ or "").split())))
    return _table(("event", "input", "when"), rows)


def answers() -> str:
    """Return the table of their answers."""
    rows = []
    for event, row in CATALOG.items():
        may = [f"`{name}`" for name in sorted(row.specific)]
        may += ['`decision: "block"`'] * row.decides + ["text is context"] * row.takes_text
        noted = row.exits is Exit.IS_NOTED
        if noted and not may:
            continue
        refused = "-" if row.refusal is Refusal.IGNORED else row.refusal.value
        rows.append((f"`{event}`", row.exits.value, row.block or "-", ", ".join(may) or "-", refused))
    return _table(("event", "exit code", "blocking means", "may be said", "`ok: false` of a prompt"), rows)


def insert(page: str) -> str:
    """Return the page with all tables between their marks."""
    for name, content in (("events", events()), ("inputs", inputs()), ("answers", answers())):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{content}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
