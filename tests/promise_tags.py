"""The promises that tests name."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TESTS = Path(__file__).parent


def named_promises(source: str) -> Iterator[str]:
    """Yield the ids in every `pytest.mark.promise(...)` of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "promise":
            for each_node in ast.walk(node):
                if isinstance(each_node, ast.Constant) and isinstance(each_node.value, str):
                    yield each_node.value


@cache
def named_in_tests() -> Mapping[str, set[str]]:
    """Return the files of tests that name each id."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        # Most modules say the word nowhere, and to parse them all takes seconds.
        for name in named_promises(source) if "promise" in source else ():
            found.setdefault(name, set()).add(path.relative_to(TESTS).as_posix())
    return found
