"""No module of greenroom is longer than 500 lines, and no function longer than 60."""

from __future__ import annotations

import ast
from typing import Final

from tests.architecture.source_tree import PACKAGE, ROOT, blocks_of, python_files

MODULE_LINES: Final = 500
FUNCTION_LINES: Final = 60
# A test may be a long table, so the limit for modules is the package's alone.
FOLDERS_WITH_FUNCTIONS: Final = ("greenroom", "tests", "benchmarks", "examples", "tools")
KERNEL: Final = ("waiting", "mailbox", "actors", "supervisor")
KERNEL_PAGE: Final = ROOT / "docs" / "explanation" / "kernel.md"


def long_functions(source: str, limit: int = FUNCTION_LINES) -> list[str]:
    """Return the functions above the limit: decorators, docstring and nested functions included."""
    found = []
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:
        nodes += blocks_of(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        length = (node.end_lineno or first) - first + 1
        if length > limit:
            found.append(f"{node.name} at line {first} has {length} lines")
    return found


def test_modules_are_at_most_500_lines() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(PACKAGE)}
    assert [f"{path.relative_to(ROOT)}: {n}" for path, n in lengths.items() if n > MODULE_LINES] == []


def test_functions_are_at_most_60_lines() -> None:
    files = [path for folder in FOLDERS_WITH_FUNCTIONS for path in python_files(ROOT / folder)]
    found = {str(path.relative_to(ROOT)): long_functions(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_page_about_the_kernel_names_each_of_its_modules() -> None:
    page = KERNEL_PAGE.read_text(encoding="utf-8")
    modules = [f"{folder}/{path.name}" for folder in KERNEL for path in python_files(PACKAGE / folder)]
    assert [module for module in modules if f"`{module}`" not in page and not module.endswith("__init__.py")] == []


# --- that the check finds what it looks for ---------------------------------------------------------------------------


def function(lines: int, *, head: str = "def long():") -> str:
    """Return the source of a function of so many lines."""
    rest = lines - len(head.splitlines())
    return head + "\n    x = 1" * rest


def test_a_function_at_the_limit_passes_and_one_line_more_does_not() -> None:
    assert long_functions(function(60)) == []
    assert long_functions(function(61)) == ["long at line 1 has 61 lines"]
    assert long_functions(function(61, head="async def long():")) == ["long at line 1 has 61 lines"]


def test_decorators_and_docstring_count() -> None:
    assert long_functions(function(60, head="@one\n@two\ndef long():")) == []
    assert long_functions(function(61, head="@one\n@two\ndef long():\n    '''Says\n    it.'''")) != []


def test_a_method_and_a_nested_function_are_found_and_count_in_their_parent() -> None:
    inner = function(61).replace("\n", "\n    ")
    assert long_functions(f"class C:\n    {inner}") == ["long at line 2 has 61 lines"]
    assert long_functions(f"def outer():\n    {inner}") == [
        "outer at line 1 has 62 lines",
        "long at line 2 has 61 lines",
    ]
