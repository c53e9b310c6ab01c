"""Inputs of hooks: one class per event, encoded as the JSON that a handler reads."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
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
        RunningTask,
        SessionCron,
        StopFailureInput,
        StopInput,
        SubagentStartInput,
        SubagentStopInput,
        TaskCompletedInput,
        TaskCreatedInput,
        TeammateIdleInput,
    )
    from greenroom.hooks.inputs._user_dialogs import ElicitationInput, ElicitationResultInput, MessageDisplayInput
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.hooks.inputs._changed_files": (
                "ConfigChangeInput",
                "CwdChangedInput",
                "DirectoryAddedInput",
                "FileChangedInput",
                "InstructionsLoadedInput",
                "WorktreeCreateInput",
                "WorktreeRemoveInput",
            ),
            "greenroom.hooks.inputs._encoding": ("HookContext", "HookInput", "as_json", "plain"),
            "greenroom.hooks.inputs._session_inputs": (
                "NotificationInput",
                "PostCompactInput",
                "PreCompactInput",
                "SessionEndInput",
                "SessionStartInput",
                "SetupInput",
                "UserPromptExpansionInput",
                "UserPromptSubmitInput",
            ),
            "greenroom.hooks.inputs._tool_calls": (
                "BatchedCall",
                "PermissionDeniedInput",
                "PermissionRequestInput",
                "PostToolBatchInput",
                "PostToolUseFailureInput",
                "PostToolUseInput",
                "PreToolUseInput",
            ),
            "greenroom.hooks.inputs._turn_ends": (
                "RunningTask",
                "SessionCron",
                "StopFailureInput",
                "StopInput",
                "SubagentStartInput",
                "SubagentStopInput",
                "TaskCompletedInput",
                "TaskCreatedInput",
                "TeammateIdleInput",
            ),
            "greenroom.hooks.inputs._user_dialogs": (
                "ElicitationInput",
                "ElicitationResultInput",
                "MessageDisplayInput",
            ),
        },
    )

__all__ = [
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
    "RunningTask",
    "SessionCron",
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
