"""The tools that come with greenroom: Read, Glob and Grep."""

from greenroom.tools.builtin._glob import glob_tool
from greenroom.tools.builtin._grep import grep_tool
from greenroom.tools.builtin._read import read_tool
from greenroom.tools.builtin._read_only import READ_ONLY_TOOLS

__all__ = ["READ_ONLY_TOOLS", "glob_tool", "grep_tool", "read_tool"]
