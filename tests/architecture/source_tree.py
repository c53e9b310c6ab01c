"""Input of the architecture tests: our files as text and syntax trees, and which module imports which."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "greenroom"


@attrs.frozen(kw_only=True)
class Import:
    """One name brought in by one import statement."""

    module: str
    name: str | None
    """What follows `import` in `from module import name`; None for `import module`."""

    level: int
    """The number of dots: 0 is an absolute import."""

    line: int
    is_for_types: bool
    """The statement stands under `if TYPE_CHECKING:`."""


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def module_name(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def blocks_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements and the clauses right below a node: expressions, which are most of a tree, hold neither."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, field, None)
        if isinstance(below, list):
            yield from below


def _statements(node: ast.AST, *, is_for_types: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    # Into functions and classes too: a lazy import is an import.
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, is_for_types
    guarded = node.body if isinstance(node, ast.If) and is_type_checking(node.test) else []
    for child in blocks_of(node):
        yield from _statements(child, is_for_types=is_for_types or child in guarded)


@cache
def imports(source: str) -> list[Import]:
    """Return every import of a module: at its top, lazy ones in functions, and those for type checkers."""
    found = []
    for node, is_for_types in _statements(ast.parse(source), is_for_types=False):
        for alias in node.names:
            if isinstance(node, ast.Import):
                module, name, level = alias.name, None, 0
            else:
                module, name, level = node.module or "", alias.name, node.level
            found.append(Import(module=module, name=name, level=level, line=node.lineno, is_for_types=is_for_types))
    return found


def sources() -> dict[str, str]:
    """Return the text of each of our modules by its full name."""
    return {module_name(path): path.read_text(encoding="utf-8") for path in python_files(PACKAGE)}
