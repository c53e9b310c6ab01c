"""The table of renames names what exists, and the program that reads it finds what is lost."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Final

from tools.inventory._compare import INTERNAL, REMOVED, Inventory, compare, read_renames

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "renames.md"
TABLE: Final = """
## Public names

| before | now |
| --- | --- |
| `greenroom.a.Old` | `greenroom.a.New` |
| `greenroom.a.Gone`, `Hidden` | internal |
| `greenroom.a.Moved` | `greenroom.b.*` |
"""


def inventory(*names: str, **more: object) -> Inventory:
    return Inventory(items={"public names": frozenset(names)}, **more)  # type: ignore[arg-type]


def test_each_new_public_name_exists() -> None:
    renames = read_renames(PAGE.read_text(encoding="utf-8"))["public names"]
    public = [name for name in renames.values() if INTERNAL not in name and not name.startswith(REMOVED)]

    missing = [name for name in public if not is_public(name)]

    assert missing == []
    assert len(public) > 50


def is_public(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return last in importlib.import_module(module).__all__


def test_missing_name_without_row_is_lost() -> None:
    found = compare(inventory("greenroom.a.Other"), inventory(), read_renames(TABLE))

    assert found.lost == ("public names: greenroom.a.Other",)


def test_renamed_and_moved_names_are_found() -> None:
    old = inventory("greenroom.a.Old", "greenroom.a.Moved")

    found = compare(old, inventory("greenroom.a.New", "greenroom.b.Moved"), read_renames(TABLE))

    assert len(found.renamed) == 2
    assert found.lost == ()
    assert len(found.stale) == 2


def test_row_with_unknown_new_name_is_a_loss() -> None:
    found = compare(inventory("greenroom.a.Old"), inventory(), read_renames(TABLE))

    assert found.lost == ("public names: greenroom.a.Old: the new name greenroom.a.New does not exist",)


def test_internal_name_must_be_defined_and_undocumented() -> None:
    defined = {"Gone": ["greenroom.a._gone"], "Hidden": ["greenroom.a._hidden"]}
    old = inventory("greenroom.a.Gone", "greenroom.a.Hidden", used=frozenset({"greenroom.a.Hidden"}))

    found = compare(old, inventory(definitions=defined), read_renames(TABLE))

    assert found.renamed == ("public names: greenroom.a.Gone -> internal",)
    assert found.lost == ("public names: greenroom.a.Hidden: a page or an example uses it",)
