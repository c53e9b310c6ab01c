"""Patterns in Python code that often mean trouble: a table of kinds, and the checks that spot them.

Rule 1: a check looks at one node of the syntax tree and names the kinds that it shows. Rule 2: a pattern that is
normal in half of all code is none: what is left has to be worth a maintainer's look.
Must not know: files, lines, reports.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

import attrs

MAX_PARAMETERS: Final = 10
MAX_DEPTH: Final = 6


@attrs.frozen
class Kind:
    """One kind of pattern."""

    title: str
    weight: int
    """3: look at it first; 2: likely a mistake or a trap; 1: tidiness."""
    why: str


KINDS: Final[Mapping[str, Kind]] = {
    "eval": Kind("`eval` or `exec`", 3, "runs text as code; whoever controls the text controls the program"),
    "shell": Kind("a shell runs a command line", 3, "what is put into the line can add commands of its own"),
    "tls": Kind("certificates are not checked", 3, "anybody on the way can read and change what passes"),
    "assert-tuple": Kind("`assert` on a tuple", 3, "a tuple with something in it is always true: this checks nothing"),
    "debugger": Kind("a debugger is started", 3, "stops the program where nobody is looking"),
    "bare-except": Kind("bare `except:`", 2, "catches the interrupt key and cancellation too"),
    "swallowed": Kind("every error is swallowed", 2, "`except Exception: pass` hides what will be searched for later"),
    "base-exception": Kind("`BaseException` is caught and dropped", 2, "stops cancellation and exit"),
    "mutable-default": Kind("mutable default argument", 2, "made once, shared by all calls"),
    "unpickle": Kind("data is unpickled or loaded as YAML with tags", 2, "loading such data can run any code"),
    "mktemp": Kind("`tempfile.mktemp`", 2, "somebody else can make the file first"),
    "is-literal": Kind("`is` with a literal", 2, "compares identity, which is an accident of the interpreter"),
    "finally-return": Kind("`return`, `break` or `continue` in `finally`", 2, "drops the exception on its way out"),
    "not-implemented": Kind("`raise NotImplemented`", 2, "raises a TypeError; `NotImplementedError` was meant"),
    "same-key": Kind("a key twice in one dict", 2, "the first value is lost"),
    "redefined": Kind("a function or class is defined twice", 2, "the first one cannot be reached"),
    "async-blocks": Kind("a blocking call in an `async def`", 2, "everything else stands still meanwhile"),
    "star-import": Kind("`from ... import *`", 1, "nobody sees where a name comes from"),
    "print": Kind("`print` in library code", 1, "output that callers cannot turn off; often left from debugging"),
    "none-compare": Kind("`== None`", 1, "asks the object instead of the identity; write `is None`"),
    "parameters": Kind(f"more than {MAX_PARAMETERS} parameters", 1, "hard to call right"),
    "depth": Kind(f"more than {MAX_DEPTH} blocks within each other", 1, "hard to follow"),
}
"""In the order in which a report shows them."""


@attrs.frozen
class Around:
    """What a check may know of the place."""

    names: Mapping[str, str]
    """What the names of the file stand for: `{"sp": "subprocess", "system": "os.system"}`."""
    is_async: bool
    """Within an `async def`."""
    is_test: bool
    """In a test, which may well pickle what it made itself."""
    may_print: bool
    may_star: bool


Spot: TypeAlias = tuple[str, ast.AST]
"""A kind, and the node at whose line it is shown."""
Check: TypeAlias = Callable[[ast.AST, Around], Iterator[Spot]]

_SHELLS: Final = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"})
_UNPICKLE: Final = frozenset({
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open"),
    *("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.unsafe_load_all", "dill.load", "dill.loads"),
})  # fmt: skip
_SAFE_LOADERS: Final = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")
_DEBUGGERS: Final = frozenset({"breakpoint", "pdb.set_trace", "ipdb.set_trace", "pudb.set_trace", "pdb.post_mortem"})
_BLOCKING: Final = frozenset({
    *("time.sleep", "os.system", "os.wait", "input", "socket.create_connection", "urllib.request.urlopen"),
    *("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"),
    *(f"{library}.{verb}" for library in ("requests", "httpx") for verb in ("get", "post", "put", "delete", "request")),
})  # fmt: skip
_BUILTINS: Final = frozenset({"eval", "exec", "print", "breakpoint", "input"})
_MUTABLE_CALLS: Final = frozenset({"list", "dict", "set", "bytearray", "collections.defaultdict", "collections.deque"})
_BLOCKS: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)


def blocks_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements and the clauses right below a node; expressions, most of a tree, hold neither."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, field, None)
        if isinstance(below, list):
            yield from below


def dotted_name(node: ast.expr, names: Mapping[str, str]) -> str:
    """Return what an expression such as `sp.run` stands for; empty where it is no plain name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    first = names.get(node.id)
    if first is None:
        # A name that nothing imported: a builtin, or a variable of which nothing is known.
        first = node.id if not parts and node.id in _BUILTINS else f"?{node.id}"
    return ".".join([first, *reversed(parts)])


def _call(node: ast.AST, around: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.Call)
    name = dotted_name(node.func, around.names)
    keywords = {one.arg: one.value for one in node.keywords if one.arg is not None}
    if name in {"eval", "exec"}:
        yield "eval", node
    if name in _SHELLS or _is_constant(keywords.get("shell"), value=True):
        yield "shell", node
    if _is_constant(keywords.get("verify"), value=False) or name == "ssl._create_unverified_context":
        yield "tls", node
    if name in _DEBUGGERS:
        yield "debugger", node
    if name in _UNPICKLE and not around.is_test and not _has_safe_loader(node, keywords):
        yield "unpickle", node
    if name == "tempfile.mktemp":
        yield "mktemp", node
    if around.is_async and name in _BLOCKING:
        yield "async-blocks", node
    if name == "print" and not around.may_print and "file" not in keywords:
        yield "print", node


def _is_constant(node: ast.expr | None, *, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _has_safe_loader(node: ast.Call, keywords: Mapping[str, ast.expr]) -> bool:
    loader = keywords.get("Loader") or (node.args[1] if len(node.args) > 1 else None)
    return loader is not None and ast.unparse(loader).endswith(_SAFE_LOADERS)


def _try(node: ast.AST, _: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.Try | ast.TryStar)
    lets_exit_pass = False
    for handler in node.handlers:
        caught = _caught(handler)
        passes_on = _passes_on(handler)
        if handler.type is None and not passes_on:
            yield "bare-except", handler
        elif "BaseException" in caught and not passes_on and not lets_exit_pass:
            yield "base-exception", handler
        elif "Exception" in caught and all(isinstance(one, ast.Pass) or _is_ellipsis(one) for one in handler.body):
            yield "swallowed", handler
        lets_exit_pass = lets_exit_pass or (passes_on and bool(caught & {"BaseException", "KeyboardInterrupt"}))
    if any(_leaves(one, in_loop=False) for one in node.finalbody):
        yield "finally-return", node


def _caught(handler: ast.ExceptHandler) -> set[str]:
    """Return the names of the exceptions that a handler is for."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {one.id for one in kinds if isinstance(one, ast.Name)}


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises, or does something with the exception that it caught."""
    for one in (found for child in handler.body for found in ast.walk(child)):
        if isinstance(one, ast.Raise) or (isinstance(one, ast.Name) and one.id == handler.name):
            return True
    return False


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _function(node: ast.AST, around: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    arguments = node.args
    defaults = [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]
    if any(_is_mutable(one, around.names) for one in defaults):
        yield "mutable-default", node
    count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    first = (arguments.posonlyargs + arguments.args)[:1]
    if count - any(one.arg in {"self", "cls"} for one in first) > MAX_PARAMETERS:
        yield "parameters", node
    if not isinstance(node, ast.Lambda):
        yield from _redefined(node, around)
        if _depth(node) > MAX_DEPTH:
            yield "depth", node


def _is_mutable(node: ast.expr, names: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        plain = node.func.id if isinstance(node.func, ast.Name) else ""
        return plain in _MUTABLE_CALLS or dotted_name(node.func, names) in _MUTABLE_CALLS
    return isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _depth(node: ast.AST) -> int:
    deepest = 0
    for child in blocks_of(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        # An `elif` is an `if` in the `else` of another, and no level of its own.
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, _depth(child) + (isinstance(child, _BLOCKS) and not is_elif))
    return deepest


def _redefined(node: ast.AST, _: Around) -> Iterator[Spot]:
    """Say that a body defines a name twice in a row of plain definitions; decorated ones know why."""
    assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    seen: set[str] = set()
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            # A decorator may have kept the first one: `overload`, `register`, `property`.
            if child.decorator_list:
                seen.discard(child.name)
            elif child.name in seen and child.name != "_":
                yield "redefined", child
            else:
                seen.add(child.name)
        elif isinstance(child, ast.Assign | ast.AugAssign | ast.Delete | ast.Expr):
            # A use in between (`register(step)`, `x = property(get_x)`) gives the first one a purpose.
            seen -= {one.id for one in ast.walk(child) if isinstance(one, ast.Name)}


def _assert(node: ast.AST, _: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.Assert)
    if isinstance(node.test, ast.Tuple) and node.test.elts:
        yield "assert-tuple", node


def _compare(node: ast.AST, _: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.Compare)
    for operator, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
        sides = [one.value for one in (left, right) if isinstance(one, ast.Constant)]
        if isinstance(operator, ast.Eq | ast.NotEq) and None in sides:
            yield "none-compare", node
        if isinstance(operator, ast.Is | ast.IsNot) and any(
            isinstance(value, str | bytes | int | float) and not isinstance(value, bool) for value in sides
        ):
            yield "is-literal", node


def _leaves(node: ast.AST, *, in_loop: bool) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        return True
    is_loop = in_loop or isinstance(node, ast.For | ast.AsyncFor | ast.While)
    return any(_leaves(child, in_loop=is_loop) for child in blocks_of(node))


def _raise(node: ast.AST, _: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.Raise)
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if isinstance(raised, ast.Name) and raised.id == "NotImplemented":
        yield "not-implemented", node


def _dict(node: ast.AST, _: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.Dict)
    keys = [(type(one.value), one.value) for one in node.keys if isinstance(one, ast.Constant)]
    if len(set(keys)) < len(keys):
        yield "same-key", node


def _import_from(node: ast.AST, around: Around) -> Iterator[Spot]:
    assert isinstance(node, ast.ImportFrom)
    if not around.may_star and any(one.name == "*" for one in node.names):
        yield "star-import", node


CHECKS: Final[Mapping[type[ast.AST], Check]] = {
    ast.Assert: _assert,
    ast.AsyncFunctionDef: _function,
    ast.Call: _call,
    ast.ClassDef: _redefined,
    ast.Compare: _compare,
    ast.Dict: _dict,
    ast.FunctionDef: _function,
    ast.ImportFrom: _import_from,
    ast.Lambda: _function,
    ast.Module: _redefined,
    ast.Raise: _raise,
    ast.Try: _try,
    ast.TryStar: _try,
}
"""What is looked at, and by which check."""
