"""The table of checks by the nodes of the syntax tree that they look at.

A check looks at one node, and at what is around it as far as `Around` says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.swarm.survey._around import Around, Check, Spot
from greenroom.swarm.survey._calls import check_call, check_loop
from greenroom.swarm.survey._empty_tests import check_assert, check_expected_error, check_test
from greenroom.swarm.survey._functions import check_class_of_tests, check_function, check_skip
from greenroom.swarm.survey._module import check_all, check_redefined
from greenroom.swarm.survey._risky_calls import check_defaults, check_risky_call
from greenroom.swarm.survey._statements import check_condition, check_expression, check_raise, check_try, check_with


def _import_from(node: ast.ImportFrom, around: Around) -> Iterator[Spot]:
    is_own = (node.module or "").rpartition(".")[2].startswith("_")  # the public face of a private module
    is_test = around.file.is_test
    if any(name.name == "*" for name in node.names) and not (around.file.may_star or is_own or is_test):
        yield Spot("star-import", node.lineno)


_OVERLOADING: Final = frozenset({
    *("sqlalchemy", "sqlmodel", "peewee", "pony", "mongoengine", "beanie", "tortoise", "pandas", "numpy", "polars"),
    *("pyspark", "ibis", "dask", "sympy", "z3", "django", "flask_sqlalchemy"),
})  # fmt: skip
"""Libraries whose objects mean something else by `==`."""


def check_compare(node: ast.Compare, around: Around) -> Iterator[Spot]:
    """Check a comparison."""
    for operator, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
        sides = [side.value for side in (left, right) if isinstance(side, ast.Constant)]
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
    if not any(isinstance(part, ast.FormattedValue) for part in node.values):
        yield Spot("f-string", node.lineno)


def _means_equality(around: Around) -> bool:
    """Return True if `==` asks what it seems to ask: a test may try it on purpose, some libraries build a query from it."""
    return not around.file.is_test and around.file.libraries.isdisjoint(_OVERLOADING)


CHECKS: Final[Mapping[type[ast.AST], tuple[Check, ...]]] = {
    ast.Assert: (check_condition, check_assert),
    ast.AsyncFunctionDef: (check_function, check_redefined, check_defaults, check_test),
    ast.AsyncWith: (check_with, check_expected_error),
    ast.Call: (check_call, check_skip, check_risky_call),
    ast.ClassDef: (check_redefined, check_class_of_tests),
    ast.Compare: (check_compare,),
    ast.Dict: (check_dict,),
    ast.Expr: (check_expression,),
    ast.For: (check_loop,),
    ast.FunctionDef: (check_function, check_redefined, check_defaults, check_test),
    ast.If: (check_condition,),
    ast.IfExp: (check_condition,),
    ast.ImportFrom: (_import_from,),
    ast.JoinedStr: (check_f_string,),
    ast.Lambda: (check_function,),
    ast.Module: (check_redefined, check_all),
    ast.Raise: (check_raise,),
    ast.Try: (check_try,),
    ast.TryStar: (check_try,),
    ast.While: (check_condition,),
    ast.With: (check_with, check_expected_error),
    ast.comprehension: (check_loop,),
}
