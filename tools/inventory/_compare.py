"""Comparison of two inventories with the table of renames."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

COLLECTOR: Final = Path(__file__).with_name("_collect.py")
CODE: Final = re.compile(r"`([^`]+)`")
MEMBERS: Final = "members of public classes"
INTERNAL: Final = "internal"
"""What the table says of a public name that has become private, in the same folder."""
REMOVED: Final = "removed: "
IMPORTED: Final = re.compile(r"^\s*from (greenroom[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
ATTRIBUTE: Final = re.compile(r"\b([a-z]+\.[a-z_]+)\b")


@attrs.frozen(kw_only=True)
class Inventory:
    """Everything that a user can name in one checkout."""

    items: Mapping[str, frozenset[str]]
    """The items of each category, by their names."""
    definitions: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    """Modules that define a name at their top level."""
    members: frozenset[str] = frozenset()
    """Names of attributes and methods of the parts of a session."""
    used: frozenset[str] = frozenset()
    """Public names that a page or an example of the checkout imports, and attributes that one names."""


@attrs.frozen(kw_only=True)
class Comparison:
    """What became of the items that the new inventory does not have."""

    renamed: tuple[str, ...] = ()
    """Items whose new name stands in the table, with it."""
    lost: tuple[str, ...] = ()
    """Items that the table does not have, or for which it names something that does not exist."""
    stale: tuple[str, ...] = ()
    """Rows of the table that rename nothing."""


def read_inventory(checkout: Path) -> Inventory:
    """Return the inventory of a checkout, collected by a process of its own.

    Raises:
        ValueError: The package that the process imported is not the one of the checkout.
    """
    # Bytecode goes elsewhere, so that the older checkout stays as it is.
    bytecode = str(Path(tempfile.gettempdir()) / "greenroom-bytecode")
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": bytecode}
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-P", str(COLLECTOR)]
        run = subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(run.stdout)
    if Path(found["root"]) != checkout:
        raise ValueError(f"the process imported {found['root']}, not {checkout}")
    return Inventory(
        items={category: frozenset(items) for category, items in found["items"].items()},
        definitions=found["definitions"],
        members=frozenset(found["members"]),
        used=frozenset(names_in_use(checkout)),
    )


def names_in_use(checkout: Path) -> Iterator[str]:
    """Yield the public names that pages and examples of a checkout import, and the attributes that they name."""
    pages = [*checkout.glob("*.md"), *(checkout / "docs").rglob("*.md"), *(checkout / "examples").rglob("*.py")]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        yield from ATTRIBUTE.findall(text)
        for module, names in IMPORTED.findall(text):
            yield from (
                f"{module}.{name.split(' as ')[0].strip()}" for name in names.strip("()").split(",") if name.strip()
            )


def read_renames(page: str) -> dict[str, dict[str, str]]:
    """Return the table of renames: new name by old name, by category.

    A row has the old names and the new one. `module.*` as the new name means that the names keep their last part; "internal",
    behind the new name or alone, that they have become private, and "removed: ..." that nothing stands in their place, and why.
    """
    found: dict[str, dict[str, str]] = {}
    category, head = "", ""
    for line in page.splitlines():
        if line.startswith("#"):
            category = line.lstrip("# ").lower()
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) < 2 or not CODE.search(cells[0]):
            continue
        head = ""
        for old in CODE.findall(cells[0]):
            # `greenroom.hooks.A`, `B`: the second is of the same module.
            full = old if "." in old or category != "public names" else f"{head}.{old}"
            head = full.rpartition(".")[0]
            found.setdefault(category, {})[full] = _target(full, cells[1])
    return found


def _target(old: str, cell: str) -> str:
    """Return what a row says of one old name."""
    if cell.startswith((INTERNAL, REMOVED)):
        return cell
    new = CODE.findall(cell)[0]
    return new[:-1] + old.rpartition(".")[2] if new.endswith(".*") else f"{new}{INTERNAL * cell.endswith(INTERNAL)}"


def compare(old: Inventory, new: Inventory, renames: Mapping[str, Mapping[str, str]]) -> Comparison:
    """Return what became of each item of `old` that `new` does not have."""
    renamed, lost, stale = [], [], []
    for category, items in old.items.items():
        table = renames.get(category, {})
        now = new.items.get(category, frozenset())
        missing = {item for item in items - now if not _is_within(item, renames.get(MEMBERS, {}))}
        for item in sorted(missing):
            target = table.get(item)
            if target is None:
                lost.append(f"{category}: {item}")
            elif reason := _objection(item, target, old, new, now):
                lost.append(f"{category}: {item}: {reason}")
            else:
                renamed.append(f"{category}: {item} -> {target}")
        stale += [f"{category}: {item}" for item in sorted(table) if item not in missing]
    return Comparison(renamed=tuple(renamed), lost=tuple(lost), stale=tuple(stale))


def _is_within(item: str, members: Mapping[str, str]) -> bool:
    """True for a parameter of a method that the table has already."""
    return item.partition("(")[0] in members and "(" in item


def _objection(item: str, target: str, old: Inventory, new: Inventory, now: frozenset[str]) -> str:
    """Return why a row of the table does not hold; empty if it does."""
    if INTERNAL not in target and not target.startswith(REMOVED):
        # A member may have become one of a part of the session: then its name must be one there.
        last = target.rpartition(".")[2]
        is_known = (
            target in now or target in new.items["public names"] or (target.count(".") > 1 and last in new.members)
        )
        return "" if is_known else f"the new name {target} does not exist"
    if (item if item.startswith("greenroom.") else item.lower()) in old.used:
        return "a page or an example uses it"
    if target.startswith(REMOVED) or not item.startswith("greenroom."):
        return ""
    module, _, name = (item if target == INTERNAL else target.removesuffix(INTERNAL)).rpartition(".")
    folder = ".".join(module.split(".")[:2]).replace("greenroom.cli", "greenroom.swarm")
    return "" if any(place.startswith(folder) for place in new.definitions.get(name, ())) else "nothing defines it"
