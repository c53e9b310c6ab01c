"""Words that readers have to translate, names that are used twice, and citations of papers that readers do not have."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tools.house._figure import Figure
from tools.house._tree import Tree, python_files

WORDS: Final = {
    '"is no" for "is not a"': re.compile(r"(?<![Tt]here )\bis no (?!longer\b|more than\b|t\b)[a-z]"),
    '"gone on with"': re.compile(r"\bgone on with\b"),
    "docstrings that begin with Let, Hear, Be, What, Who or How": re.compile(r'"""(Let|Hear|Be|What|Who|How)\b'),
    "MOST_": re.compile(r"\bMOST_|_MOST_"),
    '"whoever"': re.compile(r"\b[Ww]hoever\b"),
    '"for ever"': re.compile(r"\bfor ever\b"),
    '"so many"': re.compile(r"\b[Ss]o many\b"),
    "`for one in`": re.compile(r"\bfor one in\b"),
}
CITATION: Final = re.compile(  # `--agents 2.5` on a command line is none
    r"(?<!-)\b([Kk]ernel|[Aa]gents|[Gg]ateway|DESIGN|[Pp]erformance|[Rr]emote|[Vv]isibility)\s\(?\d+(\.\d+)+\b"
)


def figures(tree: Tree, limits: dict[str, int]) -> Iterator[Figure]:
    """Yield the figures 6 and 7 about words; each word's limit is a tenth of what it was."""
    product = [*python_files(tree.root / "greenroom"), *python_files(tree.root / "examples"), *tree.pages]
    for name, pattern in WORDS.items():
        found = counted(product, pattern, tree.root)
        yield Figure(6, name, sum(found.values()), limits.get(name, 0), places(found))
    tests = counted(
        python_files(tree.root / "tests"), re.compile("|".join(word.pattern for word in WORDS.values())), tree.root
    )
    yield Figure(6, "all of these in tests", sum(tests.values()), limits.get("tests", 0), places(tests))
    modules = Counter(module.path.stem for module in tree.modules.values() if not module.is_face)
    classes = Counter(
        each.name for module in tree.modules.values() for each in module.tree.body if isinstance(each, ast.ClassDef)
    )
    for what, names in (("modules", modules), ("classes", classes)):
        twice = Counter({name: n for name, n in names.items() if n > 1})
        yield Figure(6, f"names of {what} that are used twice", len(twice), 20, places(twice))
    cited = counted([*product, *python_files(tree.root / "tests")], CITATION, tree.root)
    yield Figure(7, "citations of papers outside the repository", sum(cited.values()), 0, places(cited))


def counted(files: Iterable[Path], pattern: re.Pattern[str], root: Path) -> Counter[str]:
    """Return how often a pattern stands in each file."""
    found: Counter[str] = Counter()
    for path in files:
        number = sum(1 for _ in pattern.finditer(path.read_text(encoding="utf-8")))
        if number:
            found[str(path.relative_to(root))] = number
    return found


def places(found: Counter[str]) -> tuple[str, ...]:
    """Return the names with their numbers, the highest first."""
    return tuple(f"{n} {name}" for name, n in sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
