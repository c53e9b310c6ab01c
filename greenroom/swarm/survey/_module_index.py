"""Definitions, uses and imports of one Python file, for the checks that need the whole tree.

Names are counted as text: a name that is used anywhere under any object counts as used. So little is found that is in use, and
some of what is dead is not found.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

import attrs

from greenroom.containment import is_secret_value
from greenroom.swarm.survey._around import Function
from greenroom.swarm.survey._paths import absolute_module

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_NAMING: Final = re.compile(r"-{0,2}[A-Za-z_][\w.:\[\]-]*")
"""A text that may name something: an attribute, an entry point, an option."""
_ENDING: Final = re.compile(r"_\w+")
"""The end of a name that is put together: `f"{name}_command"`."""
_LONGEST: Final = 200
_PLAIN_DECORATORS: Final = frozenset({
    *("staticmethod", "classmethod", "property", "cached_property", "final", "dataclass", "frozen", "define", "total_ordering"),
})  # fmt: skip
"""Decorators that register nothing."""
_OPEN_BASES: Final = frozenset({"object", "ABC", "Generic"})
_HIDING: Final = frozenset({"globals", "setattr", "exec", "__getattr__"})
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class ImportTime(StrEnum):
    """The time at which an import statement runs."""

    LOAD = "load"
    """When the module is imported."""
    CALL = "call"
    """When a function around it is called."""
    NEVER = "never"
    """Under `TYPE_CHECKING`."""


@attrs.frozen
class ImportStatement:
    """An import of one name: `from module import name` or `import module`."""

    line: int
    module: str
    name: str
    """Empty for `import module`."""
    time: ImportTime


@attrs.frozen
class Definition:
    """A function, a class or a method that something may use."""

    line: int
    name: str
    owner: str
    """The class around it; empty at the top of the module."""
    own_uses: int
    """Uses of the name within its own body."""

    @property
    def shown(self) -> str:
        """The name with its class."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@attrs.frozen
class NamedSecret:
    """A text that is given to a name such as `password`."""

    line: int
    name: str


@attrs.frozen(kw_only=True)
class ModuleIndex:
    """One Python file, as the checks of a whole tree see it."""

    path: str
    imports: tuple[ImportStatement, ...] = ()
    definitions: tuple[Definition, ...] = ()
    uses: Mapping[str, int] = attrs.field(factory=dict)
    """Number of times that a name is read, under any object, or written as a text; `*_x` where a name that ends so is put together."""
    bound: frozenset[str] = frozenset()
    """Names at the top of the module."""
    hides_names: bool = False
    """True if it may have names that cannot be seen."""
    secrets: tuple[NamedSecret, ...] = ()


def index_module(path: str, tree: ast.Module) -> ModuleIndex:
    """Return the index of a file."""
    bound = frozenset(_bound_at_top(tree))
    hides = any(
        (isinstance(node, ast.Name) and node.id in _HIDING)
        or (isinstance(node, ast.FunctionDef) and node.name in _HIDING)
        or (isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names))
        for node in ast.walk(tree)
    )
    return ModuleIndex(
        path=path,
        imports=tuple(_imports(path, tree.body, ImportTime.LOAD)),
        definitions=tuple(_definitions(tree)),
        uses=Counter(_uses(tree)),
        bound=bound,
        hides_names=hides,
        secrets=tuple(dict.fromkeys(_secrets(tree))),
    )


# --- imports ----------------------------------------------------------------------------------------------------------


def _imports(path: str, body: list[ast.stmt], time: ImportTime) -> Iterator[ImportStatement]:
    for node in body:
        match node:
            case ast.Import(names=names):
                yield from (ImportStatement(node.lineno, alias.name, "", time) for alias in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                whole = absolute_module(path, module or "", level)
                yield from (ImportStatement(node.lineno, whole, alias.name, time) for alias in names)
            case ast.FunctionDef(body=inner) | ast.AsyncFunctionDef(body=inner):
                yield from _imports(path, inner, ImportTime.CALL if time is ImportTime.LOAD else time)
            case ast.If(test=test, body=inner, orelse=other) if "TYPE_CHECKING" in ast.unparse(test):
                is_not = isinstance(test, ast.UnaryOp)
                yield from _imports(path, inner, time if is_not else ImportTime.NEVER)
                yield from _imports(path, other, ImportTime.NEVER if is_not else time)
            case _:
                for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                    below = getattr(node, field, None)
                    if isinstance(below, list):
                        yield from _imports(path, below, time)


# --- names ------------------------------------------------------------------------------------------------------------


def _bound_at_top(tree: ast.Module) -> Iterator[str]:
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Lambda():
                pass
            case _:
                waiting += ast.iter_child_nodes(node)


def _uses(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()) | ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str(text)) if len(text) < _LONGEST and _NAMING.fullmatch(text):
                yield from _WORD.findall(text)
                yield text
            case ast.JoinedStr(values=[*_, ast.Constant(value=str(end))]) if _ENDING.fullmatch(end):
                yield f"*{end}"
            case ast.keyword(arg=str(name)) | ast.arg(arg=name):
                yield name
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                for alias in names:
                    yield from alias.name.split(".")
            case ast.MatchClass(kwd_attrs=names):
                yield from names


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    for node in tree.body:
        if not isinstance(node, _Definition):
            continue
        if _can_be_unused(node):
            yield Definition(node.lineno, node.name, "", _own_uses(node))
        if isinstance(node, ast.ClassDef) and _is_closed(node):
            for child in node.body:
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and _can_be_unused(child):
                    yield Definition(child.lineno, child.name, node.name, _own_uses(child))


def _can_be_unused(node: Function | ast.ClassDef) -> bool:
    """Return True if only its name leads to it: a decorator may register it, and the interpreter calls `__x__` itself."""
    decorators = {ast.unparse(decorator).partition("(")[0].rpartition(".")[2] for decorator in node.decorator_list}
    return not (decorators - _PLAIN_DECORATORS) and not (node.name.startswith("__") and node.name.endswith("__"))


def _is_closed(node: ast.ClassDef) -> bool:
    """Return True if a class inherits nothing: else a method may override one that others call."""
    bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
    return not (bases - _OPEN_BASES) and not node.keywords


def _own_uses(node: Function | ast.ClassDef) -> int:
    return sum(name == node.name for child in node.body for name in _uses(child))


# --- secrets ----------------------------------------------------------------------------------------------------------


def _secrets(tree: ast.Module) -> Iterator[NamedSecret]:
    for node in ast.walk(tree):
        for name, value in _given(node):
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and is_secret_value(name, value.value):
                yield NamedSecret(value.lineno, name)


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names to which a node gives values."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((_name_of(target), value) for target in targets)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            yield _name_of(target), value
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            yield from ((_name_of(key), value) for key, value in zip(keys, values, strict=True))
        case ast.arguments(args=args, defaults=defaults, kwonlyargs=kwonlyargs, kw_defaults=kw_defaults):
            yield from ((one.arg, value) for one, value in zip(reversed(args), reversed(defaults), strict=False))
            yield from ((one.arg, value) for one, value in zip(kwonlyargs, kw_defaults, strict=True))
        case ast.Compare(left=left, comparators=[value], ops=[ast.Eq() | ast.NotEq()]):
            yield _name_of(left), value


def _name_of(node: ast.expr | None) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""
