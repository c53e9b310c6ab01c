"""Inputs of hooks: one class per event, encoded as the JSON that a handler reads."""

from greenroom.hooks.inputs._changed_files import (
    ConfigChangeInput,
    CwdChangedInput,
    DirectoryAddedInput,
    FileChangedInput,
    InstructionsLoadedInput,
    WorktreeCreateInput,
    WorktreeRemoveInput,
)
from greenroom.hooks.inputs._encoding import HookContext, HookInput, as_json, plain
from greenroom.hooks.inputs._session_inputs import (
    NotificationInput,
    PostCompactInput,
    PreCompactInput,
    SessionEndInput,
    SessionStartInput,
    SetupInput,
    UserPromptExpansionInput,
    UserPromptSubmitInput,
)
from greenroom.hooks.inputs._team_tasks import TaskCompletedInput, TaskCreatedInput, TeammateIdleInput
from greenroom.hooks.inputs._tool_calls import (
    BatchedCall,
    PermissionDeniedInput,
    PermissionRequestInput,
    PostToolBatchInput,
    PostToolUseFailureInput,
    PostToolUseInput,
    PreToolUseInput,
)
from greenroom.hooks.inputs._turn_ends import (
    BackgroundTask,
    StopFailureInput,
    StopInput,
    SubagentStartInput,
    SubagentStopInput,
)
from greenroom.hooks.inputs._user_dialogs import ElicitationInput, ElicitationResultInput, MessageDisplayInput

__all__ = [
    "BackgroundTask",
    "BatchedCall",
    "ConfigChangeInput",
    "CwdChangedInput",
    "DirectoryAddedInput",
    "ElicitationInput",
    "ElicitationResultInput",
    "FileChangedInput",
    "HookContext",
    "HookInput",
    "InstructionsLoadedInput",
    "MessageDisplayInput",
    "NotificationInput",
    "PermissionDeniedInput",
    "PermissionRequestInput",
    "PostCompactInput",
    "PostToolBatchInput",
    "PostToolUseFailureInput",
    "PostToolUseInput",
    "PreCompactInput",
    "PreToolUseInput",
    "SessionEndInput",
    "SessionStartInput",
    "SetupInput",
    "StopFailureInput",
    "StopInput",
    "SubagentStartInput",
    "SubagentStopInput",
    "TaskCompletedInput",
    "TaskCreatedInput",
    "TeammateIdleInput",
    "UserPromptExpansionInput",
    "UserPromptSubmitInput",
    "WorktreeCreateInput",
    "WorktreeRemoveInput",
    "as_json",
    "plain",
]
