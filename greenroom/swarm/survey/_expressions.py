"""Checks of expressions: comparisons, dicts, f-strings.

Must not know: the rest of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from greenroom.swarm.survey._around import Around, Spot

_OVERLOADING: Final = frozenset({
    *("sqlalchemy", "sqlmodel", "peewee", "pony", "mongoengine", "beanie", "tortoise", "pandas", "numpy", "polars"),
    *("pyspark", "ibis", "dask", "sympy", "z3", "django", "flask_sqlalchemy"),
})  # fmt: skip
"""Libraries whose objects mean something else by `==`."""


def check_compare(node: ast.Compare, around: Around) -> Iterator[Spot]:
    """Check a comparison."""
    for operator, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
        sides = [one.value for one in (left, right) if isinstance(one, ast.Constant)]
        if isinstance(operator, ast.Eq | ast.NotEq) and None in sides and _means_equality(around):
            yield Spot("none-compare", node.lineno)
        if isinstance(operator, ast.Is | ast.IsNot) and any(
            isinstance(value, str | bytes | int | float) and not isinstance(value, bool) for value in sides
        ):
            yield Spot("is-literal", node.lineno)


def check_dict(node: ast.Dict, _: Around) -> Iterator[Spot]:
    """Check the keys of a dict."""
    seen: dict[tuple[type, object], str] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant):
            shown = ast.dump(value)
            if seen.setdefault((type(key.value), key.value), shown) != shown:
                yield Spot("same-key", key.lineno)


def check_f_string(node: ast.JoinedStr, _: Around) -> Iterator[Spot]:
    """Check that something is put into an f-string."""
    if not any(isinstance(one, ast.FormattedValue) for one in node.values):
        yield Spot("f-string", node.lineno)


def _means_equality(around: Around) -> bool:
    """Whether `==` asks what it seems to ask: a test may try it on purpose, some libraries build a query from it."""
    return not around.file.is_test and around.file.libraries.isdisjoint(_OVERLOADING)
