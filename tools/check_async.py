"""Run flake8 with its async rules, in a tenth of the time: python -m tools.check_async FILE... (called by `make check`).

Of flake8-async's rules that `.flake8` enables, all but ASYNC101 look at the syntax tree that flake8 has anyway. ASYNC101 is
about a `yield` in a nursery or a cancel scope, and goes through a second tree, of libcst, which takes nearly all the time. So
the second tree is made only of files where a `yield` stands in a `with`, outside of context managers. The rules of pyflakes
and pycodestyle, which flake8 would run and leave out of what it prints, are not loaded. What is found is the same.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from typing import Any, Final

import flake8_async
from flake8.main.cli import main
from flake8.plugins import finder
from flake8_async.runner import Flake8AsyncRunner_cst
from flake8_async.visitors.visitor101 import Visitor101

_SAFE: Final = {"contextmanager", "asynccontextmanager", "fixture"}
"""Decorators under which ASYNC101 allows a `yield` anywhere, by the last part of their names."""
_parse: Final = flake8_async.cst_parse_module_native
_own_plugins: Final = finder._flake8_plugins


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def _may_yield_in_scope(source: str) -> bool:
    """Say whether a `yield` stands in any `with` of a function where ASYNC101 could complain of it."""
    if "yield" not in source:
        return False
    nodes: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    for node, is_unsafe in nodes:  # grows as it is gone through
        match node:
            case ast.Yield() if is_unsafe:
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() if any(map(_is_safe, node.decorator_list)):
                nodes += [
                    (inner, False) for inner in ast.walk(node) if isinstance(inner, _FUNCTIONS) and inner is not node
                ]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                nodes += [(child, False) for child in ast.iter_child_nodes(node)]
            case ast.With() | ast.AsyncWith():
                nodes += [(child, True) for child in ast.iter_child_nodes(node)]
            case _:
                nodes += [(child, is_unsafe) for child in ast.iter_child_nodes(node)]
    return False


def _is_safe(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
    return name in _SAFE


class _Runner(Flake8AsyncRunner_cst):
    """Goes through the second tree where some rule could find anything in it."""

    module: Any
    """The text of a file first, then its tree."""

    def run(self) -> Iterator[Any]:
        source = self.module
        if all(type(visitor) is Visitor101 for visitor in self.visitors) and not _may_yield_in_scope(source):
            return
        self.module = _parse(source)
        yield from super().run()


def _reporters(*about: Any) -> Iterator[finder.Plugin]:
    """Yield what flake8 prints with, without the rules that come with it."""
    yield from (plugin for plugin in _own_plugins(*about) if plugin.entry_point.group == "flake8.report")


def check(arguments: list[str] | None = None) -> int:
    """Run flake8, and return its exit code.

    Args:
        arguments: As on the command line of flake8; None: those of this process.
    """
    flake8_async.cst_parse_module_native = str  # parsed by the runner, if at all
    flake8_async.Flake8AsyncRunner_cst = _Runner
    finder._flake8_plugins = _reporters
    return int(main(arguments))


if __name__ == "__main__":
    # Trees have no cycles, and going through all live nodes again and again takes a fifth of the time.
    gc.disable()
    raise SystemExit(check())
