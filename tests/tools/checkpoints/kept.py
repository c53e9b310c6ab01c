"""What tests of checkpoints share."""

from __future__ import annotations

from pathlib import Path


def appending(path: Path, content: bytes) -> None:
    """Write what a journal would write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(content)
