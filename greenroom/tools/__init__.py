"""Tools: what a model can call, with schemas from signatures, checked inputs, and a plan of what runs side by side."""

from greenroom.tools._batches import SIDE_BY_SIDE, plan_batches
from greenroom.tools._context import ToolContext
from greenroom.tools._errors import InvalidInput, OutsideRoots, Problem, ToolError, UnknownTool
from greenroom.tools._functions import FunctionTool, tool, tool_schema
from greenroom.tools._inputs import validate
from greenroom.tools._schemas import Arg, schema_of
from greenroom.tools._tool import Tool, ToolSchema, ToolSet
from greenroom.tools._workspace import Seen, SeenFiles, Stamp, Todo, Workspace

__all__ = [
    "SIDE_BY_SIDE",
    "Arg",
    "FunctionTool",
    "InvalidInput",
    "OutsideRoots",
    "Problem",
    "Seen",
    "SeenFiles",
    "Stamp",
    "Todo",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolSchema",
    "ToolSet",
    "UnknownTool",
    "Workspace",
    "plan_batches",
    "schema_of",
    "tool",
    "tool_schema",
    "validate",
]
