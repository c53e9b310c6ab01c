"""The figures of `make house` stay within their limits: structure, size, names, words, and where tests lie."""

from __future__ import annotations

import ast
import functools
import json
from pathlib import Path
from typing import Final

import pytest

from tools.house.__main__ import BEFORE, ROOT, figures_of
from tools.house._figure import Figure
from tools.house._structure import statements

RULES: Final = {
    1: "modules import each other in one direction",
    2: "a class has few attributes, and one writer",
    3: "a session is built in one direction and has few members",
    4: "programs see a session by its events",
    5: "the kernel stays small",
    6: "names and sentences use the field's words, each once",
    7: "a name is public because somebody uses it",
    8: "a module is worth its place and fits on a few screens",
    9: "tests lie where the code is, and import no tests",
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule}, {RULES[rule]}")
def test_figures_are_within_their_limits(rule: int) -> None:
    missed = [
        f"{figure.name}: {figure.now:g}, at most {figure.limit:g}: {', '.join(figure.places[:9])}"
        for figure in _figures()
        if figure.line == rule and not figure.is_met
    ]

    assert missed == []


@functools.cache
def _figures() -> list[Figure]:
    return figures_of(ROOT, json.loads(BEFORE.read_text(encoding="utf-8")))


def test_planted_faults_are_counted(tmp_path: Path) -> None:
    """Each figure that can be planted in a few lines is seen to rise: a counter that sees nothing would always be met."""
    for name, text in _PLANTED.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    figures = {figure.name: figure.now for figure in figures_of(tmp_path, {})}

    assert {name: figures[name] for name in _SEEN} == _SEEN


_PLANTED: Final = {
    "greenroom/__init__.py": '__all__ = ["named"]\n',
    "greenroom/core/__init__.py": '"""Hear this."""\n\nfrom greenroom.core._a import idle\n\n__all__ = ["idle"]\n',
    "greenroom/core/_a.py": "import greenroom.core._b\n\nMOST_ITEMS = 1\n\n\ndef idle() -> None:\n    for one in ():\n        pass\n",
    "greenroom/core/_b.py": "import greenroom.core._c\n",
    "greenroom/core/_c.py": "import greenroom.core._d\n",
    "greenroom/core/_d.py": "import greenroom.core._e\n",
    "greenroom/core/_e.py": "import greenroom.core._a\n",
    "greenroom/core/_wide.py": "import attrs\n\n\n@attrs.define\nclass Wide:\n"
    + "".join(f"    field_{number}: int\n" for number in range(26)),
    "greenroom/actors/_cell.py": "a = 1\nb = 2\n",
    "greenroom/session/_session.py": "a = 1\n",
    "docs/explanation/kernel.md": "# Words\n\n| word | meaning |\n| --- | --- |\n| actor | x |\n\nWhoever waits, waits for ever.\n",
    "tests/core/test_a.py": "from tests.core.test_b import help\n",
    "tests/core/test_b.py": "",
}
_SEEN: Final = {
    "rings elsewhere": 1,
    "classes of more than 25 attributes": 1,
    "statements of the kernel": 2,
    "words in the glossary of kernel.md": 1,
    "docstrings that begin with Let, Hear, Be, What, Who or How": 1,
    "MOST_": 1,
    "`for one in`": 1,
    '"whoever"': 1,
    '"for ever"': 1,
    "public names that no other folder and no page of the reference uses": 1,
    "files of tests that import from a test_*.py": 1,
}


def test_statements_are_counted_without_imports_and_docstrings() -> None:
    source = '''"""Says it."""
import trio


def one(
    x: int,
) -> int:
    """Says it."""
    if x:
        return (
            1
        )
    return 2
'''
    assert statements(ast.walk(ast.parse(source))) == 4
