"""The tables of docs/reference/mcp.md, made from the code: `python -m tests.docs.mcp` writes them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Final

import attrs

from greenroom.mcp import EVENTS, McpSettings, ServerScope, ServerStatus
from greenroom.mcp._events import McpEvent
from greenroom.mcp._mcp_settings import VARIABLES
from greenroom.mcp._server_lifecycle import TRANSITIONS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "mcp.md"


def notes_of(cls: type) -> dict[str, str]:
    """Return what stands below each member of a class, in one line."""
    (tree,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            name = target.id if isinstance(target, ast.Name) else ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            found[name], name = " ".join(str(node.value.value).split()), ""
    return found


def settings() -> str:
    notes = notes_of(McpSettings)
    lines = ["| setting | default | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{field.name}` | {field.default:,g} | {notes[field.name]} |" for field in attrs.fields(McpSettings)]
    return "\n".join(lines)


def variables() -> str:
    lines = ["| ours | what people have |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| `{own}` | `{theirs}` |" for own, theirs in VARIABLES)])


def scopes() -> str:
    notes = notes_of(ServerScope)
    lines = ["| whose | note |", "| --- | --- |"]
    return "\n".join(
        [*lines, *(f"| `{server_scope.value}` | {notes.get(server_scope.name, '')} |" for server_scope in ServerScope)]
    )


def statuses() -> str:
    lines = ["| status | then | event |", "| --- | --- | --- |"]
    for status in ServerStatus:
        for event, after in TRANSITIONS[status].items():
            lines.append(f"| `{status.value}` | `{after.value}` | `{event.kind}` |")
    return "\n".join(lines)


def events() -> str:
    common = {field.name for field in attrs.fields(McpEvent)}
    lines = ["| event | says | fields |", "| --- | --- | --- |"]
    for event in EVENTS:
        fields = ", ".join(f"`{field.name}`" for field in attrs.fields(event) if field.name not in common)
        lines.append(f"| `{event.kind}` | {inspect.getdoc(event)} | {fields} |")
    return "\n".join(lines)


TABLES: Final = {"settings": settings, "variables": variables, "scopes": scopes, "statuses": statuses, "events": events}


def insert(page: str) -> str:
    """Return the page with every table between its marks."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, mark, rest = page.partition(begin)
        assert mark, f"the page has no place for the table of {name}"
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{make()}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
