"""Every link of the documents leads somewhere, and every page is found from the index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
INDEX: Final = ROOT / "docs" / "README.md"
DOCUMENTS: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCED: Final = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def prose(path: Path) -> str:
    return FENCED.sub("", path.read_text(encoding="utf-8"))


def links(path: Path) -> list[tuple[Path, str]]:
    """Return where the relative links of a document lead: the file, and the heading within it."""
    found = [link.partition("#") for link in LINK.findall(prose(path)) if not re.match(r"[a-z]+:", link)]
    return [((path.parent / name).resolve() if name else path, heading) for name, _, heading in found]


def anchors(path: Path) -> set[str]:
    """Return the names that GitHub gives to the headings of a document."""
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).lower() for heading in HEADING.findall(prose(path)))
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = [
        (str(target), heading)
        for target, heading in links(path)
        if not target.exists() or (heading and heading not in anchors(target))
    ]

    assert broken == []


def test_the_index_names_every_page() -> None:
    pages = {path for path in DOCUMENTS if ROOT / "docs" in path.parents} - {INDEX}

    assert pages - {target for target, _ in links(INDEX)} == set()
    assert INDEX in {target for target, _ in links(ROOT / "README.md")}


def test_the_index_has_one_line_for_each_page() -> None:
    lines = [line for line in INDEX.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]

    assert all(
        re.fullmatch(r"- \[[^]]+\]\((how-to|reference|explanation|design)/[\w-]+\.md\): .+\.", line) for line in lines
    )
    assert len(lines) == len(set(lines))
