"""Inputs of the events of work: the start of a child, the end of a turn, a team and its task board."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, final

import attrs

from greenroom.core import frozen
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput

DESCRIPTION_CHARS: Final = 1_000


def _shorten(text: str) -> str:
    return text[:DESCRIPTION_CHARS]


@final
@frozen(kw_only=True)
class RunningTask:
    """A task of the session that is still running when the turn ends."""

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
@frozen(kw_only=True)
class SessionCron:
    """A scheduled prompt of the session."""

    id: str
    schedule: str
    recurring: bool
    prompt: str


@frozen(kw_only=True)
class _StopInput(HookInput):
    stop_hook_active: bool
    """True if a hook has already kept this turn from ending."""
    last_assistant_message: str
    background_tasks: tuple[RunningTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


@final
@frozen(kw_only=True)
class StopInput(_StopInput):
    """The agent has finished its turn. Not after an interrupt or an error of the provider."""

    event: ClassVar[HookEvent] = HookEvent.STOP


@final
@frozen(kw_only=True)
class SubagentStopInput(_StopInput):
    """A child has finished its turn."""

    event: ClassVar[HookEvent] = HookEvent.SUBAGENT_STOP
    subject_field: ClassVar[str] = "agent_type"

    agent_id: str
    agent_type: str
    agent_transcript_path: Path
    """Ends in `subagents/agent-<id>.jsonl`."""


@final
@frozen(kw_only=True)
class StopFailureInput(HookInput):
    """An error of the provider ended the turn."""

    event: ClassVar[HookEvent] = HookEvent.STOP_FAILURE
    subject_field: ClassVar[str] = "error"

    error: str
    error_details: str | None = None
    last_assistant_message: str | None = None


@final
@frozen(kw_only=True)
class SubagentStartInput(HookInput):
    """A child is about to read its first prompt."""

    event: ClassVar[HookEvent] = HookEvent.SUBAGENT_START
    subject_field: ClassVar[str] = "agent_type"

    agent_id: str
    agent_type: str


@frozen(kw_only=True)
class _TaskInput(HookInput):
    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


@final
@frozen(kw_only=True)
class TaskCreatedInput(_TaskInput):
    """An item was added to the board."""

    event: ClassVar[HookEvent] = HookEvent.TASK_CREATED


@final
@frozen(kw_only=True)
class TaskCompletedInput(_TaskInput):
    """An item is about to be completed, by a call or because its owner ended a turn."""

    event: ClassVar[HookEvent] = HookEvent.TASK_COMPLETED

    on_idle: bool = attrs.field(default=False, metadata={"is_encoded": False})
    """True if a teammate's turn ended: a refusal of a prompt then ends the teammate. Not part of the JSON."""


@final
@frozen(kw_only=True)
class TeammateIdleInput(HookInput):
    """A teammate is about to wait for mail."""

    event: ClassVar[HookEvent] = HookEvent.TEAMMATE_IDLE

    teammate_name: str
    team_name: str
