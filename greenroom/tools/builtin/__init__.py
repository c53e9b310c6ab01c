"""The tools that come with greenroom: for files, text and the shell."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.tools.builtin._ask import ask_user_question_tool
    from greenroom.tools.builtin._bash import BashLimits, CommandFailed, bash_tool, bash_with
    from greenroom.tools.builtin._edit import edit_tool
    from greenroom.tools.builtin._glob import glob_tool
    from greenroom.tools.builtin._grep import grep_tool
    from greenroom.tools.builtin._monitor import monitor_tool
    from greenroom.tools.builtin._read import read_tool
    from greenroom.tools.builtin._read_only import READ_ONLY_TOOLS
    from greenroom.tools.builtin._standard import STANDARD_TOOLS
    from greenroom.tools.builtin._tasks import task_output_tool, task_stop_tool
    from greenroom.tools.builtin._todo import todo_write_tool
    from greenroom.tools.builtin._web_fetch import Fetcher, make_web_fetch_tool
    from greenroom.tools.builtin._web_fetcher import HttpFetcher
    from greenroom.tools.builtin._write import write_tool
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.tools.builtin._ask": ("ask_user_question_tool",),
            "greenroom.tools.builtin._bash": ("BashLimits", "CommandFailed", "bash_tool", "bash_with"),
            "greenroom.tools.builtin._edit": ("edit_tool",),
            "greenroom.tools.builtin._glob": ("glob_tool",),
            "greenroom.tools.builtin._grep": ("grep_tool",),
            "greenroom.tools.builtin._monitor": ("monitor_tool",),
            "greenroom.tools.builtin._read": ("read_tool",),
            "greenroom.tools.builtin._read_only": ("READ_ONLY_TOOLS",),
            "greenroom.tools.builtin._standard": ("STANDARD_TOOLS",),
            "greenroom.tools.builtin._tasks": ("task_output_tool", "task_stop_tool"),
            "greenroom.tools.builtin._todo": ("todo_write_tool",),
            "greenroom.tools.builtin._web_fetch": ("Fetcher", "make_web_fetch_tool"),
            "greenroom.tools.builtin._web_fetcher": ("HttpFetcher",),
            "greenroom.tools.builtin._write": ("write_tool",),
        },
    )

__all__ = [
    "READ_ONLY_TOOLS",
    "STANDARD_TOOLS",
    "BashLimits",
    "CommandFailed",
    "Fetcher",
    "HttpFetcher",
    "ask_user_question_tool",
    "bash_tool",
    "bash_with",
    "edit_tool",
    "glob_tool",
    "grep_tool",
    "make_web_fetch_tool",
    "monitor_tool",
    "read_tool",
    "task_output_tool",
    "task_stop_tool",
    "todo_write_tool",
    "write_tool",
]
