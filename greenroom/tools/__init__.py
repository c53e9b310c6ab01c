"""Tools: what a model can call, with schemas from signatures, checked inputs, and a plan of what runs side by side."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.tools._background import Background, BackgroundTask, wait_linked
    from greenroom.tools._file_changes import FileChanges
    from greenroom.tools._function_tools import FunctionTool, ToolFunction, tool
    from greenroom.tools._input_reader import validate
    from greenroom.tools._process_groups import MAX_OUTPUT_BYTES, PipedProcess, SystemProcesses, open_processes
    from greenroom.tools._processes import Processes
    from greenroom.tools._questions import AskUser, Option, Question, QuestionAnswers, QuestionRequest
    from greenroom.tools._schemas import Arg
    from greenroom.tools._tool import (
        SIDE_BY_SIDE,
        Tool,
        ToolSchema,
        ToolSet,
        acts_on_session,
        plan_batches,
        records_itself,
    )
    from greenroom.tools._tool_context import ToolContext
    from greenroom.tools._tool_errors import InvalidInput, OutsideRoots, Problem, ToolError, UnknownTool
    from greenroom.tools._workspace import Workspace
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.tools._background": ("Background", "BackgroundTask", "wait_linked"),
            "greenroom.tools._file_changes": ("FileChanges",),
            "greenroom.tools._function_tools": ("FunctionTool", "ToolFunction", "tool"),
            "greenroom.tools._input_reader": ("validate",),
            "greenroom.tools._process_groups": (
                "MAX_OUTPUT_BYTES",
                "PipedProcess",
                "SystemProcesses",
                "open_processes",
            ),
            "greenroom.tools._processes": ("Processes",),
            "greenroom.tools._questions": ("AskUser", "Option", "Question", "QuestionAnswers", "QuestionRequest"),
            "greenroom.tools._schemas": ("Arg",),
            "greenroom.tools._tool": (
                "SIDE_BY_SIDE",
                "Tool",
                "ToolSchema",
                "ToolSet",
                "acts_on_session",
                "plan_batches",
                "records_itself",
            ),
            "greenroom.tools._tool_context": ("ToolContext",),
            "greenroom.tools._tool_errors": ("InvalidInput", "OutsideRoots", "Problem", "ToolError", "UnknownTool"),
            "greenroom.tools._workspace": ("Workspace",),
        },
    )

__all__ = [
    "MAX_OUTPUT_BYTES",
    "SIDE_BY_SIDE",
    "Arg",
    "AskUser",
    "Background",
    "BackgroundTask",
    "FileChanges",
    "FunctionTool",
    "InvalidInput",
    "Option",
    "OutsideRoots",
    "PipedProcess",
    "Problem",
    "Processes",
    "Question",
    "QuestionAnswers",
    "QuestionRequest",
    "SystemProcesses",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolFunction",
    "ToolSchema",
    "ToolSet",
    "UnknownTool",
    "Workspace",
    "acts_on_session",
    "open_processes",
    "plan_batches",
    "records_itself",
    "tool",
    "validate",
    "wait_linked",
]
