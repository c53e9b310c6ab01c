"""Plugins written to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from greenroom.core.sources import MANIFEST


def plugin(folder: Path, files: dict[str, Any] | None = None, **manifest: Any) -> Path:
    """Put a plugin into a folder; without anything for the manifest it has none."""
    given = {**({MANIFEST: manifest} if manifest else {}), **(files or {})}
    for name, content in given.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder
