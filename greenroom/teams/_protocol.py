"""What members of a team say to each other besides plain text (agents 7E): pure values.

A field without a default is needed, wherever a message comes from; the others are optional. `wire` in the metadata of a field is
what it is called on the wire where that is not its own name, `also` names others under which it is read, `always` says that it is written
where it has its default too.
Must not know: actors, who may say what to whom, clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import UsageError


def _not_blank(_: object, field: attrs.Attribute[str], value: str) -> None:
    if not value.strip():
        raise UsageError(f"{field.name} is blank")


class IdleReason(StrEnum):
    """Why a mate has nothing to do."""

    AVAILABLE = "available"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Outcome(StrEnum):
    """What somebody decided about a call."""

    ALLOW = "allow"
    DENY = "deny"


_FROM: Final = {"wire": "from"}


@attrs.frozen(kw_only=True)
class Message:
    """A message of the protocol."""

    type: ClassVar[str]
    """What it is called on the wire."""


@attrs.frozen(kw_only=True)
class FromMember(Message):
    """A message that says who sent it, and when."""

    sender: str = attrs.field(validator=_not_blank, metadata=_FROM)
    timestamp: str = ""
    """ISO 8601."""


@attrs.frozen(kw_only=True)
class Numbered(FromMember):
    """A request, or an answer to one."""

    request_id: str = attrs.field(validator=_not_blank)


@final
@attrs.frozen(kw_only=True)
class IdleNotification(FromMember):
    """A mate has nothing to do; never what its work came to."""

    type: ClassVar[str] = "idle_notification"

    idle_reason: IdleReason = attrs.field(default=IdleReason.AVAILABLE, metadata={"always": True})
    summary: str = ""
    """What it told other mates meanwhile."""
    completed_task_id: str = ""
    completed_status: str = ""
    failure_reason: str = ""


@final
@attrs.frozen(kw_only=True)
class ShutdownRequest(Numbered):
    """The lead wants a mate to end; the mate's model decides."""

    type: ClassVar[str] = "shutdown_request"

    reason: str = ""


@final
@attrs.frozen(kw_only=True)
class ShutdownApproved(Numbered):
    """A mate ends when it has finished what it is at."""

    type: ClassVar[str] = "shutdown_approved"

    pane_id: str = ""
    backend_type: str = ""


@final
@attrs.frozen(kw_only=True)
class ShutdownRejected(Numbered):
    """A mate goes on."""

    type: ClassVar[str] = "shutdown_rejected"

    reason: str = attrs.field(validator=_not_blank)


@final
@attrs.frozen(kw_only=True)
class PlanApprovalRequest(Numbered):
    """A mate has a plan, and waits for the lead's word."""

    type: ClassVar[str] = "plan_approval_request"

    plan_content: str
    plan_file_path: str = ""


@final
@attrs.frozen(kw_only=True)
class PlanApprovalResponse(Message):
    """The lead's word on a plan."""

    type: ClassVar[str] = "plan_approval_response"

    request_id: str = attrs.field(validator=_not_blank)
    approved: bool = attrs.field(metadata={"also": ("approve",)})
    feedback: str = ""
    timestamp: str = ""
    permission_mode: str = ""
    """The mode that the mate goes on in; empty for the lead's."""


@final
@attrs.frozen(kw_only=True)
class PermissionRequest(Message):
    """A call of a mate that somebody has to decide about."""

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
@attrs.frozen(kw_only=True)
class PermissionResponse(Message):
    """What was decided about such a call."""

    type: ClassVar[str] = "permission_response"

    request_id: str = attrs.field(validator=_not_blank)
    behavior: Outcome = attrs.field(metadata={"also": ("decision", "outcome", "approved", "approve", "allow")})
    message: str = attrs.field(default="", metadata={"also": ("feedback", "error")})
    updated_input: Mapping[str, Any] | None = None
    permission_updates: tuple[Any, ...] = attrs.field(default=(), metadata={"also": ("updated_permissions",)})


@final
@attrs.frozen(kw_only=True)
class TaskAssignment(Message):
    """An item of the board is somebody's now."""

    type: ClassVar[str] = "task_assignment"

    task_id: str = attrs.field(validator=_not_blank)
    subject: str
    description: str = ""
    assigned_by: str = ""
    timestamp: str = ""


@final
@attrs.frozen(kw_only=True)
class TeammateTerminated(Message):
    """A mate is there no more."""

    type: ClassVar[str] = "teammate_terminated"

    message: str


@final
@attrs.frozen(kw_only=True)
class ModeSetRequest(Message):
    """The lead puts a mate into another permission mode."""

    type: ClassVar[str] = "mode_set_request"

    mode: str = attrs.field(validator=_not_blank)
    sender: str = attrs.field(default="", metadata=_FROM)


@final
@attrs.frozen(kw_only=True)
class TeamPermissionUpdate(Message):
    """A rule holds for the whole team."""

    type: ClassVar[str] = "team_permission_update"

    rule: Mapping[str, Any] = attrs.field(metadata={"also": ("permission_update",)})
    paths: tuple[Any, ...] = attrs.field(default=(), metadata={"also": ("directory_path", "directories")})


@final
@attrs.frozen(kw_only=True)
class SandboxPermissionRequest(Message):
    """A mate wants to reach a host."""

    type: ClassVar[str] = "sandbox_permission_request"

    request_id: str = attrs.field(validator=_not_blank)
    host: str = attrs.field(validator=_not_blank, metadata={"also": ("host_pattern",)})
    worker_name: str = ""


@final
@attrs.frozen(kw_only=True)
class SandboxPermissionResponse(Message):
    """Whether it may."""

    type: ClassVar[str] = "sandbox_permission_response"

    request_id: str = attrs.field(validator=_not_blank)
    behavior: Outcome = attrs.field(metadata={"also": ("decision", "outcome", "approved", "approve", "allow")})
    host: str = ""


@final
@attrs.frozen(kw_only=True)
class TaskCompletedNote(Message):
    """An item is done; of older builds."""

    type: ClassVar[str] = "task_completed"

    task_id: str = attrs.field(validator=_not_blank)
    sender: str = attrs.field(default="", metadata=_FROM)
    timestamp: str = ""


@final
@attrs.frozen(kw_only=True)
class JoinRequest(FromMember):
    """Somebody wants to be a member; of older builds."""

    type: ClassVar[str] = "join_request"


MESSAGES: Final[Mapping[str, type[Message]]] = {
    one.type: one
    for one in (
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
"""All that there are, by what they are called on the wire."""


# --- what a model may say besides text ----------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class AskShutdown(Message):
    """What a lead's model says to have a mate end."""

    type: ClassVar[str] = "shutdown_request"

    reason: str = attrs.field(default="", metadata={"also": ("content",)})


@final
@attrs.frozen(kw_only=True)
class AnswerShutdown(Message):
    """What a mate's model answers; a refusal has a reason."""

    type: ClassVar[str] = "shutdown_response"

    request_id: str = attrs.field(validator=_not_blank)
    approve: bool = attrs.field(metadata={"also": ("approved",)})
    reason: str = attrs.field(default="", metadata={"also": ("content",)})


@final
@attrs.frozen(kw_only=True)
class AnswerPlan(Message):
    """What a lead's model says to a plan."""

    type: ClassVar[str] = "plan_approval_response"

    request_id: str = attrs.field(validator=_not_blank)
    approve: bool = attrs.field(metadata={"also": ("approved",)})
    feedback: str = attrs.field(default="", metadata={"also": ("content", "reason")})


Spoken: TypeAlias = AskShutdown | AnswerShutdown | AnswerPlan
"""What a model may put into `message` of the tool SendMessage in the place of a text (agents 7.40)."""
SPOKEN: Final[Mapping[str, type[Message]]] = {one.type: one for one in (AskShutdown, AnswerShutdown, AnswerPlan)}
