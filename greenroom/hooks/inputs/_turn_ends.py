"""Inputs of the events at the start of a child and at the end of a turn."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, final

import attrs

from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput

DESCRIPTION_CHARS: Final = 1_000


def _shorten(text: str) -> str:
    return text[:DESCRIPTION_CHARS]


@final
@attrs.frozen(kw_only=True)
class BackgroundTask:
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
@attrs.frozen(kw_only=True)
class SessionCron:
    """A scheduled prompt of the session."""

    id: str
    schedule: str
    recurring: bool
    prompt: str


@attrs.frozen(kw_only=True)
class _StopInput(HookInput):
    stop_hook_active: bool
    """True if a hook has already kept this turn from ending."""
    last_assistant_message: str
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


@final
@attrs.frozen(kw_only=True)
class StopInput(_StopInput):
    """The agent has finished its turn. Not after an interrupt or an error of the provider."""

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
