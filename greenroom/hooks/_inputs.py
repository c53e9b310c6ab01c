"""What hooks are told: one class per event, and the JSON that a handler reads.

Rule 1: field names are the keys of the JSON, save where the class says another; a field that is None is left out. Rule 2: encoding never fails, whatever a
model put into a tool's input.
Must not know: who reads it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.hooks._catalog import HookEvent

DESCRIPTION_CHARS: Final = 1_000
_OTHER_MODES: Final = {"manual": "default"}


@final
@attrs.frozen(kw_only=True)
class HookContext:
    """Whose moment it is: what every input says, and where what ran is put on record."""

    session_id: str
    cwd: Path
    """The current folder of the agent; commands run in it."""
    transcript_path: Path | None = None
    """The main conversation's transcript, also inside a child; None keeps none."""
    prompt_id: str | None = None
    permission_mode: str | None = None
    effort: str | None = None
    agent_id: str | None = None
    """Inside a child only."""
    agent_type: str | None = None
    actor: str = ""
    """Id of the actor that what ran is recorded for."""
    incarnation: int = 0
    parent: int = 0
    """`seq` of the event that led here."""

    def encode(self) -> dict[str, Any]:
        """Return the keys that all inputs have."""
        mode = self.permission_mode
        values = {
            "session_id": self.session_id,
            "prompt_id": self.prompt_id,
            "transcript_path": "" if self.transcript_path is None else str(self.transcript_path),
            "cwd": str(self.cwd),
            "permission_mode": None if mode is None else _OTHER_MODES.get(mode, mode),
            "effort": None if self.effort is None else {"level": self.effort},
            "agent_id": self.agent_id,
            "agent_type": self.agent_type,
        }
        return {key: value for key, value in values.items() if value is not None}


@attrs.frozen(kw_only=True)
class HookInput:
    """What happened, or is about to."""

    event: ClassVar[HookEvent]
    subject_field: ClassVar[str] = ""
    """The field that matchers are compared with."""

    @property
    def subject(self) -> str:
        """What matchers are compared with; empty where they mean nothing."""
        return str(getattr(self, self.subject_field)) if self.subject_field else ""

    def encode(self, context: HookContext) -> dict[str, Any]:
        """Return the whole input, as plain values that JSON can hold."""
        values = {"hook_event_name": self.event.value, **_fields(self)}
        return {**context.encode(), **values}


def as_json(values: Mapping[str, Any]) -> str:
    """Write an encoded input as one line of ASCII."""
    return json.dumps(values, separators=(",", ":"))


def _fields(instance: attrs.AttrsInstance) -> dict[str, Any]:
    told = [field for field in attrs.fields(type(instance)) if field.metadata.get("is_told", True)]
    values = {field.metadata.get("key", field.name): getattr(instance, field.name) for field in told}
    return {key: plain(value) for key, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; what it cannot hold becomes text, a number that is none becomes null."""
    try:
        return _plain(value)
    except RecursionError:
        return "(nested too deeply to be shown)"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or value.bit_length() < 1024 else "(a huge number)"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(inner) for inner in value]
    if attrs.has(type(value)):
        return _fields(value)
    return str(value)


# --- tools -----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _ToolInput(HookInput):
    subject_field: ClassVar[str] = "tool_name"

    tool_name: str
    tool_input: Mapping[str, Any]
    """File paths in it are absolute."""


@final
@attrs.frozen(kw_only=True)
class PreToolUseInput(_ToolInput):
    """A call is about to be judged and run."""

    event: ClassVar[HookEvent] = HookEvent.PRE_TOOL_USE

    tool_use_id: str


@final
@attrs.frozen(kw_only=True)
class PermissionRequestInput(_ToolInput):
    """Somebody would be asked whether a call may run."""

    event: ClassVar[HookEvent] = HookEvent.PERMISSION_REQUEST

    permission_suggestions: Sequence[Any] | None = None


@final
@attrs.frozen(kw_only=True)
class PermissionDeniedInput(_ToolInput):
    """A call was denied without anybody being asked."""

    event: ClassVar[HookEvent] = HookEvent.PERMISSION_DENIED

    tool_use_id: str
    reason: str


@final
@attrs.frozen(kw_only=True)
class PostToolUseInput(_ToolInput):
    """A call has its result."""

    event: ClassVar[HookEvent] = HookEvent.POST_TOOL_USE

    tool_use_id: str
    tool_response: Any
    duration_ms: int | None = None


@final
@attrs.frozen(kw_only=True)
class PostToolUseFailureInput(_ToolInput):
    """A call failed. Not for a call that was cancelled."""

    event: ClassVar[HookEvent] = HookEvent.POST_TOOL_USE_FAILURE

    tool_use_id: str
    error: str
    is_interrupt: bool | None = None
    duration_ms: int | None = None


@final
@attrs.frozen(kw_only=True)
class BatchedCall:
    """One call of a finished batch."""

    tool_name: str
    tool_input: Mapping[str, Any]
    tool_use_id: str
    tool_response: str
    """As the model reads it."""


@final
@attrs.frozen(kw_only=True)
class PostToolBatchInput(HookInput):
    """All calls of one message have their results."""

    event: ClassVar[HookEvent] = HookEvent.POST_TOOL_BATCH

    tool_calls: tuple[BatchedCall, ...]


# --- the session -----------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class SessionStartInput(HookInput):
    """A session begins, goes on, or has just been compacted."""

    event: ClassVar[HookEvent] = HookEvent.SESSION_START
    subject_field: ClassVar[str] = "source"

    source: str
    """`startup`, `resume`, `clear`, `compact` or `fork`."""
    model: str | None = None
    agent_type: str | None = None
    session_title: str | None = None


@final
@attrs.frozen(kw_only=True)
class SetupInput(HookInput):
    """A session begins that was asked to set things up first: `greenroom run --init`, `--init-only` or `--maintenance`."""

    event: ClassVar[HookEvent] = HookEvent.SETUP
    subject_field: ClassVar[str] = "trigger"

    trigger: str
    """`init` or `maintenance`."""


@final
@attrs.frozen(kw_only=True)
class SessionEndInput(HookInput):
    """The session ends; its hooks share one short limit."""

    event: ClassVar[HookEvent] = HookEvent.SESSION_END
    subject_field: ClassVar[str] = "reason"

    reason: str
    """`clear`, `resume`, `logout`, `prompt_input_exit` or `other`."""


@final
@attrs.frozen(kw_only=True)
class UserPromptSubmitInput(HookInput):
    """A person said something; not for notices, nor for what teammates send."""

    event: ClassVar[HookEvent] = HookEvent.USER_PROMPT_SUBMIT

    prompt: str


@final
@attrs.frozen(kw_only=True)
class UserPromptExpansionInput(HookInput):
    """A person called a skill by `/name`; its text is about to stand for the prompt."""

    event: ClassVar[HookEvent] = HookEvent.USER_PROMPT_EXPANSION
    subject_field: ClassVar[str] = "command_name"

    expansion_type: str
    """`slash_command`."""
    command_name: str
    command_args: str
    command_source: str
    """Where the skill comes from."""
    prompt: str
    """Its text."""


@final
@attrs.frozen(kw_only=True)
class NotificationInput(HookInput):
    """A person is asked about a call (`permission_prompt`), or an agent in the background has ended (`agent_completed`).

    Or it is about a question of an MCP server: one is put before a person (`elicitation_dialog`, `elicitation_url_dialog`), was
    answered by one (`elicitation_response`), or what a person did at an address is done (`elicitation_complete`).
    """

    event: ClassVar[HookEvent] = HookEvent.NOTIFICATION
    subject_field: ClassVar[str] = "notification_type"

    message: str
    notification_type: str
    title: str | None = None


@final
@attrs.frozen(kw_only=True)
class PreCompactInput(HookInput):
    """A conversation is about to be compacted."""

    event: ClassVar[HookEvent] = HookEvent.PRE_COMPACT
    subject_field: ClassVar[str] = "trigger"

    trigger: str
    """`manual` or `auto`."""
    custom_instructions: str = ""


@final
@attrs.frozen(kw_only=True)
class PostCompactInput(HookInput):
    """A conversation has been compacted."""

    event: ClassVar[HookEvent] = HookEvent.POST_COMPACT
    subject_field: ClassVar[str] = "trigger"

    trigger: str
    compact_summary: str


# --- ends of turns ---------------------------------------------------------------------------------------------------


def _shorten(text: str) -> str:
    return text[:DESCRIPTION_CHARS]


@final
@attrs.frozen(kw_only=True)
class BackgroundTask:
    """A task of the session that runs while the turn ends."""

    id: str
    type: str
    """`shell`, `subagent`, `monitor`, `workflow`, `teammate`, `cloud session` or `MCP task`."""
    status: str
    description: str = attrs.field(converter=_shorten)
    """In at most 1,000 characters."""
    command: str | None = None
    agent_type: str | None = None
    server: str | None = None
    tool: str | None = None
    name: str | None = None


@final
@attrs.frozen(kw_only=True)
class SessionCron:
    """A prompt of the session that waits for its time."""

    id: str
    schedule: str
    recurring: bool
    prompt: str


@attrs.frozen(kw_only=True)
class _StopInput(HookInput):
    stop_hook_active: bool
    """Whether a hook has already kept this turn from ending."""
    last_assistant_message: str
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


@final
@attrs.frozen(kw_only=True)
class StopInput(_StopInput):
    """The agent has finished its turn. Not after an interrupt, nor after an error of the provider."""

    event: ClassVar[HookEvent] = HookEvent.STOP


@final
@attrs.frozen(kw_only=True)
class SubagentStopInput(_StopInput):
    """A child has finished its turn."""

    event: ClassVar[HookEvent] = HookEvent.SUBAGENT_STOP
    subject_field: ClassVar[str] = "agent_type"

    agent_id: str
    agent_type: str
    agent_transcript_path: Path
    """Ends in `subagents/agent-<id>.jsonl`."""


@final
@attrs.frozen(kw_only=True)
class StopFailureInput(HookInput):
    """An error of the provider ended the turn."""

    event: ClassVar[HookEvent] = HookEvent.STOP_FAILURE
    subject_field: ClassVar[str] = "error"

    error: str
    error_details: str | None = None
    last_assistant_message: str | None = None


@final
@attrs.frozen(kw_only=True)
class SubagentStartInput(HookInput):
    """A child is about to read its first prompt."""

    event: ClassVar[HookEvent] = HookEvent.SUBAGENT_START
    subject_field: ClassVar[str] = "agent_type"

    agent_id: str
    agent_type: str


# --- teams and worktrees ---------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _TaskInput(HookInput):
    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


@final
@attrs.frozen(kw_only=True)
class TaskCreatedInput(_TaskInput):
    """An item was put on the board."""

    event: ClassVar[HookEvent] = HookEvent.TASK_CREATED


@final
@attrs.frozen(kw_only=True)
class TaskCompletedInput(_TaskInput):
    """An item is to be completed, by a call or because its owner ended a turn."""

    event: ClassVar[HookEvent] = HookEvent.TASK_COMPLETED

    on_idle: bool = attrs.field(default=False, metadata={"is_told": False})
    """Whether a teammate's turn ended; then a prompt's no ends it for good. Not told to handlers."""


@final
@attrs.frozen(kw_only=True)
class TeammateIdleInput(HookInput):
    """A teammate is about to wait for mail."""

    event: ClassVar[HookEvent] = HookEvent.TEAMMATE_IDLE

    teammate_name: str
    team_name: str
