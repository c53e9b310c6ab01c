"""Tools: what a model can call, with schemas from signatures, checked inputs, and a plan of what runs side by side."""

from greenroom.tools._background import Background, BackgroundInfo, BackgroundTask, wait_linked
from greenroom.tools._batches import SIDE_BY_SIDE, plan_batches
from greenroom.tools._changes import FileChange, FileChanges
from greenroom.tools._context import ToolContext
from greenroom.tools._errors import InvalidInput, OutsideRoots, Problem, ToolError, UnknownTool
from greenroom.tools._functions import FunctionTool, ToolFunction, tool, tool_schema
from greenroom.tools._inputs import validate
from greenroom.tools._outputs import INLINE_CHARACTERS, Output, read_output
from greenroom.tools._processes import (
    MAX_OUTPUT_BYTES,
    PipedProcess,
    ProcessEnd,
    Processes,
    ProcessResult,
    SystemProcesses,
    open_processes,
)
from greenroom.tools._questions import AskUser, Option, Question, QuestionAnswers, QuestionRequest
from greenroom.tools._schemas import Arg, schema_of
from greenroom.tools._tool import Tool, ToolSchema, ToolSet, acts_on_session, records_itself
from greenroom.tools._workspace import Seen, SeenFiles, Stamp, Todo, Workspace

__all__ = [
    "INLINE_CHARACTERS",
    "MAX_OUTPUT_BYTES",
    "SIDE_BY_SIDE",
    "Arg",
    "AskUser",
    "Background",
    "BackgroundInfo",
    "BackgroundTask",
    "FileChange",
    "FileChanges",
    "FunctionTool",
    "InvalidInput",
    "Option",
    "Output",
    "OutsideRoots",
    "PipedProcess",
    "Problem",
    "ProcessEnd",
    "ProcessResult",
    "Processes",
    "Question",
    "QuestionAnswers",
    "QuestionRequest",
    "Seen",
    "SeenFiles",
    "Stamp",
    "SystemProcesses",
    "Todo",
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
    "read_output",
    "records_itself",
    "schema_of",
    "tool",
    "tool_schema",
    "validate",
    "wait_linked",
]
