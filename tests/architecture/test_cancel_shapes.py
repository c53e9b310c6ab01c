"""Nobody tells a cancel from a failure by the class of the error, where a group of cancels could be what arrives.

A nursery may raise a group although all of its tasks were only cancelled, and `except trio.Cancelled` does not see a group. So
code reads the decided outcome (`Behavior.on_unfinished`, `decide_outcome`) or asks `is_cancelled` or `split_cancelled`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import pytest

from tests.architecture.source_tree import PACKAGE, module_name, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVENT: Final = "waits for one event in its own task"
ALLOWED: Final = {
    "greenroom.actors._lifecycle:masked_error": "looks at the leaves of groups",
    "greenroom.actors._turn:Turn._hold": _EVENT,
    "greenroom.actors._ref:wait_on": _EVENT,
    "greenroom.agents.subagents._linked_wait:wait_linked": _EVENT,
    "greenroom.headless._control:Host._wait_answer": _EVENT,
    "greenroom.headless._control:Host.can_use_tool": _EVENT,
    "greenroom.core._trio:split_cancelled": "it is what the others ask",
    "greenroom.session.parts._host_agents:spawn_for_host": _EVENT,
    "greenroom.supervisor._supervisor:Supervisor.carry_out": "ends and starts one child after the other, in its own task",
    "greenroom.testing._scheduler:is_being_cancelled": "looks at what one task is woken with, which no nursery has been through",
}
"""Function to the reason why no group can arrive there. A body that gets a nursery, or calls what has one, loses its place."""


def cancel_shapes(source: str) -> Iterator[str]:
    """Yield the qualified name of each function that tells `Cancelled` by its class, once for each place."""
    yield from _shapes(ast.parse(source), ())


def _shapes(node: ast.AST, inside: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = (*inside, node.name)
    # `except* trio.Cancelled` and `group.split(trio.Cancelled)` look into groups; these do not.
    starred = {
        id(each_node) for each_node in ast.walk(node) if isinstance(node, ast.TryStar) and each_node in node.handlers
    }
    for child in ast.iter_child_nodes(node):
        if id(child) not in starred and _tells_by_class(child):
            yield ".".join(inside)
        yield from _shapes(child, inside)


def _tells_by_class(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=ast.expr() as kind):
            return _names_cancelled(kind)
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
            return _names_cancelled(kind)
        case ast.MatchClass(cls=kind):
            return _names_cancelled(kind)
        case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq(), *_]):
            return any(map(_names_cancelled, (node.left, *node.comparators)))
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress")):
            return any(map(_names_cancelled, node.args))
    return False


def _names_cancelled(kind: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "Cancelled")
        or (isinstance(node, ast.Name) and node.id == "Cancelled")
        for node in ast.walk(kind)
    )


def test_cancel_is_told_by_class_only_where_no_group_arrives() -> None:
    found = {
        f"{module_name(path)}:{name}"
        for path in python_files(PACKAGE)
        if "Cancelled" in (source := path.read_text(encoding="utf-8"))
        for name in cancel_shapes(source)
    }

    assert sorted(found - ALLOWED.keys()) == [], "ask `is_cancelled`, or react in `on_unfinished`"
    assert sorted(ALLOWED.keys() - found) == [], "allowed, and not there"


def test_no_module_renames_the_class_that_the_rule_looks_for() -> None:
    renamed = [
        f"{module_name(path)}:{alias.asname}"
        for path in python_files(PACKAGE)
        if "Cancelled" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "Cancelled" and alias.asname
    ]

    assert renamed == []


@pytest.mark.parametrize(
    "planted",
    [
        "try:\n        pass\n    except trio.Cancelled:\n        raise",
        "try:\n        pass\n    except (OSError, trio.Cancelled) as error:\n        raise",
        "try:\n        pass\n    except ValueError:\n        pass\n    except Cancelled:\n        raise",
        "return isinstance(error, trio.Cancelled)",
        "return isinstance(error, KeyboardInterrupt | trio.Cancelled)",
        "return type(error) is trio.Cancelled",
        "with suppress(trio.Cancelled):\n        pass",
        "match error:\n        case trio.Cancelled():\n            raise",
    ],
)
def test_planted_shape_is_found(planted: str) -> None:
    assert list(cancel_shapes(f"async def planted(error):\n    {planted}\n")) == ["planted"]


@pytest.mark.parametrize(
    "sound",
    [
        "try:\n        pass\n    except* trio.Cancelled:\n        pass",
        "return error.split(trio.Cancelled)",
        "try:\n        pass\n    except BaseException as error:\n        if is_cancelled(error):\n            raise",
    ],
)
def test_shape_that_sees_groups_is_not_reported(sound: str) -> None:
    assert list(cancel_shapes(f"async def sound(error):\n    {sound}\n")) == []
