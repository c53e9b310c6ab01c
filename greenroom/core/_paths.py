"""Paths that stay where they are when the process changes its current folder."""

from __future__ import annotations

from pathlib import Path


def whole_path(path: Path | str) -> Path:
    """Return a path from the root on, without `..`: two texts of one file would be two files to whoever compares them.

    A relative one counts from the current folder. A link before `..` is followed, as the system does; others stay.
    """
    whole = Path(path).absolute()
    return whole.resolve() if ".." in whole.parts else whole
