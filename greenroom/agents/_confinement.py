"""The limits of an agent that works in a worktree of its own: it changes nothing outside of it, save in its own folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from greenroom.agents._services import AgentHome
from greenroom.permissions import ToolKind, traits_of
from greenroom.worktrees import Worktree, confine_path, why_refused


def why_outside(home: AgentHome, tree: Worktree, tool: str, values: Mapping[str, Any]) -> str:
    """Return why a call must not run for an agent in its worktree; empty if it may. Looks at the disk."""
    traits = traits_of(tool)
    subject = values.get(traits.subject) if traits.subject else None
    if traits.kind is ToolKind.SHELL:
        return why_refused(str(values.get("command", "")), cwd=home.cwd, worktree=tree)
    if traits.kind is not ToolKind.EDIT or not isinstance(subject, str):
        return ""
    path = (home.cwd / subject).resolve()
    own = () if home.policy is None else home.policy.own_folders
    if any(path.is_relative_to(Path(folder).resolve()) for folder in own):
        return ""
    return confine_path(path, tree)
