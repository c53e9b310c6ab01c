"""The tables of docs/design/gateway.md, made from the code: `python -m tests.docs.gateway` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from greenroom.gateway.record._machines import DELIVERY, SESSION, WORDS
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "design" / "gateway.md"


def _rows(name: str, machine: Mapping[StrEnum, Mapping[StrEnum, StrEnum]]) -> list[tuple[str, ...]]:
    return [
        (name, state.value, ", ".join(f"`{edge.value}` to {target.value}" for edge, target in row.items()) or "the end")
        for state, row in machine.items()
    ]


def machines() -> str:
    """Return the table of both machines that are the gateway's own."""
    return table(
        ("machine", "state", "steps"),
        [*_rows("delivery", DELIVERY), *_rows("session", SESSION)],  # type: ignore[arg-type]  # of enums of their own
    )


def words() -> str:
    """Return the table of the words for an end."""
    rows = [
        (state.value, cause.value, *(f"`{word}`" for word in (found.status, found.template, found.listed)))
        for (state, cause), found in WORDS.items()
    ]
    return table(("run", "cause", "`outcome.status`", "`Status:` line", "list"), rows)


def insert(page: str) -> str:
    """Return the page with both tables between their marks."""
    for name, content in (("machines", machines()), ("words", words())):
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = f"\n{rest}".partition(end)
        page = f"{before}{begin}{content}{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
