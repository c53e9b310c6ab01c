"""Protocol messages between the members of a team: pure values.

A field without a default is required in every message; the others are optional. In a field's metadata, `wire` is its
name on the wire if it differs, `also` lists further names under which it is read, and `always` means that it is written
even with its default. This module must not depend on actors, the clock, or who may send what to whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import UsageError, frozen
from greenroom.teams._idle_reasons import IdleReason


def _not_blank(_: object, field: attrs.Attribute[str], value: str) -> None:
    if not value.strip():
        raise UsageError(f"{field.name} must not be blank")


class CallDecision(StrEnum):
    """Decision about a call."""

    ALLOW = "allow"
    DENY = "deny"


_FROM: Final = {"wire": "from"}


@frozen(kw_only=True)
class ProtocolMessage:
    """A message of the protocol."""

    type: ClassVar[str]
    """Its type on the wire."""


@frozen(kw_only=True)
class FromMember(ProtocolMessage):
    """A message with its sender and time."""

    sender: str = attrs.field(validator=_not_blank, metadata=_FROM)
    timestamp: str = ""
    """ISO 8601."""


@frozen(kw_only=True)
class Numbered(FromMember):
    """A request, or the answer to one."""

    request_id: str = attrs.field(validator=_not_blank)


@final
@frozen(kw_only=True)
class IdleNotification(FromMember):
    """A teammate is idle; never the result of its work."""

    type: ClassVar[str] = "idle_notification"

    idle_reason: IdleReason = attrs.field(default=IdleReason.AVAILABLE, metadata={"always": True})
    summary: str = ""
    """Summary of its messages to other teammates."""
    completed_task_id: str = ""
    completed_status: str = ""
    failure_reason: str = ""


@final
@frozen(kw_only=True)
class ShutdownRequest(Numbered):
    """The lead asks a teammate to end; the teammate's model decides."""

    type: ClassVar[str] = "shutdown_request"

    reason: str = ""


@final
@frozen(kw_only=True)
class ShutdownApproved(Numbered):
    """A teammate ends after its current work."""

    type: ClassVar[str] = "shutdown_approved"

    pane_id: str = ""
    backend_type: str = ""


@final
@frozen(kw_only=True)
class ShutdownRejected(Numbered):
    """A teammate refuses to end."""

    type: ClassVar[str] = "shutdown_rejected"

    reason: str = attrs.field(validator=_not_blank)


@final
@frozen(kw_only=True)
class PlanApprovalRequest(Numbered):
    """A teammate has a plan that awaits the lead's approval."""

    type: ClassVar[str] = "plan_approval_request"

    plan_content: str
    plan_file_path: str = ""


@final
@frozen(kw_only=True)
class PlanApprovalResponse(ProtocolMessage):
    """The lead's answer to a plan."""

    type: ClassVar[str] = "plan_approval_response"

    request_id: str = attrs.field(validator=_not_blank)
    approved: bool = attrs.field(metadata={"also": ("approve",)})
    feedback: str = ""
    timestamp: str = ""
    permission_mode: str = ""
    """The teammate's new mode; empty for the lead's."""


@final
@frozen(kw_only=True)
class PermissionRequest(ProtocolMessage):
    """A teammate's call that needs a decision."""

    type: ClassVar[str] = "permission_request"

    request_id: str = attrs.field(validator=_not_blank)
    worker_id: str = attrs.field(validator=_not_blank, metadata={"also": ("agent_id",)})
    tool_name: str = attrs.field(validator=_not_blank)
    input: Mapping[str, Any]
    worker_name: str = ""
    worker_color: str = ""
    tool_use_id: str = ""
    description: str = ""
    permission_suggestions: tuple[Any, ...] = ()
    created_at: str = ""


@final
@frozen(kw_only=True)
class PermissionResponse(ProtocolMessage):
    """The decision about such a call."""

    type: ClassVar[str] = "permission_response"

    request_id: str = attrs.field(validator=_not_blank)
    behavior: CallDecision = attrs.field(metadata={"also": ("decision", "outcome", "approved", "approve", "allow")})
    message: str = attrs.field(default="", metadata={"also": ("feedback", "error")})
    updated_input: Mapping[str, Any] | None = None
    permission_updates: tuple[Any, ...] = attrs.field(default=(), metadata={"also": ("updated_permissions",)})


@final
@frozen(kw_only=True)
class TaskAssignment(ProtocolMessage):
    """An item of the board was given to a member."""

    type: ClassVar[str] = "task_assignment"

    task_id: str = attrs.field(validator=_not_blank)
    subject: str
    description: str = ""
    assigned_by: str = ""
    timestamp: str = ""


@final
@frozen(kw_only=True)
class TeammateTerminated(ProtocolMessage):
    """A teammate has ended."""

    type: ClassVar[str] = "teammate_terminated"

    message: str


@final
@frozen(kw_only=True)
class ModeSetRequest(ProtocolMessage):
    """The lead sets the permission mode of a teammate."""

    type: ClassVar[str] = "mode_set_request"

    mode: str = attrs.field(validator=_not_blank)
    sender: str = attrs.field(default="", metadata=_FROM)


@final
@frozen(kw_only=True)
class TeamPermissionUpdate(ProtocolMessage):
    """A rule for the whole team."""

    type: ClassVar[str] = "team_permission_update"

    rule: Mapping[str, Any] = attrs.field(metadata={"also": ("permission_update",)})
    paths: tuple[Any, ...] = attrs.field(default=(), metadata={"also": ("directory_path", "directories")})


@final
@frozen(kw_only=True)
class SandboxPermissionRequest(ProtocolMessage):
    """A teammate asks to reach a host."""

    type: ClassVar[str] = "sandbox_permission_request"

    request_id: str = attrs.field(validator=_not_blank)
    host: str = attrs.field(validator=_not_blank, metadata={"also": ("host_pattern",)})
    worker_name: str = ""


@final
@frozen(kw_only=True)
class SandboxPermissionResponse(ProtocolMessage):
    """The answer to such a request."""

    type: ClassVar[str] = "sandbox_permission_response"

    request_id: str = attrs.field(validator=_not_blank)
    behavior: CallDecision = attrs.field(metadata={"also": ("decision", "outcome", "approved", "approve", "allow")})
    host: str = ""


@final
@frozen(kw_only=True)
class TaskCompletedNote(ProtocolMessage):
    """An item is done; sent by older builds."""

    type: ClassVar[str] = "task_completed"

    task_id: str = attrs.field(validator=_not_blank)
    sender: str = attrs.field(default="", metadata=_FROM)
    timestamp: str = ""


@final
@frozen(kw_only=True)
class JoinRequest(FromMember):
    """A request to become a member; sent by older builds."""

    type: ClassVar[str] = "join_request"


MESSAGES: Final[Mapping[str, type[ProtocolMessage]]] = {
    message.type: message
    for message in (
        IdleNotification,
        ShutdownRequest,
        ShutdownApproved,
        ShutdownRejected,
        PlanApprovalRequest,
        PlanApprovalResponse,
        PermissionRequest,
        PermissionResponse,
        TaskAssignment,
        TeammateTerminated,
        ModeSetRequest,
        TeamPermissionUpdate,
        SandboxPermissionRequest,
        SandboxPermissionResponse,
        TaskCompletedNote,
        JoinRequest,
    )
}
"""All messages, by their type on the wire."""


# --- messages that models may send --------------------------------------------------------------------------------------


@final
@frozen(kw_only=True)
class AskShutdown(ProtocolMessage):
    """A lead's model asks a teammate to end."""

    type: ClassVar[str] = "shutdown_request"

    reason: str = attrs.field(default="", metadata={"also": ("content",)})


@final
@frozen(kw_only=True)
class AnswerShutdown(ProtocolMessage):
    """A teammate's model answers; a refusal needs a reason."""

    type: ClassVar[str] = "shutdown_response"

    request_id: str = attrs.field(validator=_not_blank)
    approve: bool = attrs.field(metadata={"also": ("approved",)})
    reason: str = attrs.field(default="", metadata={"also": ("content",)})


@final
@frozen(kw_only=True)
class AnswerPlan(ProtocolMessage):
    """A lead's model answers a plan."""

    type: ClassVar[str] = "plan_approval_response"

    request_id: str = attrs.field(validator=_not_blank)
    approve: bool = attrs.field(metadata={"also": ("approved",)})
    feedback: str = attrs.field(default="", metadata={"also": ("content", "reason")})


Spoken: TypeAlias = AskShutdown | AnswerShutdown | AnswerPlan
"""Protocol messages that a model may put into `message` of the tool SendMessage in place of a text."""
SPOKEN: Final[Mapping[str, type[ProtocolMessage]]] = {
    message.type: message for message in (AskShutdown, AnswerShutdown, AnswerPlan)
}
