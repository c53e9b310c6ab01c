"""The tools that come with greenroom: for files, text and the shell."""

from greenroom.tools.builtin._edit import edit_tool
from greenroom.tools.builtin._glob import glob_tool
from greenroom.tools.builtin._grep import grep_tool
from greenroom.tools.builtin._read import read_tool
from greenroom.tools.builtin._read_only import READ_ONLY_TOOLS
from greenroom.tools.builtin._write import write_tool

__all__ = ["READ_ONLY_TOOLS", "edit_tool", "glob_tool", "grep_tool", "read_tool", "write_tool"]
