"""Rings of modules that import each other.

Imports that run while a module loads are told from those that run when a function is called; those under `TYPE_CHECKING` never run. A
package that is already loading when its module imports from it is part of a ring only if a name of the package itself is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from greenroom.swarm.survey._facts import Placed
from greenroom.swarm.survey._module_index import ImportStatement, ImportTime, ModuleIndex
from greenroom.swarm.survey._paths import import_names, is_loose, is_test

_MAX_SHOWN: Final = 6
_Edges = dict[str, dict[str, int]]


def find_cycles(modules: Mapping[str, ModuleIndex], folder: str = "") -> Iterator[Placed]:
    """Yield a finding for each ring: at the import with which its shortest circle begins.

    Args:
        modules: The Python files, by path.
        folder: What the folder around them is called: it may be a package itself.
    """
    paths = frozenset(modules)
    by_name = {name: path for path in sorted(paths, reverse=True) for name in import_names(path, paths, folder)}
    loading = _edges(modules, by_name, {ImportTime.LOAD})
    rings = list(_rings(loading))
    yield from (_placed("import-cycle", ring, loading) for ring in rings)
    known = {path: number for number, ring in enumerate(rings) for path in ring}
    for ring in _rings(all_edges := _edges(modules, by_name, {ImportTime.LOAD, ImportTime.CALL})):
        if len({known.get(path, path) for path in ring}) > 1:
            yield _placed("import-cycle-late", ring, all_edges)


def _edges(modules: Mapping[str, ModuleIndex], by_name: Mapping[str, str], times: Iterable[ImportTime]) -> _Edges:
    edges: _Edges = {}
    for path, module in modules.items():
        to = edges.setdefault(path, {})
        if is_test(path) or is_loose(path):
            continue
        for statement in module.imports:
            is_own = statement.module.partition(".")[0] not in sys.stdlib_module_names
            if statement.time in times and is_own:
                for target in _targets(path, statement, by_name):
                    if target != path:
                        to.setdefault(target, statement.line)
    return edges


def _targets(path: str, statement: ImportStatement, by_name: Mapping[str, str]) -> Iterator[str]:
    whole = f"{statement.module}.{statement.name}"
    is_module = whole in by_name
    wanted = by_name.get(whole if is_module else statement.module)
    if wanted is not None and (is_module or statement.name or not _is_above(wanted, path)):
        yield wanted
    # The packages around what is imported are loaded first, unless this file is in them: then they are loading.
    parts = (whole if is_module else statement.module).split(".")
    for end in range(1, len(parts)):
        package = by_name.get(".".join(parts[:end]))
        if package is not None and not _is_above(package, path):
            yield package


def _is_above(package: str, path: str) -> bool:
    pure = PurePosixPath(package)
    return pure.name == "__init__.py" and PurePosixPath(path).is_relative_to(pure.parent)


def _placed(kind: str, ring: Sequence[str], edges: _Edges) -> Placed:
    circle = _shortest_circle(ring, edges)
    shown = [*circle[:_MAX_SHOWN], *(["..."] if len(circle) > _MAX_SHOWN else []), circle[0]]
    more = f" (a ring of {len(ring)} modules)" if len(ring) > len(circle) else ""
    return Placed(kind, circle[0], edges[circle[0]][circle[1]], " -> ".join(shown) + more)


def _shortest_circle(ring: Sequence[str], edges: _Edges) -> list[str]:
    members = frozenset(ring)
    best: list[str] = []
    for start in sorted(ring):
        came: dict[str, str] = {}
        waiting = [start]
        for path in waiting:
            for target in sorted(edges[path]):
                if target == start:
                    circle = [path]
                    while circle[-1] != start:
                        circle.append(came[circle[-1]])
                    circle.reverse()
                    if not best or len(circle) < len(best):
                        best = circle
                    waiting.clear()
                    break
                if target in members and target not in came:
                    came[target] = path
                    waiting.append(target)
        if len(best) == 2:
            break
    return best


def _rings(edges: _Edges) -> Iterator[list[str]]:
    """Yield the strongly connected parts of more than one module, after Tarjan, without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for start in sorted(edges):
        if start in number:
            continue
        work: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(edges[start])))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack.add(start)
        while work:
            path, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[path])
                if low[path] == number[path]:
                    ring: list[str] = []
                    while not ring or ring[-1] != path:
                        ring.append(stack.pop())
                        on_stack.discard(ring[-1])
                    if len(ring) > 1:
                        yield sorted(ring)
            elif target not in number:
                number[target] = low[target] = len(number)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(sorted(edges[target]))))
            elif target in on_stack:
                low[path] = min(low[path], number[target])
