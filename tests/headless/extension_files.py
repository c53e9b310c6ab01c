"""Files that extend a run: agents, skills, settings."""

from __future__ import annotations

import json
from pathlib import Path

AGENT = "---\nname: {name}\ndescription: Helps.\n---\nHelp.\n"

SKILL = "---\ndescription: Tidies.\n---\nTidy.\n"


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
