"""The tables of docs/reference/definition-fields.md, made from the code: `python -m tests.docs.fields` writes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from greenroom.agents.definitions._definition_fields import FIELDS
from greenroom.core.sources import Field
from greenroom.skills._skill import SKILL_FIELDS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "definition-fields.md"


def table(fields: Iterable[Field]) -> str:
    lines = ["| field | takes | without it | what it does | skips all |", "| --- | --- | --- | --- | --- |"]
    for field in fields:
        is_strict = "yes" if field.restricts or field.default == "needed" else ""
        lines.append(f"| `{field.key}` | {field.takes} | {field.default} | {field.note} | {is_strict} |")
    return "\n".join(lines)


def insert(page: str) -> str:
    """Return the page with both tables between their marks."""
    for name, fields in (("definition", FIELDS), ("skill", SKILL_FIELDS)):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{table(fields.values())}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
