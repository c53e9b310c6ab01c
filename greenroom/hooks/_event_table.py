"""The table of hook events and their capabilities, shared by parsing, running, folding and the reference.

Peculiarities of an event are columns here, never a comparison with its name elsewhere. The names are those of existing
settings files.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, final

import attrs


class HookEvent(StrEnum):
    """The hook events, by their names in settings files."""

    SESSION_START = "SessionStart"
    SETUP = "Setup"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    USER_PROMPT_EXPANSION = "UserPromptExpansion"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    PERMISSION_DENIED = "PermissionDenied"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    POST_TOOL_BATCH = "PostToolBatch"
    NOTIFICATION = "Notification"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    STOP = "Stop"
    STOP_FAILURE = "StopFailure"
    TASK_CREATED = "TaskCreated"
    TASK_COMPLETED = "TaskCompleted"
    TEAMMATE_IDLE = "TeammateIdle"
    PRE_COMPACT = "PreCompact"
    POST_COMPACT = "PostCompact"
    SESSION_END = "SessionEnd"
    WORKTREE_CREATE = "WorktreeCreate"
    WORKTREE_REMOVE = "WorktreeRemove"
    CONFIG_CHANGE = "ConfigChange"
    CWD_CHANGED = "CwdChanged"
    DIRECTORY_ADDED = "DirectoryAdded"
    FILE_CHANGED = "FileChanged"
    INSTRUCTIONS_LOADED = "InstructionsLoaded"
    MESSAGE_DISPLAY = "MessageDisplay"
    ELICITATION = "Elicitation"
    ELICITATION_RESULT = "ElicitationResult"


class HandlerType(StrEnum):
    """The kinds of handlers."""

    COMMAND = "command"
    HTTP = "http"
    MCP_TOOL = "mcp_tool"
    PROMPT = "prompt"
    AGENT = "agent"


class Exit(StrEnum):
    """The effects of a command's exit code on an event."""

    BLOCKS = "2 blocks"
    FEEDS_BACK = "2 is read by the model"
    IS_NOTED = "2 is a notice"
    MUST_SUCCEED = "any but 0 blocks"


class Refusal(StrEnum):
    """The effects of a prompt's `ok: false` on an event."""

    FEEDS_BACK = "the reason is fed back"
    DENIES = "denies; ends the turn unless `continueOnBlock`"
    HALTS = "ends the turn; with `continueOnBlock` the reason is fed back"
    BLOCKS = "blocks"
    IGNORED = "-"


_EVERY: Final = frozenset(HandlerType)
_USUAL: Final = frozenset({HandlerType.COMMAND, HandlerType.HTTP, HandlerType.MCP_TOOL})
_LOCAL: Final = frozenset({HandlerType.COMMAND, HandlerType.MCP_TOOL})


@final
@attrs.frozen(kw_only=True)
class EventRow:
    """Capabilities of one event."""

    matches: str = ""
    """The subject that a matcher is compared with; empty if matchers have no effect."""
    handlers: frozenset[HandlerType] = _USUAL
    exits: Exit = Exit.IS_NOTED
    block: str = ""
    """The effect of blocking, for people; empty if nothing can block."""
    decides: bool = False
    """True if a top-level `decision: "block"` blocks."""
    takes_text: bool = False
    """True if plain text on stdout is context for the model."""
    specific: frozenset[str] = frozenset()
    """The fields of `hookSpecificOutput` that have an effect."""
    refusal: Refusal = Refusal.IGNORED
    takes_rules: bool = False
    """True if a handler may have an `if`."""
    limit_s: float | None = None
    """Default timeout of command, http and mcp_tool handlers, in seconds; None is the usual 600."""
    can_stop: bool = True
    """True if `continue: false` has an effect."""


_E = HookEvent
_CONTEXT: Final = frozenset({"additionalContext"})
_OUTPUT: Final = _CONTEXT | {"updatedToolOutput", "updatedMCPToolOutput", "classifierContext"}
_PERMISSION: Final = _CONTEXT | {"permissionDecision", "permissionDecisionReason", "updatedInput"}
_REPLY: Final = frozenset({"action", "content"})
_WATCH: Final = frozenset({"watchPaths"})
_TOOL: Final = "tool name"

CATALOG: Final[Mapping[HookEvent, EventRow]] = {
    _E.SESSION_START: EventRow(
        matches="source",
        handlers=_LOCAL,
        takes_text=True,
        specific=_CONTEXT | {"initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"},
    ),
    _E.SETUP: EventRow(matches="trigger", handlers=_LOCAL, specific=_CONTEXT),
    _E.USER_PROMPT_SUBMIT: EventRow(
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the prompt is erased",
        decides=True,
        takes_text=True,
        specific=_CONTEXT | {"sessionTitle", "suppressOriginalPrompt"},
        refusal=Refusal.BLOCKS,
        limit_s=30.0,
    ),
    _E.USER_PROMPT_EXPANSION: EventRow(
        matches="command name",
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the command is not expanded",
        decides=True,
        takes_text=True,
        specific=_CONTEXT,
        refusal=Refusal.BLOCKS,
    ),
    _E.PRE_TOOL_USE: EventRow(
        matches=_TOOL,
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the call is denied",
        specific=_PERMISSION,
        refusal=Refusal.DENIES,
        takes_rules=True,
    ),
    _E.PERMISSION_REQUEST: EventRow(matches=_TOOL, handlers=_EVERY, specific=frozenset({"decision"}), takes_rules=True),
    _E.PERMISSION_DENIED: EventRow(matches=_TOOL, handlers=_EVERY, specific=frozenset({"retry"}), takes_rules=True),
    _E.POST_TOOL_USE: EventRow(
        matches=_TOOL,
        handlers=_EVERY,
        exits=Exit.FEEDS_BACK,
        block="the model reads the reason",
        decides=True,
        specific=_OUTPUT,
        refusal=Refusal.HALTS,
        takes_rules=True,
    ),
    _E.POST_TOOL_USE_FAILURE: EventRow(
        matches=_TOOL,
        handlers=_EVERY,
        exits=Exit.FEEDS_BACK,
        block="the model reads the reason",
        decides=True,
        specific=_CONTEXT,
        refusal=Refusal.FEEDS_BACK,
        takes_rules=True,
    ),
    _E.POST_TOOL_BATCH: EventRow(
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the loop stops",
        decides=True,
        specific=_CONTEXT,
        refusal=Refusal.BLOCKS,
    ),
    _E.NOTIFICATION: EventRow(matches="notification type", can_stop=False),
    _E.SUBAGENT_START: EventRow(matches="agent type", specific=_CONTEXT),
    _E.SUBAGENT_STOP: EventRow(
        matches="agent type",
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the child keeps running",
        decides=True,
        specific=_CONTEXT,
        refusal=Refusal.FEEDS_BACK,
    ),
    _E.STOP: EventRow(
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the agent keeps going",
        decides=True,
        specific=_CONTEXT,
        refusal=Refusal.FEEDS_BACK,
    ),
    _E.STOP_FAILURE: EventRow(matches="error type", can_stop=False),
    _E.TASK_CREATED: EventRow(
        handlers=_EVERY,
        exits=Exit.BLOCKS,
        block="the item is deleted, the call fails",
        decides=True,
        refusal=Refusal.FEEDS_BACK,
        can_stop=False,
    ),
    _E.TASK_COMPLETED: EventRow(
        handlers=_EVERY, exits=Exit.BLOCKS, block="the item stays uncompleted", refusal=Refusal.FEEDS_BACK
    ),
    _E.TEAMMATE_IDLE: EventRow(
        handlers=_EVERY, exits=Exit.BLOCKS, block="the teammate keeps working", refusal=Refusal.HALTS
    ),
    _E.PRE_COMPACT: EventRow(
        matches="trigger", exits=Exit.BLOCKS, block="the conversation is not compacted", decides=True
    ),
    _E.POST_COMPACT: EventRow(matches="trigger"),
    _E.SESSION_END: EventRow(matches="reason", can_stop=False),
    _E.WORKTREE_CREATE: EventRow(
        exits=Exit.MUST_SUCCEED, block="no worktree is made", specific=frozenset({"worktreePath"})
    ),
    _E.WORKTREE_REMOVE: EventRow(can_stop=False),
    _E.CONFIG_CHANGE: EventRow(
        matches="source", exits=Exit.BLOCKS, block="the change is not applied", decides=True, can_stop=False
    ),
    _E.CWD_CHANGED: EventRow(specific=_WATCH, can_stop=False),
    _E.DIRECTORY_ADDED: EventRow(matches="source", can_stop=False),
    _E.FILE_CHANGED: EventRow(matches="file name", specific=_WATCH, can_stop=False),
    _E.INSTRUCTIONS_LOADED: EventRow(matches="load reason", can_stop=False),
    _E.MESSAGE_DISPLAY: EventRow(specific=frozenset({"displayContent"}), limit_s=10.0, can_stop=False),
    _E.ELICITATION: EventRow(
        matches="server name", exits=Exit.BLOCKS, block="the question is declined", specific=_REPLY
    ),
    _E.ELICITATION_RESULT: EventRow(
        matches="server name", exits=Exit.BLOCKS, block="the server is told that it was declined", specific=_REPLY
    ),
}
