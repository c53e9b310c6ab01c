"""Which checks look at which nodes of the syntax tree.

Rule 1: a check looks at one node, and at what is around it as far as `Around` says.
Must not know: reports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.swarm.survey._around import Around, Check, Spot
from greenroom.swarm.survey._calls import check_call, check_loop
from greenroom.swarm.survey._expressions import check_compare, check_dict, check_f_string
from greenroom.swarm.survey._functions import check_class_of_tests, check_function, check_skip
from greenroom.swarm.survey._module import check_all, check_redefined
from greenroom.swarm.survey._statements import check_condition, check_expression, check_raise, check_try, check_with


def _import_from(node: ast.ImportFrom, around: Around) -> Iterator[Spot]:
    is_own = (node.module or "").rpartition(".")[2].startswith("_")  # the public face of a private module
    is_test = around.file.is_test
    if any(one.name == "*" for one in node.names) and not (around.file.may_star or is_own or is_test):
        yield Spot("star-import", node.lineno)


CHECKS: Final[Mapping[type[ast.AST], tuple[Check, ...]]] = {
    ast.Assert: (check_condition,),
    ast.AsyncFunctionDef: (check_function, check_redefined),
    ast.AsyncWith: (check_with,),
    ast.Call: (check_call, check_skip),
    ast.ClassDef: (check_redefined, check_class_of_tests),
    ast.Compare: (check_compare,),
    ast.Dict: (check_dict,),
    ast.Expr: (check_expression,),
    ast.For: (check_loop,),
    ast.FunctionDef: (check_function, check_redefined),
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
    ast.With: (check_with,),
    ast.comprehension: (check_loop,),
}
