"""Checks of functions: their defaults, how deep they go, whether a test tests.

Must not know: the rest of the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from greenroom.swarm.survey._around import Around, Function, Spot, blocks_of, dotted_name, keywords_of_call
from greenroom.swarm.survey._kinds import MAX_DEPTH

_MUTABLE_CALLS: Final = frozenset({"list", "dict", "set", "bytearray", "collections.defaultdict", "collections.deque"})
_ONCE: Final = frozenset({
    *("time.time", "time.monotonic", "time.perf_counter", "datetime.datetime.now", "datetime.datetime.utcnow"),
    *("datetime.datetime.today", "datetime.date.today", "uuid.uuid1", "uuid.uuid4", "random.random", "random.randint"),
    *("os.getcwd", "pathlib.Path.cwd", "secrets.token_hex", "os.urandom"),
})  # fmt: skip
_CHANGING: Final = frozenset({
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update"),
    *("setdefault", "popitem", "appendleft", "extendleft", "intersection_update", "difference_update"),
})  # fmt: skip
_KEPT: Final = re.compile(r"^_|cache|memo|registry")
_BLOCKS: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)
_SKIPS: Final = frozenset({"pytest.mark.skip", "pytest.mark.xfail", "unittest.skip"})
_COLLECTED: Final = re.compile(r"test_.*\.py|.*_test\.py")


def check_function(node: Function | ast.Lambda, around: Around) -> Iterator[Spot]:
    """Check a function's defaults and its depth."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    is_stub = not isinstance(node, ast.Lambda) and all(map(_is_remark, node.body))
    for parameter, default in pairs:
        if default is None or is_stub:
            continue
        if _is_mutable(default, around.file.names):
            # A function within a function gets its defaults anew each time; a cell and a cache are there to be changed.
            if around.function or _is_cell(default) or _KEPT.search(parameter.arg):
                continue
            yield Spot(_use_of_default(node, parameter.arg), parameter.lineno, name=_called(default))
        elif isinstance(default, ast.Call) and dotted_name(default.func, around.file.names) in _ONCE:
            yield Spot("frozen-default", parameter.lineno)
    if not isinstance(node, ast.Lambda):
        if _depth(node) > MAX_DEPTH:
            yield Spot("depth", node.lineno)
        if around.file.is_test:
            yield from _test(node, around)


def _is_cell(default: ast.expr) -> bool:
    return bool(getattr(default, "elts", None) or getattr(default, "keys", None))


def _called(default: ast.expr) -> str:
    return default.func.id if isinstance(default, ast.Call) and isinstance(default.func, ast.Name) else ""


def _is_mutable(node: ast.expr, names: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        plain = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in names else ""
        return plain in _MUTABLE_CALLS or dotted_name(node.func, names) in _MUTABLE_CALLS
    return isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _use_of_default(function: Function | ast.Lambda, name: str) -> str:
    """Return the kind that fits what a function does with a mutable default: change it, keep it, or only read it."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    nodes = [one for child in body for one in ast.walk(child)]
    if any(isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load) for one in nodes):
        # Bound anew: `x = x or []`, or `x += [1]`, which changes a list in place.
        is_assigned = any(isinstance(one, ast.Assign) and any(_is(to, name) for to in one.targets) for one in nodes)
        is_added_to = any(isinstance(one, ast.AugAssign) and _is(one.target, name) for one in nodes)
        return "mutable-default" if is_added_to and not is_assigned else "mutable-read"
    if any(_changes(one, name) for one in nodes):
        return "mutable-default"
    is_kept = any(_keeps(one, name) for one in nodes) or (isinstance(function, ast.Lambda) and _is(body[0], name))
    return "mutable-kept" if is_kept else "mutable-read"


def _changes(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=target, attr=method)):
            return method in _CHANGING and _is(target, name)
        case ast.Subscript(value=target, ctx=ast.Store() | ast.Del()):
            return _is(target, name)
    return False


def _keeps(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Return(value=target) | ast.Yield(value=target):
            return _is(target, name)
        case ast.Assign(targets=[ast.Attribute()], value=value):
            return _is(value, name)
    return False


def _is(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _depth(node: ast.AST) -> int:
    deepest = 0
    for child in blocks_of(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        # An `elif` is an `if` in the `else` of another, and no level of its own.
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, _depth(child) + (isinstance(child, _BLOCKS) and not is_elif))
    return deepest


# --- tests ------------------------------------------------------------------------------------------------------------


def _test(node: Function, around: Around) -> Iterator[Spot]:
    if not around.is_collected:
        return
    yield from (Spot("skip-silent", one.lineno) for one in node.decorator_list if _is_silent_skip(one, around))
    name = PurePosixPath(around.file.path).name
    if node.name.startswith("test") and _COLLECTED.fullmatch(name) and not node.decorator_list:
        is_explained = around.file.has_comment(node.lineno, node.end_lineno or node.lineno)
        if all(map(_does_nothing, node.body)) and not is_explained:
            yield Spot("test-empty", node.lineno)


def _is_remark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _does_nothing(node: ast.stmt) -> bool:
    """Whether a statement can neither fail nor have an effect."""
    match node:
        case ast.Assign(value=ast.Constant()) | ast.AnnAssign(value=ast.Constant() | None):
            return True
    return _is_remark(node)


def _is_silent_skip(node: ast.expr, around: Around) -> bool:
    function = node.func if isinstance(node, ast.Call) else node
    if dotted_name(function, around.file.names) not in _SKIPS:
        return False
    if isinstance(node, ast.Call) and (node.args or keywords_of_call(node)):
        return not node.args and "reason" not in keywords_of_call(node) and "raises" not in keywords_of_call(node)
    return not around.file.has_comment(node.lineno - 1, node.lineno)


def check_skip(node: ast.Call, around: Around) -> Iterator[Spot]:
    """Check a test that skips itself."""
    is_silent = not node.args and not node.keywords and not around.file.has_comment(node.lineno - 1, node.lineno)
    if is_silent and dotted_name(node.func, around.file.names) in {"pytest.skip", "pytest.xfail"}:
        yield Spot("skip-silent", node.lineno)


def check_class_of_tests(node: ast.ClassDef, around: Around) -> Iterator[Spot]:
    """Check how a class of tests is skipped."""
    if around.file.is_test and around.is_collected:
        yield from (Spot("skip-silent", one.lineno) for one in node.decorator_list if _is_silent_skip(one, around))
