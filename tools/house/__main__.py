"""Print the figures of the tree beside those of an earlier commit: python -m tools.house [--places] [CHECKOUT]

It reads the tree and writes nothing. Exit code 1 if a figure is above its limit.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.house import _language, _structure, _tests
from tools.house._figure import Figure
from tools.house._tree import Tree

ROOT: Final = Path(__file__).resolve().parents[2]
BEFORE: Final = Path(__file__).with_name("before.json")
"""The figures of the commit that the limits compare with, as this program counted them there."""
MAX_WORDS_IN_TESTS: Final = 408
"""The budget of tests for words that readers have to translate: it only falls."""


def figures_of(root: Path, before: Mapping[str, float]) -> list[Figure]:
    """Return all figures of a checkout; the limit of a word is a tenth of what it was before."""
    tree = Tree(root)
    limits = {name: int(number) // 10 for name, number in before.items()}
    limits["tests"] = MAX_WORDS_IN_TESTS
    found = [*_structure.figures(tree), *_language.figures(tree, limits), *_tests.figures(tree)]
    return sorted(found, key=lambda one: one.line)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__)
    parser.add_argument(
        "checkout", nargs="?", type=Path, default=ROOT, help="the checkout to read; by default this one"
    )
    parser.add_argument("--places", action="store_true", help="list where what is counted stands")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON and nothing else")
    said = parser.parse_args(arguments)
    before: Mapping[str, float] = json.loads(BEFORE.read_text(encoding="utf-8")) if BEFORE.exists() else {}
    figures = figures_of(said.checkout.resolve(), before)
    if said.json:
        print(json.dumps({figure.name: figure.now for figure in figures}, indent=2))
        return 0
    for figure in figures:
        mark = "  " if figure.is_met else "! "
        print(
            f"{mark}{figure.line}  {figure.name:<76} {before.get(figure.name, '-'):>7}  {figure.now:>7}  at most {figure.limit:g}"
        )
        for place in figure.places if said.places else ():
            print(f"         {place}")
    missed = sum(not figure.is_met for figure in figures)
    print(
        f"{len(figures) - missed} of {len(figures)} figures are within their limits"
        + (f"; {missed} are not" * bool(missed))
    )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
