"""Every promise has a test, and every id that a test names is a promise (STYLE 23)."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from tests.promises import NOT_YET, PROMISES

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent


def named_promises(source: str) -> Iterator[str]:
    """Yield the ids in every `pytest.mark.promise(...)` of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "promise":
            for one in ast.walk(node):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.value


def named_in_tests() -> dict[str, set[str]]:
    """Return the files of tests that name each id."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for name in named_promises(path.read_text(encoding="utf-8")):
            found.setdefault(name, set()).add(path.name)
    return found


def test_every_promise_is_held_by_a_test() -> None:
    assert sorted(set(PROMISES) - set(named_in_tests())) == []


def test_every_id_that_a_test_names_is_a_promise() -> None:
    assert {name: files for name, files in named_in_tests().items() if name not in PROMISES} == {}


def test_each_invariant_of_the_kernel_is_either_held_or_said_to_be_missing() -> None:
    assert set(PROMISES) & set(NOT_YET) == set()
    assert {f"I-{number}" for number in range(1, 53)} <= set(PROMISES) | set(NOT_YET)


def test_ids_are_found_in_every_form_of_the_mark() -> None:
    source = """
@pytest.mark.promise("I-1", "I-2")
def test(): ...

pytestmark = [pytest.mark.promise(*("I-3", "I-4"), "I-5")]
"""
    assert sorted(named_promises(source)) == ["I-1", "I-2", "I-3", "I-4", "I-5"]
