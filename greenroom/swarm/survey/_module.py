"""Checks of a whole file or class: names defined twice, `__all__`, coroutines that nobody awaits.

Where names come from somewhere that cannot be seen (`import *`, `globals()`, `__getattr__`), nothing is said.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from greenroom.swarm.survey._around import Around, Function, Spot, blocks_of, own_nodes

_MAGIC: Final = frozenset({"globals", "locals", "vars", "setattr", "exec", "__getattr__", "sys"})
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def check_redefined(node: ast.Module | ast.ClassDef | Function, _: Around) -> Iterator[Spot]:
    """Say that a body defines a name twice; decorated ones know why."""
    names = Counter(child.name for child in node.body if isinstance(child, _Definition))
    if len(names) == names.total():
        return
    seen: set[str] = set()
    for child in node.body:
        # A use in between (`register(step)`, `x = property(get_x)`) gives the first one a purpose.
        seen -= set(_used(child))
        if not isinstance(child, _Definition):
            continue
        # A decorator may have kept the first one: `overload`, `register`, `property`.
        if child.decorator_list:
            seen.discard(child.name)
        elif child.name in seen and child.name != "_":
            yield Spot("redefined", child.lineno)
        else:
            seen.add(child.name)


def _used(node: ast.stmt) -> Iterator[str]:
    # What a function's body names is looked up when it is called, so that too may mean the first one.
    own = node.name if isinstance(node, _Definition) else ""
    parts = node.body if isinstance(node, _Definition) else []
    for part in ast.iter_child_nodes(node):
        yield from (
            inner.id
            for inner in ast.walk(part)
            if isinstance(inner, ast.Name) and not (inner.id == own and part in parts)  # it may well call itself
        )


def coroutines_of(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the plain coroutine functions of a module or a class: no decorator, no generator, one definition."""
    names = Counter(child.name for child in body if isinstance(child, _Definition))
    return frozenset(
        child.name
        for child in body
        if isinstance(child, ast.AsyncFunctionDef)
        and names[child.name] == 1
        and not child.decorator_list
        and not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(child))
    )


# --- __all__ ----------------------------------------------------------------------------------------------------------


def check_all(node: ast.Module, _: Around) -> Iterator[Spot]:
    """Check the names in `__all__`."""
    listed = _listed(node)
    if not listed:
        return
    for at, one in enumerate(listed):
        if one.value in {other.value for other in listed[:at]}:
            yield Spot("all-twice", one.lineno, str(one.value))
    known = {"__all__", "__doc__", "__file__", "__name__", "__path__", "__spec__", "__version__", *_module_names(node)}
    missing = [name for name in listed if name.value not in known]
    if missing:
        hidden = _names_anywhere(node)
        if hidden is not None:
            yield from (
                Spot("undefined-all", name.lineno, str(name.value)) for name in missing if name.value not in hidden
            )


def _listed(module: ast.Module) -> list[ast.Constant]:
    """Return the names that `__all__` holds; none where it is not written out."""
    listed: list[ast.Constant] = []
    for child in module.body:
        match child:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ):
                if not isinstance(value, ast.List | ast.Tuple):
                    return []
                names = [elt for elt in value.elts if isinstance(elt, ast.Constant) and isinstance(elt.value, str)]
                if len(names) < len(value.elts):
                    return []
                listed += names
    return listed


def _module_names(module: ast.Module) -> Iterator[str]:
    """Yield the names that the statements of a module bind, in its blocks too."""
    waiting: list[ast.AST] = list(module.body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case _:
                waiting += blocks_of(node)
                yield from (inner.id for inner in own_nodes(node) if isinstance(inner, ast.Name))


def _names_anywhere(module: ast.Module) -> set[str] | None:
    """Return the names that anything in a file binds or writes as a text; None where some cannot be seen."""
    found: set[str] = set()
    listed = {id(name) for name in _listed(module)}
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                return None
            case ast.Name(id=name) if name in _MAGIC:
                return None
            case ast.FunctionDef(name="__getattr__"):
                return None
            case ast.Global(names=names):
                found.update(names)
            case ast.Constant(value=str(text)) if id(node) not in listed:
                found.add(text)
    return found
