"""docs/design/regressions.md: which test holds which row of `tests/regressions.py`; `python -m tests.docs` writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tests.architecture.source_tree import blocks_of
from tests.regressions import BEHAVIOURS, ROWS, Row

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "design" / "regressions.md"
ID: Final = re.compile(r"\b(?:RC|CL|RM|GW)-\d+\b")
ID_IN_NAME: Final = re.compile(r"^test_(rc|cl)_(\d+)_")
OURS: Final = re.compile(rf"{ID.pattern}|\btest_(?:rc|cl)_\d|Behaviours \(")
"""The mark of a file in which a test names a row."""
LINES: Final = re.compile(r"Behaviours \((\d+)\), lines? (\d+(?:(?:, | and )\d+)*)")
HEAD: Final = """\
# Bugs that must not return

Bugs that users of comparable systems reported, and the behavior that people check first. Each row is a promise, held by the tests
beside it. The tables are generated from [tests/regressions.py](../../tests/regressions.py) and from the tests, which
name the rows that they hold: `RC-n` comes from public reports, `GW-n` from those of a gateway's users, `CL-n` from a
public changelog, and `n.m` is line m of the behavior to check in section n.
"""
SECTIONS: Final = {
    "1": "the Agent tool and permissions",
    "2": "definitions",
    "3": "hooks",
    "4": "skills",
    "5": "memory",
    "6": "background tasks",
    "7": "teams",
    "8": "coordinator mode",
    "9": "the queue",
    "10": "transcripts",
    "11": "worktrees",
    "12": "MCP",
    "13": "headless runs and compaction",
    "20": "what the reference documents add",
}


def ids_in(name: str, doc: str) -> Iterator[str]:
    """Yield the rows that a test says it holds."""
    yield from ID.findall(doc)
    in_name = ID_IN_NAME.match(name)
    if in_name is not None:
        yield f"{in_name[1].upper()}-{in_name[2]}"
    for section, numbers in LINES.findall(doc):
        yield from (f"{section}.{number}" for number in re.findall(r"\d+", numbers))


def tests_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield each test of a module: its name and its docstring."""
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:
        nodes += blocks_of(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


@cache
def holders() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return the tests that name each row: the path of their file, and their name."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        for name, doc in tests_in(source) if OURS.search(source) else ():
            for one in ids_in(name, doc):
                found.setdefault(one, {})[path.relative_to(ROOT).as_posix(), name] = None
    return {one: tuple(sorted(tests)) for one, tests in found.items()}


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, "## Bugs\n", _held(ROWS.items())]
    parts.append("\n## What people check\n")
    for section, about in SECTIONS.items():
        rows = [entry for entry in BEHAVIOURS.items() if entry[0].partition(".")[0] == section]
        parts += [f"\n### {section}: {about}\n", _held(rows)]
    unheld = [(id_, row.open) for id_, row in _all() if row.open]
    if unheld:
        parts += ["\n## Rows that do not hold yet\n", _table("row", "what is missing", unheld)]
    return "\n".join(parts)


def _all() -> Iterator[tuple[str, Row]]:
    yield from ROWS.items()
    yield from BEHAVIOURS.items()


def _held(rows: Iterable[tuple[str, Row]]) -> str:
    lines = ["| row | promise | held by |", "| --- | --- | --- |"]
    lines += [f"| {id_} | {_cell(row.promise)} | {_links(id_)} |" for id_, row in rows]
    return "\n".join(lines) + "\n"


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {first} | {second} |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {id_} | {_cell(text)} |" for id_, text in rows)]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _links(id_: str) -> str:
    tests = holders().get(id_, ())
    return "; ".join(f"[{_sentence(name)}](../../{path})" for path, name in tests)


def _sentence(name: str) -> str:
    return re.sub(r"^test_(?:(?:rc|cl)_\d+_|(?:\d+_)+)?", "", name).replace("_", " ")
