"""The built-in tools."""

from __future__ import annotations

from typing import Final

from greenroom.tools import FunctionTool
from greenroom.tools.builtin._glob import glob_tool
from greenroom.tools.builtin._grep import grep_tool
from greenroom.tools.builtin._read import read_tool

READ_ONLY_TOOLS: Final[tuple[FunctionTool, ...]] = (read_tool, glob_tool, grep_tool)
"""Tools that change nothing."""
