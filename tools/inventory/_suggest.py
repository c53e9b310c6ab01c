"""Rows for the table of renames, as far as a program can know them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tools.inventory._compare import INTERNAL, Comparison, Inventory


def suggest(old: Inventory, new: Inventory, found: Comparison) -> Iterator[str]:
    """Yield a row for all public names of one module that went to the same place; `?` where it is not known."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    public = new.items["public names"]
    for lost in found.lost:
        category, _, item = lost.partition(": ")
        if category != "public names":
            continue
        module, _, name = item.partition(": ")[0].rpartition(".")
        folder = ".".join(module.split(".")[:2])
        there = [
            face
            for face in sorted(each.rpartition(".")[0] for each in public if each.endswith(f".{name}"))
            if face.startswith(folder) or module.rpartition(".")[2] in face
        ]
        inside = [place for place in new.definitions.get(name, ()) if place.startswith(f"{folder}.")]
        was_inside = [place for place in old.definitions.get(name, ()) if place.startswith(f"{folder}.")]
        target = f"`{there[0]}.*`" if there else INTERNAL if inside and was_inside else "?"
        rows[module, target].append(name)
    for (module, target), names in sorted(
        rows.items(), key=lambda row: (row[0][1] == "?", row[0][1] == INTERNAL, row[0])
    ):
        first, *others = names
        yield f"| {', '.join([f'`{module}.{first}`', *(f'`{name}`' for name in others)])} | {target} |"
