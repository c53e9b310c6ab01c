"""A context for a call of a tool."""

from __future__ import annotations

from pathlib import Path

from greenroom.core.ports import InlineBlocking
from greenroom.tools import ToolContext


def context(folder: Path = Path("/")) -> ToolContext:
    return ToolContext(cwd=folder, roots=(folder,), actor="a1", tool_use_id="t1", blocking=InlineBlocking())
