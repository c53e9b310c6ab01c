"""Checks of statements: handlers, conditions, what never runs, what a line computes for nobody."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from typing import Final

from greenroom.swarm.survey._around import Around, Spot, blocks_of, dotted_name

_LEAVING: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EXITS: Final = frozenset({"sys.exit", "os._exit", "os.abort", "pytest.fail", "pytest.skip"})
_LOOKS: Final = frozenset({"sys.exc_info", "traceback.print_exc", "traceback.format_exc"})
_EXITING: Final = frozenset({"BaseException", "KeyboardInterrupt", "SystemExit"})
_TASKS: Final = frozenset({"asyncio.create_task", "asyncio.ensure_future"})
_SLEEPS: Final = frozenset({"asyncio.sleep", "trio.sleep", "anyio.sleep", "asyncio.gather", "asyncio.wait_for"})
_RAISES: Final = re.compile(r"(raises|warns|assertRaises\w*|assertWarns\w*|assertLogs|catch_warnings|suppress)$")
_QUESTIONS: Final = frozenset({"isinstance", "issubclass", "len", "callable", "hasattr", "all", "any", "type"})
_ERRORS: Final = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}


def check_try(node: ast.Try | ast.TryStar, around: Around) -> Iterator[Spot]:
    """Check a `try` statement and its handlers."""
    lets_exit_pass = False
    for handler in node.handlers:
        caught = _caught(handler)
        passes_on = _passes_on(handler, around)
        if handler.type is None:
            if not passes_on and not lets_exit_pass:
                yield Spot("bare-except", handler.lineno)
        elif isinstance(handler.type, ast.BoolOp):
            yield Spot("except-or", handler.lineno)
        elif "BaseException" in caught:
            is_dropped = not any(isinstance(inner, ast.Call) for child in handler.body for inner in ast.walk(child))
            if is_dropped and not passes_on and not lets_exit_pass and not _is_explained(handler, around):
                yield Spot("base-exception", handler.lineno)
        elif "Exception" in caught and _is_silent(handler, around) and not _is_staged(node, around):
            yield Spot("swallowed", handler.lineno)
        lets_exit_pass = lets_exit_pass or (passes_on and bool(caught & _EXITING))
    yield from _late_handlers(node, around)
    left = [line for statement in node.finalbody for line in _leaving_lines(statement, in_loop=False)]
    if left:
        yield Spot("finally-return", left[0])


def _caught(handler: ast.ExceptHandler) -> set[str]:
    """Return the names of the exceptions that a handler is for."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {kind.id for kind in kinds if isinstance(kind, ast.Name)}


def _passes_on(handler: ast.ExceptHandler, around: Around) -> bool:
    """Return True if a handler raises, ends the program, or does something with the exception that it caught."""
    for node in (found for child in handler.body for found in ast.walk(child)):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Name) and node.id == handler.name):
            return True
        if isinstance(node, ast.Call):
            name = dotted_name(node.func, around.file.names)
            if name in _EXITS or (name in _LOOKS and handler.type is not None):
                return True
            if handler.type is not None and name.endswith(".exception"):  # a logger's: with the traceback
                return True
    return False


def _is_explained(handler: ast.ExceptHandler, around: Around) -> bool:
    """Return True if a comment stands in a handler, or before its end: then somebody has thought about it."""
    last = handler.end_lineno or handler.lineno
    return around.file.has_comment(handler.lineno, last)


def _is_silent(handler: ast.ExceptHandler, around: Around) -> bool:
    # In `__del__` there is nobody whom an error could reach.
    return _does_nothing(handler.body) and around.function != "__del__" and not _is_explained(handler, around)


def _is_staged(node: ast.Try | ast.TryStar, around: Around) -> bool:
    """Return True if a test raises what it catches."""
    return around.file.is_test and any(isinstance(child, ast.Raise) for child in node.body)


def _does_nothing(body: Sequence[ast.stmt]) -> bool:
    return all(
        isinstance(child, ast.Pass | ast.Continue)
        or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))
        for child in body
    )


def _late_handlers(node: ast.Try | ast.TryStar, around: Around) -> Iterator[Spot]:
    """Say which handlers come after one that catches all that they are for; of the builtin exceptions only."""
    if isinstance(node, ast.TryStar):
        return
    seen: list[type[BaseException]] = []
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = [kind.id if isinstance(kind, ast.Name) else "" for kind in kinds]
        errors = [_ERRORS[name] for name in names if name in _ERRORS and name not in around.file.names]
        if errors and len(errors) == len(names) and all(issubclass(error, tuple(seen)) for error in errors):
            yield Spot("except-late", handler.lineno)
        seen += errors


def _leaving_lines(node: ast.AST, *, in_loop: bool) -> Iterator[int]:
    """Yield the lines at which a statement leaves the block that it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        yield node.lineno
    is_loop = in_loop or isinstance(node, ast.For | ast.AsyncFor | ast.While)
    for child in blocks_of(node):
        yield from _leaving_lines(child, in_loop=is_loop)


def check_raise(node: ast.Raise, _: Around) -> Iterator[Spot]:
    """Check what is raised."""
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if isinstance(raised, ast.Name) and raised.id == "NotImplemented":
        yield Spot("not-implemented", node.lineno)


def check_condition(node: ast.If | ast.While | ast.IfExp | ast.Assert, around: Around) -> Iterator[Spot]:
    """Check what is asked."""
    test = node.test
    if isinstance(test, ast.Tuple) and test.elts:
        yield Spot("assert-tuple", test.lineno)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and isinstance(test.values[0], ast.Compare):
        others = [value.value for value in test.values[1:] if isinstance(value, ast.Constant)]
        if any(isinstance(value, str) and value for value in others):
            yield Spot("always-true", test.lineno)
    if isinstance(node, ast.Assert) and isinstance(node.msg, ast.JoinedStr | ast.Constant):
        names = {child.id for child in ast.walk(test) if isinstance(child, ast.Name)}
        calls = [child.func for child in ast.walk(test) if isinstance(child, ast.Call)]
        asks_only = all(isinstance(call, ast.Name) and call.id in _QUESTIONS for call in calls)
        if names & around.public_parameters and asks_only:
            yield Spot("assert-check", node.lineno)


def check_expression(node: ast.Expr, around: Around) -> Iterator[Spot]:
    """Check a statement that only computes something."""
    if around.expects_error:
        return
    value = node.value
    if isinstance(value, ast.Compare) and (around.file.is_product or around.file.is_test):
        yield Spot("lost-compare", node.lineno)
    if isinstance(value, ast.Call):
        name = dotted_name(value.func, around.file.names)
        if name in _TASKS and not around.file.is_test:
            yield Spot("task-dropped", node.lineno)
        elif name in _SLEEPS and around.is_async:
            yield Spot("unawaited", node.lineno)
        elif name.startswith("?") and name[1:] in _ERRORS and not name[1:].endswith("Warning"):
            yield Spot("exception-lost", node.lineno, name=name[1:])


def check_with(node: ast.With | ast.AsyncWith, around: Around) -> Iterator[Spot]:
    """Check what a block is in: `suppress(Exception)` swallows as `except Exception: pass` does."""
    for item in node.items:
        call = item.context_expr
        if not isinstance(call, ast.Call) or dotted_name(call.func, around.file.names) != "contextlib.suppress":
            continue
        caught = {argument.id for argument in call.args if isinstance(argument, ast.Name)}
        if caught & {"Exception", "BaseException"} and not around.file.has_comment(node.lineno - 1, node.lineno):
            yield Spot("base-exception" if "BaseException" in caught else "swallowed", node.lineno)


def expects_error(node: ast.With | ast.AsyncWith) -> bool:
    """Return True if a block is there to see an error."""
    for item in node.items:
        call = item.context_expr
        function = call.func if isinstance(call, ast.Call) else call
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if _RAISES.search(str(name)):
            return True
    return False


def check_block(body: Sequence[ast.stmt]) -> Iterator[Spot]:
    """Check the statements of one block for those that can never run."""
    for at, one in enumerate(body[:-1]):
        if isinstance(one, _LEAVING):
            rest = body[at + 1 :]
            # A `yield` after a `return` makes a generator of the function; a guard may follow what never returns.
            is_guard = all(
                isinstance(late, (*_LEAVING, ast.Pass, ast.Assert)) or _does_nothing([late]) for late in rest
            )
            if not is_guard and not any(
                isinstance(found, ast.Yield | ast.YieldFrom) for late in rest for found in ast.walk(late)
            ):
                yield Spot("unreachable", rest[0].lineno)
            return
