"""Writes everything in docs/ that is made from the code: `python -m tests.docs`, or `make docs`."""

from __future__ import annotations

import importlib
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Write each page that would be another one now, and say which these are."""
    for path in sorted(HERE.glob("[a-z]*.py")):
        if path.stem.startswith("test_"):
            continue
        module = importlib.import_module(f"tests.docs.{path.stem}")
        page = getattr(module, "PAGE", None)
        if page is None:
            continue
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        after = module.page() if hasattr(module, "page") else module.insert(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"wrote docs/{page.parent.name}/{page.name}")


if __name__ == "__main__":
    main()
