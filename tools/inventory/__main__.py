"""Print what users could name in an older checkout and cannot name now: python -m tools.inventory OLD_CHECKOUT

Commands, flags, settings, variables, tools, hook events, kinds of journal events, exit codes and public names of both checkouts are
listed, each by a process of its own. An item that is missing must have its new name in docs/reference/renames.md. Exit code 1
if one has not, or if a row of that page renames nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.inventory._compare import Inventory, compare, read_inventory, read_renames
from tools.inventory._suggest import suggest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "renames.md"


def main() -> int:
    """Compare two checkouts and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.inventory", description=__doc__)
    parser.add_argument("old", type=Path, help="the older checkout; it needs no environment of its own")
    parser.add_argument("--all", action="store_true", help="print the items that were renamed, too")
    parser.add_argument(
        "--suggest", action="store_true", help="print a row of the table for each public name that is lost"
    )
    given = parser.parse_args()
    old, new = read_inventory(given.old.resolve()), read_inventory(ROOT)
    found = compare(old, new, read_renames(PAGE.read_text(encoding="utf-8")))
    for category, items in old.items.items():
        print(
            f"{category:30}{len(items):6} before {len(new.items[category]):6} now {_missing(old, new, category):6} missing"
        )
    print(
        f"{len(found.renamed)} renamed, {len(found.lost)} lost, {len(found.stale)} rows of {PAGE.name} that rename nothing"
    )
    for title, names in (("renamed", found.renamed if given.all else ()), ("lost", found.lost), ("stale", found.stale)):
        for item in names:
            print(f"{title}: {item}")
    if given.suggest:
        print(*suggest(old, new, found), sep="\n")
    return 1 if found.lost or found.stale else 0


def _missing(old: Inventory, new: Inventory, category: str) -> int:
    return len(old.items[category] - new.items[category])


if __name__ == "__main__":
    sys.exit(main())
