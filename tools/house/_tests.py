"""Where tests lie, and what they import from each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.house._figure import Figure
from tools.house._tree import Module, Tree, python_files

_IMPORT: Final = re.compile(r"^ *from tests\b(\.\w+)*(\.test_| import \(?[^)\n]*\btest_\w+,?)", re.MULTILINE)


def figures(tree: Tree) -> Iterator[Figure]:
    """Yield the figures of rule 9 that can be read off the tree."""
    importing = [str(path.relative_to(tree.root)) for path in python_files(tree.root / "tests") if imports_a_test(path)]
    yield Figure(9, "files of tests that import from a test_*.py", len(importing), 0, tuple(importing))
    tests = sum(Module("", path).code_lines for path in python_files(tree.root / "tests" / "session"))
    code = sum(one.code_lines for one in tree.within("session"))
    yield Figure(9, "lines of tests/session for a line of session", round(tests / code, 2), 2)


def imports_a_test(path: Path) -> bool:
    """True if a file imports from a `test_*.py`."""
    return path.name != "__main__.py" and _IMPORT.search(path.read_text(encoding="utf-8")) is not None
