"""Every folder has one face: a docstring, imports, a sorted `__all__` that matches, and nothing that runs.

The names that the faces show are written down in exports.txt. After a change that is meant: `make exports`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.architecture.source_tree import PACKAGE, is_type_checking, module_name, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SNAPSHOT: Final = Path(__file__).with_name("exports.txt")
MAX_PUBLIC_NAMES: Final = 48
# A face may look its names up when they are first used (PEP 562), in the form that greenroom/_lazy_names.py shows.
LAZY_MODULE: Final = "greenroom._lazy_names"
LAZY_FUNCTIONS: Final = {"__getattr__", "__dir__"}


def natural(name: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def sort_key(name: str) -> tuple[int, list[str | int]]:
    """Order as ruff's RUF022 does: CONSTANTS, then Classes, then the rest."""
    if name.isupper() and len(name) > 1:
        return 0, natural(name)
    return (1 if name[:1].isupper() else 2), natural(name)


def assigned(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the one name that a statement assigns to, with its value; "" where it does something else."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return name, value
    return "", None


def literal_names(value: ast.expr | None) -> list[str] | None:
    """Return the names of a list, tuple or dict of literals, None if it is computed."""
    if isinstance(value, ast.Dict | ast.List | ast.Tuple):
        items = value.keys if isinstance(value, ast.Dict) else value.elts
        names = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        return names if len(names) == len(items) else None
    return None


def lazy_table(node: ast.stmt) -> dict[str, str] | None:
    """Return {name: module} of `__getattr__, __dir__ = lazy_names(globals(), {module: (name, ...)})`, None for anything else."""
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)],
            value=ast.Call(
                func=ast.Name(id="lazy_names"), args=[ast.Call(func=ast.Name(id="globals")), ast.Dict() as found]
            ),
        ) if {ast.unparse(target) for target in targets} == LAZY_FUNCTIONS:
            modules, names = literal_names(found), [literal_names(value) for value in found.values]
            if modules is not None and None not in names:
                return {name: module for module, shown in zip(modules, names, strict=True) for name in shown or ()}
    return None


def lazy_names_of(body: list[ast.stmt]) -> dict[str, str]:
    """Return {name: module} of all names that a face looks up."""
    guards = [node for node in body if isinstance(node, ast.If) and is_type_checking(node.test)]
    return {
        name: module for node in guards for child in node.orelse for name, module in (lazy_table(child) or {}).items()
    }


def imported_names(nodes: list[ast.stmt]) -> dict[str, str]:
    """Return {bound name: module} of the import statements among these."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node.module or "" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
    return found


def runs(nodes: list[ast.stmt]) -> Iterator[str]:
    """Yield what a face should not do: anything but imports, `__all__` and the lazy lookup."""
    for node in nodes:
        name, value = assigned(node)
        is_lazy = (
            isinstance(node, ast.If)
            and is_type_checking(node.test)
            and all(isinstance(child, ast.Import | ast.ImportFrom) for child in node.body)
            and all(lazy_table(child) is not None for child in node.orelse)
        )
        is_names = name == "__all__" and literal_names(value) is not None
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if not (is_import or is_names or is_lazy):
            yield f"line {node.lineno} runs something: {ast.unparse(node).splitlines()[0]}"


def public_names(source: str) -> list[str]:
    """Return `__all__` as it is written."""
    for node in ast.parse(source).body:
        name, value = assigned(node)
        if name == "__all__":
            return literal_names(value) or []
    return []


def faults(source: str) -> list[str]:
    """Return what is wrong with a face, as sentences; empty when nothing is."""
    tree = ast.parse(source)
    body = tree.body
    found = []
    if ast.get_docstring(tree):
        body = body[1:]
    else:
        found.append("has no docstring")
    found += runs(body)
    shown = public_names(source)
    if not any(assigned(node)[0] == "__all__" for node in body):
        found.append("has no __all__")
    if shown != sorted(shown, key=sort_key):
        found.append(f"__all__ is not sorted; should be {sorted(shown, key=sort_key)}")
    if len(shown) != len(set(shown)):
        found.append("__all__ names something twice")
    return found + mismatches(body, shown)


def mismatches(body: list[ast.stmt], shown: list[str]) -> list[str]:
    """Return where imports, the lazy table and `__all__` differ."""
    loaded = imported_names(body)
    for_types = imported_names(
        [child for node in body if isinstance(node, ast.If) and is_type_checking(node.test) for child in node.body]
    )
    lazy = lazy_names_of(body)
    ours = {
        name: module
        for name, module in (loaded | for_types).items()
        if module.startswith("greenroom.") and module != LAZY_MODULE
    }
    found = [f"__all__ shows {name}, which is not there" for name in shown if name not in loaded and name not in lazy]
    found += [f"{name} is imported and not in __all__" for name in ours if name not in shown]
    found += [f"{name} is looked up and not in __all__" for name in lazy if name not in shown]
    found += [
        f"{name} is looked up in {module!r}, and comes under TYPE_CHECKING from {for_types.get(name)!r}"
        for name, module in lazy.items()
        if for_types.get(name) != module
    ]
    found += [f"{name} is for type checkers only" for name in for_types if name in ours and name not in lazy]
    return found


def faces() -> dict[str, str]:
    """Return the text of each `__init__.py` by the name of its folder."""
    files = [path for path in python_files(PACKAGE) if path.name == "__init__.py"]
    return {module_name(path): path.read_text(encoding="utf-8") for path in files}


def snapshot(modules: Mapping[str, str]) -> str:
    return "".join(
        f"{module}: {name}\n" for module in sorted(modules) for name in sorted(public_names(modules[module]))
    )


def test_every_face_shows_what_it_has_and_does_nothing() -> None:
    found = {module: faults(source) for module, source in faces().items()}
    assert {module: sentences for module, sentences in found.items() if sentences} == {}


def test_every_folder_has_a_face() -> None:
    bare = {path.parent for path in python_files(PACKAGE) if not path.with_name("__init__.py").exists()}
    assert sorted(str(folder.relative_to(PACKAGE)) for folder in bare) == []


def test_greenroom_shows_at_most_48_names() -> None:
    assert len(public_names(faces()["greenroom"])) <= MAX_PUBLIC_NAMES


def test_the_public_names_are_those_written_down() -> None:
    """A name that comes or goes is a change for users: see it in the diff. If it is meant: `make exports`."""
    assert snapshot(faces()).splitlines() == SNAPSHOT.read_text(encoding="utf-8").splitlines()


# --- that the checks find what they look for --------------------------------------------------------------------------

GOOD: Final = '''"""Actors."""

from greenroom.actors._loop import LIMIT, Actor, spawn
from greenroom.core import now

__all__ = ["LIMIT", "Actor", "now", "spawn"]
'''
GOOD_LAZY: Final = '''"""Actors."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names
from greenroom._version import __version__

if TYPE_CHECKING:
    from greenroom.actors import Actor
else:
    __getattr__, __dir__ = lazy_names(globals(), {"greenroom.actors": ("Actor",)})

__all__ = ["Actor", "__version__"]
'''


@pytest.mark.parametrize("source", [GOOD, GOOD_LAZY, '"""Nothing yet."""\n\n__all__: list[str] = []\n'])
def test_a_face_in_either_form_passes(source: str) -> None:
    assert faults(source) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"""Actors."""', "", "has no docstring"),
        ('["LIMIT", "Actor", "now", "spawn"]', "sorted(globals())", "line 6 runs something"),
        ("__all__ =", "NAMES =", "has no __all__"),
        ('"LIMIT", "Actor", "now"', '"Actor", "LIMIT", "now"', "__all__ is not sorted"),
        ('"now", "spawn"', '"spawn", "now"', "__all__ is not sorted"),
        ('"now", ', "", "now is imported and not in __all__"),
        ('"spawn"]', '"spawn", "stop"]', "__all__ shows stop, which is not there"),
        ('"spawn"]', '"spawn", "spawn"]', "__all__ names something twice"),
        ("__all__", "now()\n__all__", "line 6 runs something: now()"),
        ("__all__", "def helper(): pass\n__all__", "line 6 runs something: def helper():"),
        ("__all__", "if TYPE_CHECKING:\n    now()\n__all__", "line 6 runs something: if TYPE_CHECKING:"),
    ],
)
def test_a_fault_in_a_face_is_found(old: str, new: str, sentence: str) -> None:
    found = faults(GOOD.replace(old, new))
    assert [each for each in found if each.startswith(sentence)], found


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"greenroom.actors":', '"greenroom.agents":', "Actor is looked up in 'greenroom.agents', and comes under"),
        ('"greenroom.actors": ("Actor",)', "", "__all__ shows Actor, which is not there"),
        ('"greenroom.actors": ("Actor",)', "", "Actor is for type checkers only"),
        ('["Actor", "__version__"]', '["__version__"]', "Actor is looked up and not in __all__"),
        ("__getattr__, __dir__", "__getattr__, __len__", "line 6 runs something"),
        ("globals(), {", "globals(), spam | {", "line 6 runs something"),
    ],
)
def test_a_fault_in_a_lazy_face_is_found(old: str, new: str, sentence: str) -> None:
    found = faults(GOOD_LAZY.replace(old, new))
    assert [each for each in found if each.startswith(sentence)], found


def test_the_snapshot_names_each_folder_and_name() -> None:
    assert snapshot({"greenroom.b": '__all__ = ["two", "One"]', "greenroom.a": "__all__ = ['x']"}) == (
        "greenroom.a: x\ngreenroom.b: One\ngreenroom.b: two\n"
    )


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(faces()), encoding="utf-8")
    print(f"wrote {SNAPSHOT}")
