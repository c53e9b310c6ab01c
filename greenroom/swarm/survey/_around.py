"""The context of a node for checks, and the questions that several checks ask."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

BUILTINS: Final = frozenset({"eval", "exec", "print", "breakpoint", "input", "open"})
"""The builtins that a check is about; who binds the name itself means something else by it."""


@attrs.frozen(kw_only=True)
class File:
    """The context of a whole file."""

    path: str
    lines: Sequence[str]
    names: Mapping[str, str]
    """The full names of imported names: `{"sp": "subprocess", "system": "os.system"}`."""
    is_test: bool
    """A test may well do odd things on purpose."""
    is_product: bool
    """Neither a test nor beside the product, as scripts and examples are."""
    may_print: bool
    may_star: bool

    @property
    def libraries(self) -> frozenset[str]:
        """Top names of what is imported."""
        return frozenset(name.partition(".")[0] for name in self.names.values())

    def has_comment(self, first: int, last: int) -> bool:
        """Return True if a line of a range, numbered from 1, holds something like a comment."""
        return any("#" in line for line in self.lines[max(0, first - 1) : last])


@attrs.frozen(kw_only=True)
class Around:
    """The context of one node."""

    file: File
    is_async: bool = False
    """Within an `async def`, and not in a function within that one."""
    function: str = ""
    """The innermost function; empty outside of all."""
    public_parameters: frozenset[str] = frozenset()
    """Parameters of the innermost function, if that is one that users of the package call."""
    is_collected: bool = True
    """True at the places where a function named like a test is one: the top of a file, or a class of tests there."""
    expects_error: bool = False
    """Within `with pytest.raises(...)` or a relative."""
    is_verbose: bool = False
    """Within an `if` that asks whether to talk."""


@attrs.frozen
class Spot:
    """A kind of finding, and where it is."""

    kind: str
    line: int
    text: str = ""
    """The text to show; empty for the line."""
    name: str = ""
    """It holds only where the file binds this name exactly `bindings` times; `.x` is the attribute `x` of anything."""
    bindings: int = 0


Check: TypeAlias = Callable[[Any, Around], Iterator[Spot]]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def blocks_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements and the clauses right below a node; expressions, most of a tree, hold neither."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, field, None)
        if isinstance(below, list):
            yield from below


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes below one, without those of functions and classes within it."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(one)


def dotted_name(node: ast.expr, names: Mapping[str, str]) -> str:
    """Return what an expression such as `sp.run` stands for; empty if it is not a plain name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    first = names.get(node.id)
    if first is None:
        # A name that nothing imported: a builtin, or a variable of which nothing is known.
        first = node.id if not parts and node.id in BUILTINS else f"?{node.id}"
    return ".".join([first, *reversed(parts)])


def keywords_of_call(node: ast.Call) -> dict[str, ast.expr]:
    """Return the arguments that are given by name."""
    return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}


def has_unknown_arguments(node: ast.Call) -> bool:
    """Return True if a call hands on arguments that cannot be seen: `*args` or `**options`."""
    return any(keyword.arg is None for keyword in node.keywords) or any(
        isinstance(argument, ast.Starred) for argument in node.args
    )


def is_constant(node: ast.expr | None, *, value: bool) -> bool:
    """Return True if an expression is this very constant."""
    return isinstance(node, ast.Constant) and node.value is value
