"""Checks of tests that cannot fail, or fail for the wrong reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from greenroom.swarm.survey._around import Around, Function, Spot, dotted_name, keywords_of_call

COLLECTED: Final = re.compile(r"test_.*\.py|.*_test\.py")
_CHECKING: Final = re.compile(
    r"assert|check|verif|expect|fail|raise|warn|should|must|ensure|compar|valid|match|test|run|invoke|main|skip|xfail|approx"
    r"|benchmark|lint|mypy|snapshot|reveal|refus|reject|wait|eventually|prove|report|exit|error",
    re.IGNORECASE,
)
"""Names of calls that may well check something."""
_ABOUT_ERRORS: Final = re.compile(
    r"raise|error|crash|fail|smoke|no_op|noop|works?\b|import|not_|without|allowed|accept|ok\b|hang|leak|warn|safe|deprec|twice|idempot|ignor"
)
"""Names of tests that are about nothing being raised."""
_ALWAYS: Final = frozenset({"pytest.mark.skip", "unittest.skip"})


def check_test(node: Function, around: Around) -> Iterator[Spot]:
    """Check a function of a file of tests."""
    name = PurePosixPath(around.file.path).name
    if not (around.file.is_test and around.is_collected):
        return
    for decorator in node.decorator_list:
        if _skips_always(decorator, around):
            yield Spot("skip-always", decorator.lineno)
    if not (node.name.startswith("test") and COLLECTED.fullmatch(name)) or node.decorator_list:
        return
    if _ABOUT_ERRORS.search(node.name) or around.file.has_comment(node.lineno, node.end_lineno or node.lineno):
        return
    if ast.get_docstring(node, clean=False):
        return  # it says what it is about, which may be that nothing is raised
    inner = [found for child in node.body for found in ast.walk(child)]
    has_call = any(isinstance(child, ast.Call) for child in inner)
    if has_call and not any(map(_may_check, inner)):
        yield Spot("test-asserts-nothing", node.lineno)


def _may_check(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Compare()):
            return True  # that it is lost is another finding
        case ast.Assert() | ast.Raise() | ast.With() | ast.AsyncWith() | ast.Yield() | ast.Await():
            return True
        case ast.Call(func=function):
            return _CHECKING.search(ast.unparse(function)) is not None
    return False


def _skips_always(node: ast.expr, around: Around) -> bool:
    """Return True if a test is skipped whatever happens, with a reason: the check of silent ones sees the others."""
    function = node.func if isinstance(node, ast.Call) else node
    name = dotted_name(function, around.file.names)
    if not isinstance(node, ast.Call):
        return False
    keywords = keywords_of_call(node)
    if name in _ALWAYS:
        return bool(node.args) or "reason" in keywords
    if name in {"pytest.mark.skipif", "unittest.skipIf"}:
        condition = node.args[0] if node.args else keywords.get("condition")
        return isinstance(condition, ast.Constant) and bool(condition.value)
    return False


def check_assert(node: ast.Assert, around: Around) -> Iterator[Spot]:
    """Check that an `assert` of a test depends on something; one of a false constant is there to fail."""
    is_constant = isinstance(node.test, ast.Constant) and bool(node.test.value)
    if around.file.is_test and is_constant and not around.file.has_comment(node.lineno - 1, node.lineno):
        yield Spot("assert-constant", node.lineno)


def check_expected_error(node: ast.With | ast.AsyncWith, around: Around) -> Iterator[Spot]:
    """Check that a test expects an error that a slip in the test itself would not raise as well."""
    for item in node.items if around.file.is_test else ():
        call = item.context_expr
        if not isinstance(call, ast.Call) or item.optional_vars is not None:
            continue
        name = dotted_name(call.func, around.file.names)
        if name != "pytest.raises" and not name.endswith((".assertRaises", "self.assertRaises")):
            continue
        kinds = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
        is_explained = bool(call.keywords) or around.file.has_comment(node.lineno - 1, node.lineno)
        if kinds in (["Exception"], ["BaseException"]) and not is_explained:
            yield Spot("raises-broad", node.lineno)
