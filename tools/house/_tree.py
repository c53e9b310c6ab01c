"""The files of a checkout as text and syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, final

KERNEL: Final = ("mailbox", "actors", "supervisor", "waiting")


@final
class Module:
    """One file of the package."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    @property
    def folder(self) -> str:
        """The folder of the package that holds it; empty for the package's own face."""
        return self.name.partition(".")[2].partition(".")[0]

    @property
    def is_face(self) -> bool:
        """True for `__init__.py`."""
        return self.path.name == "__init__.py"

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the syntax tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def classes(self) -> tuple[ast.ClassDef, ...]:
        """The classes, nested ones included."""
        return tuple(node for node in self.nodes if isinstance(node, ast.ClassDef))

    @cached_property
    def code_lines(self) -> int:
        """Lines that are not blank, a comment or part of a docstring."""
        blank = {
            n for n, line in enumerate(self.text.splitlines(), 1) if not line.strip() or line.lstrip().startswith("#")
        }
        documentation: set[int] = set()
        for node in self.nodes:
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                documentation.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return len(set(range(1, len(self.text.splitlines()) + 1)) - blank - documentation)


@final
class Tree:
    """A checkout of the project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: Mapping[str, Module] = {module.name: module for module in self._modules()}

    def _modules(self) -> Iterator[Module]:
        for path in python_files(self.root / "greenroom"):
            parts = path.relative_to(self.root).with_suffix("").parts
            yield Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path)

    def within(self, *folders: str) -> list[Module]:
        """Return the modules of some folders of the package."""
        return [module for module in self.modules.values() if module.folder in folders]

    @cached_property
    def pages(self) -> tuple[Path, ...]:
        """The pages of documentation, those of the root included."""
        return tuple(sorted([*self.root.glob("*.md"), *(self.root / "docs").rglob("*.md")]))

    @cached_property
    def imports(self) -> Mapping[str, frozenset[str]]:
        """Which module imports which, imports within functions and for type checkers included."""
        return {name: frozenset(_imported(module, self.modules)) - {name} for name, module in self.modules.items()}

    @cached_property
    def exceptions(self) -> Mapping[int, frozenset[str]]:
        """The names that `docs/violations.md` excepts, by the number of the figure: rows that begin `| house N`."""
        found: dict[int, set[str]] = {}
        page = self.root / "docs" / "violations.md"
        for line in page.read_text(encoding="utf-8").splitlines() if page.is_file() else ():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) > 1 and cells[0].startswith("house "):
                found.setdefault(int(cells[0].split()[1].rstrip(":")), set()).update(
                    cells[1].replace("`", "").split(", ")
                )
        return {number: frozenset(names) for number, names in found.items()}


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def _imported(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in modules:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in inner if name in modules)
            if not all(name in modules for name in inner):
                yield node.module
