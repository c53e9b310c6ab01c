"""Definitions as the reference documents show them, and folders of files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from greenroom.core.sources import Places, find_places

MARKDOWN: Final = """---
name: code-reviewer
description: Review a code change and find correctness risks
tools:
  - Read
  - Grep
  - Glob
model: sonnet
permissionMode: acceptEdits
background: true
maxTurns: 8
memory: project
---

You are a focused code reviewer. Prioritize bugs, regressions, and missing tests.
"""
JSON: Final = """{
  "agentType": "code-reviewer",
  "description": "Review code changes and provide feedback",
  "whenToUse": "When you want an expert review of code changes",
  "prompt": "You are a code reviewer...",
  "tools": ["Read", "Glob", "Grep"],
  "disallowedTools": ["Bash(git push)", "Bash(git force-push)"],
  "effort": "medium",
  "maxTurns": 50,
  "memory": "project"
}
"""


def agent(name: str, says: str = "Works.", **fields: str) -> str:
    more = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"---\nname: {name}\ndescription: It works\n{more}---\n{says}\n"


def write(folder: Path, **files: str) -> None:
    """Write files below a folder; `__` in a name stands for a slash, and they end in `.md`."""
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def places_in(folder: Path, cwd: str = "project") -> Places:
    """Return places with a repository in `project` and a home in `home`."""
    (folder / "project" / ".git").mkdir(parents=True, exist_ok=True)
    (folder / cwd).mkdir(parents=True, exist_ok=True)
    return find_places(folder / cwd, environ={"HOME": str(folder / "home")}, managed=())
