"""Helpers for the tests of tools: a context, folders made from a mapping, and calls as a model makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from greenroom.core.ports import Blocking, InlineBlocking
from greenroom.tools import Tool, ToolContext


def context(cwd: Path, *roots: Path, blocking: Blocking | None = None, shown: list[str] | None = None) -> ToolContext:
    """A context in `cwd`, confined to `roots`, or to `cwd` where there are none."""
    return ToolContext(
        cwd=cwd,
        roots=roots or (cwd,),
        actor="a0000000000000000",
        tool_use_id="toolu_1",
        blocking=blocking or InlineBlocking(),
        progress=(shown if shown is not None else []).append,
    )


def make(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below a folder; a name with a slash at its end makes a folder."""
    for name, content in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


async def call(tool: Tool, cwd: Path, **arguments: Any) -> str:
    """Call a tool in a folder."""
    return await tool.call(arguments, context(cwd))
