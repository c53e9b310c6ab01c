"""The floors in CONTRIBUTING.md, made from the layer test and the folders that exist: `python -m tests.docs` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.architecture.floors import FLOORS

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "CONTRIBUTING.md"
BLOCK: Final = re.compile(r"(?<=<!-- floors -->\n).*?(?=<!-- end of floors -->)", re.DOTALL)


def floors() -> list[list[str]]:
    """Return the folders of each floor that exist, from the top down; floors of one folder in a row share a line."""
    existing = [sorted(name for name in floor if (ROOT / "greenroom" / name).is_dir()) for floor in reversed(FLOORS)]
    return [names for names in existing if names]


def insert(page: str) -> str:
    """Return the page with the floors of the code."""
    lines = ["  ".join(names) for names in floors()]
    return BLOCK.sub(lambda _: "```text\n" + "\n".join(lines) + "\n```\n", page)
