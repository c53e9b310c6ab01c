"""Calls of a playbook that works in worktrees, and where these stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from greenroom.models import Call

PWD = Call("Bash", {"command": "pwd"})


def enter(**more: Any) -> Call:
    return Call("EnterWorktree", more)


def leave(action: str, **more: Any) -> Call:
    return Call("ExitWorktree", {"action": action, **more})


def bash(command: str) -> Call:
    return Call("Bash", {"command": command})


def write(path: str) -> Call:
    return Call("Write", {"file_path": path, "content": "new\n"})


def place_of(project: Path, name: str) -> Path:
    return project / ".greenroom" / "worktrees" / name
