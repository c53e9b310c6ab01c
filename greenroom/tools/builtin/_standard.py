"""The tools that need nothing but a context; WebFetch is made with a permission, by `make_web_fetch_tool`."""

from __future__ import annotations

from typing import Final

from greenroom.tools import FunctionTool
from greenroom.tools.builtin._ask import ask_user_question_tool
from greenroom.tools.builtin._bash import bash_tool
from greenroom.tools.builtin._edit import edit_tool
from greenroom.tools.builtin._monitor import monitor_tool
from greenroom.tools.builtin._read_only import READ_ONLY_TOOLS
from greenroom.tools.builtin._tasks import task_output_tool, task_stop_tool
from greenroom.tools.builtin._todo import todo_write_tool
from greenroom.tools.builtin._write import write_tool

STANDARD_TOOLS: Final[tuple[FunctionTool, ...]] = (
    *READ_ONLY_TOOLS,
    write_tool,
    edit_tool,
    bash_tool,
    monitor_tool,
    task_output_tool,
    task_stop_tool,
    todo_write_tool,
    ask_user_question_tool,
)
"""The read-only ones first, then what changes files, runs commands, keeps a list and asks the user."""
