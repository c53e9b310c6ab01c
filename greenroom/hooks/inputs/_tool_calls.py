"""Inputs of the events of tool calls: decided, run, failed, denied, a whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

from greenroom.core import frozen
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput


@frozen(kw_only=True)
class _ToolInput(HookInput):
    subject_field: ClassVar[str] = "tool_name"

    tool_name: str
    tool_input: Mapping[str, Any]
    """File paths in it are absolute."""


@final
@frozen(kw_only=True)
class PreToolUseInput(_ToolInput):
    """A call is about to be judged and run."""

    event: ClassVar[HookEvent] = HookEvent.PRE_TOOL_USE

    tool_use_id: str


@final
@frozen(kw_only=True)
class PermissionRequestInput(_ToolInput):
    """A person is about to be asked whether a call may run."""

    event: ClassVar[HookEvent] = HookEvent.PERMISSION_REQUEST

    permission_suggestions: Sequence[Any] | None = None


@final
@frozen(kw_only=True)
class PermissionDeniedInput(_ToolInput):
    """A call was denied without asking a person."""

    event: ClassVar[HookEvent] = HookEvent.PERMISSION_DENIED

    tool_use_id: str
    reason: str


@final
@frozen(kw_only=True)
class PostToolUseInput(_ToolInput):
    """A call returned a result."""

    event: ClassVar[HookEvent] = HookEvent.POST_TOOL_USE

    tool_use_id: str
    tool_response: Any
    duration_ms: int | None = None


@final
@frozen(kw_only=True)
class PostToolUseFailureInput(_ToolInput):
    """A call failed. Not for a call that was cancelled."""

    event: ClassVar[HookEvent] = HookEvent.POST_TOOL_USE_FAILURE

    tool_use_id: str
    error: str
    is_interrupt: bool | None = None
    duration_ms: int | None = None


@final
@frozen(kw_only=True)
class BatchedCall:
    """One call of a finished batch."""

    tool_name: str
    tool_input: Mapping[str, Any]
    tool_use_id: str
    tool_response: str
    """As the model reads it."""


@final
@frozen(kw_only=True)
class PostToolBatchInput(HookInput):
    """All calls of one message have their results."""

    event: ClassVar[HookEvent] = HookEvent.POST_TOOL_BATCH

    tool_calls: tuple[BatchedCall, ...]
