"""The page of the Python names is that of the code, and complete."""

from __future__ import annotations

import importlib
import inspect
import re

import greenroom
from tests.docs.python_names import HEAD, MODULES, PAGE, WIDTH, methods, names_of, page


def test_page_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.python_names`"


def test_page_describes_or_links_every_public_name() -> None:
    chapters = dict(zip(MODULES, PAGE.read_text(encoding="utf-8").split("\n## ")[1:], strict=True))

    missing = [
        f"{module}.{name}"
        for module, chapter in chapters.items()
        for name in names_of(module)
        if f"\n### {name}\n" not in chapter and f"[`{name}`]" not in chapter and f"\n| `{name}` |" not in chapter
    ]

    assert missing == []


def test_signatures_fit_a_screen() -> None:
    blocks = re.findall(r"```python\n(.*?)\n```", page().removeprefix(HEAD), re.DOTALL)

    assert max(len(line) for block in blocks for line in block.splitlines()) <= WIDTH + 20
    assert max(len(block.splitlines()) for block in blocks) <= 30


def test_public_functions_have_docstrings() -> None:
    silent = []
    for module in MODULES:
        face = importlib.import_module(module)
        for name in names_of(module):
            value = getattr(face, name)
            if inspect.isclass(value):
                silent += [f"{name}.{method}" for method, function in methods(value) if not function.__doc__]
            silent += [name] if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__ else []

    assert silent == []


def test_help_shows_no_long_default() -> None:
    functions = [function for name in greenroom.__all__ if inspect.isfunction(function := getattr(greenroom, name))]
    defaults = [parameter.default for call in functions for parameter in inspect.signature(call).parameters.values()]

    assert [default for default in defaults if len(repr(default)) > 200] == []
