"""Imports go one way: down the floors, by full name, never in a ring."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.architecture.floors import FLOOR_OF, folder, imported_folders
from tests.architecture.source_tree import imports, sources

if TYPE_CHECKING:
    from collections.abc import Mapping


def uphill(modules: Mapping[str, str]) -> list[str]:
    """Return the imports that do not go down, as sentences; empty when all do."""
    found = []
    for module, source in modules.items():
        here = folder(module)
        if not here:  # the front page shows names of every floor
            continue
        if here not in FLOOR_OF:
            found.append(f"{module}: {here!r} has no floor; give it one in FLOORS")
            continue
        for there in sorted(imported_folders(source) - {here}):
            if there not in FLOOR_OF:
                what = (
                    f"{there!r}, which has no floor" if there else "the front page; import from the folder that owns it"
                )
                found.append(f"{module} imports {what}")
            elif FLOOR_OF[there] >= FLOOR_OF[here]:
                found.append(f"{module} imports {there!r}, which is not below {here!r}")
    return found


def relative(modules: Mapping[str, str]) -> list[str]:
    return [f"{module}:{each.line}" for module, source in modules.items() for each in imports(source) if each.level]


def import_graph(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which module needs which.

    A `from folder import name` needs the face of the folder, or the inner module if `name` is one. That Python loads the
    face of a folder before its inner modules is not counted, else every face would be in a ring with what it shows.
    Imports for type checkers are not counted either: they do not run, and the floors hold them all the same. Those of a face
    that looks its names up stand for what it imports later, so they count.
    """
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, source in modules.items():
        for each in imports(source):
            inner = f"{each.module}.{each.name}"
            needed = inner if each.name is not None and inner in modules else each.module
            if needed in modules and (not each.is_for_types or "lazy_names(" in source):
                graph[module].add(needed)
    return graph


def ring(modules: Mapping[str, str]) -> list[str]:
    """Return a ring of modules that import each other, the first again at the end; empty when there is none."""
    try:
        TopologicalSorter(import_graph(modules)).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_imports_only_go_down() -> None:
    assert uphill(sources()) == []


def test_imports_are_absolute() -> None:
    assert relative(sources()) == []


def test_no_modules_import_each_other() -> None:
    assert ring(sources()) == []


# --- that the checks find what they look for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "from greenroom.agents import Agent",
        "import greenroom.agents._engine",
        "from greenroom import agents",
        "def later():\n    from greenroom.agents import Agent",
        "class Later:\n    async def go(self):\n        try:\n            import greenroom.agents\n        finally: pass",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from greenroom.agents import Agent",
    ],
)
def test_an_uphill_import_is_found_wherever_it_stands(source: str) -> None:
    assert uphill({"greenroom.mailbox._lanes": source}) == [
        "greenroom.mailbox._lanes imports 'agents', which is not below 'mailbox'"
    ]


def test_siblings_of_one_floor_do_not_import_each_other() -> None:
    assert uphill({"greenroom.tools._pool": "from greenroom.models import Model"})
    assert uphill({"greenroom.cli._app": "from greenroom.testing import ScriptedModel"})


def test_the_kernel_does_not_know_the_version_but_a_door_may() -> None:
    assert uphill({"greenroom.core._ids": "from greenroom._version import __version__"})
    assert not uphill({"greenroom.cli._app": "from greenroom._version import __version__"})


def test_nobody_inside_imports_the_front_page() -> None:
    assert uphill({"greenroom.core._ids": "import greenroom"})
    assert uphill({"greenroom.cli._app": "from greenroom import open_session"})
    assert not uphill({"greenroom": "from greenroom.session import open_session"})


def test_a_folder_without_a_floor_is_refused() -> None:
    assert uphill({"greenroom.utils": ""})
    assert uphill({"greenroom.cli": "from greenroom.utils import drawer"})


def test_downhill_and_own_imports_pass() -> None:
    source = "import trio\nfrom greenroom.core import new_id\nfrom greenroom.mailbox._lanes import Lane"
    assert uphill({"greenroom.mailbox._mailbox": source, "greenroom.mailbox": source}) == []


def test_a_relative_import_is_found() -> None:
    assert relative(
        {"greenroom.core._ids": "\nfrom . import _errors", "greenroom.core": "def f():\n    from .x import y"}
    )


def test_a_ring_is_found_through_lazy_imports() -> None:
    modules = {
        "greenroom.core": "from greenroom.core._a import a\nfrom greenroom.core._b import b",
        "greenroom.core._a": "from greenroom.core import _b",
        "greenroom.core._b": "def later():\n    from greenroom.core._c import c",
        "greenroom.core._c": "import greenroom.core._a",
    }
    found = ring(modules)
    assert set(found) == {"greenroom.core._a", "greenroom.core._b", "greenroom.core._c"}
    assert found[0] == found[-1]


def test_an_inner_module_that_imports_its_own_face_is_a_ring() -> None:
    assert ring(
        {"greenroom.core": "from greenroom.core._a import a", "greenroom.core._a": "from greenroom.core import b"}
    )


def test_an_import_for_types_makes_no_ring() -> None:
    modules = {
        "greenroom.core._a": "from greenroom.core import _b",
        "greenroom.core._b": "if TYPE_CHECKING:\n    from greenroom.core import _a\nelse:\n    import trio",
    }
    assert ring(modules) == []
