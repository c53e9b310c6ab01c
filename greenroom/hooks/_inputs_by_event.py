"""The class of the input of each event.

Must not know: who reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from greenroom.hooks._catalog import HookEvent
from greenroom.hooks._inputs import (
    HookInput,
    NotificationInput,
    PermissionDeniedInput,
    PermissionRequestInput,
    PostCompactInput,
    PostToolBatchInput,
    PostToolUseFailureInput,
    PostToolUseInput,
    PreCompactInput,
    PreToolUseInput,
    SessionEndInput,
    SessionStartInput,
    SetupInput,
    StopFailureInput,
    StopInput,
    SubagentStartInput,
    SubagentStopInput,
    TaskCompletedInput,
    TaskCreatedInput,
    TeammateIdleInput,
    UserPromptExpansionInput,
    UserPromptSubmitInput,
)
from greenroom.hooks._inputs_for_people import ElicitationInput, ElicitationResultInput, MessageDisplayInput
from greenroom.hooks._inputs_of_places import (
    ConfigChangeInput,
    CwdChangedInput,
    DirectoryAddedInput,
    FileChangedInput,
    InstructionsLoadedInput,
    WorktreeCreateInput,
    WorktreeRemoveInput,
)

INPUTS: Final[Mapping[HookEvent, type[HookInput]]] = {
    one.event: one
    for one in (
        SessionStartInput,
        SetupInput,
        UserPromptSubmitInput,
        UserPromptExpansionInput,
        PreToolUseInput,
        PermissionRequestInput,
        PermissionDeniedInput,
        PostToolUseInput,
        PostToolUseFailureInput,
        PostToolBatchInput,
        NotificationInput,
        SubagentStartInput,
        SubagentStopInput,
        StopInput,
        StopFailureInput,
        TaskCreatedInput,
        TaskCompletedInput,
        TeammateIdleInput,
        PreCompactInput,
        PostCompactInput,
        SessionEndInput,
        WorktreeCreateInput,
        WorktreeRemoveInput,
        ConfigChangeInput,
        CwdChangedInput,
        DirectoryAddedInput,
        FileChangedInput,
        InstructionsLoadedInput,
        MessageDisplayInput,
        ElicitationInput,
        ElicitationResultInput,
    )
}
"""The class of each event, in the order of the reference."""
