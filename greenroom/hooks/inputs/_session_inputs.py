"""Inputs of the events of a session and its conversation."""

from __future__ import annotations

from typing import ClassVar, final

from greenroom.core import frozen
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput


@final
@frozen(kw_only=True)
class SessionStartInput(HookInput):
    """A session has started or resumed, or has just been compacted."""

    event: ClassVar[HookEvent] = HookEvent.SESSION_START
    subject_field: ClassVar[str] = "source"

    source: str
    """`startup`, `resume`, `clear`, `compact` or `fork`."""
    model: str | None = None
    agent_type: str | None = None
    session_title: str | None = None


@final
@frozen(kw_only=True)
class SetupInput(HookInput):
    """A session was started with a setup request: `greenroom run --init`, `--init-only` or `--maintenance`."""

    event: ClassVar[HookEvent] = HookEvent.SETUP
    subject_field: ClassVar[str] = "trigger"

    trigger: str
    """`init` or `maintenance`."""


@final
@frozen(kw_only=True)
class SessionEndInput(HookInput):
    """The session ends; its hooks share one short time limit."""

    event: ClassVar[HookEvent] = HookEvent.SESSION_END
    subject_field: ClassVar[str] = "reason"

    reason: str
    """`clear`, `resume`, `logout`, `prompt_input_exit` or `other`."""


@final
@frozen(kw_only=True)
class UserPromptSubmitInput(HookInput):
    """A person sent a prompt; not for notices or for messages of teammates."""

    event: ClassVar[HookEvent] = HookEvent.USER_PROMPT_SUBMIT

    prompt: str


@final
@frozen(kw_only=True)
class UserPromptExpansionInput(HookInput):
    """A person called a skill by `/name`; its text is about to replace the prompt."""

    event: ClassVar[HookEvent] = HookEvent.USER_PROMPT_EXPANSION
    subject_field: ClassVar[str] = "command_name"

    expansion_type: str
    """`slash_command`."""
    command_name: str
    command_args: str
    command_source: str
    """The source of the skill."""
    prompt: str
    """The text of the skill."""


@final
@frozen(kw_only=True)
class NotificationInput(HookInput):
    """A person is asked about a call (`permission_prompt`), or a background agent has ended (`agent_completed`).

    Also for questions of MCP servers: one is shown to a person (`elicitation_dialog`, `elicitation_url_dialog`), a
    person answered it (`elicitation_response`), or the action at a URL is complete (`elicitation_complete`).
    """

    event: ClassVar[HookEvent] = HookEvent.NOTIFICATION
    subject_field: ClassVar[str] = "notification_type"

    message: str
    notification_type: str
    title: str | None = None


@final
@frozen(kw_only=True)
class PreCompactInput(HookInput):
    """A conversation is about to be compacted."""

    event: ClassVar[HookEvent] = HookEvent.PRE_COMPACT
    subject_field: ClassVar[str] = "trigger"

    trigger: str
    """`manual` or `auto`."""
    custom_instructions: str = ""


@final
@frozen(kw_only=True)
class PostCompactInput(HookInput):
    """A conversation has been compacted."""

    event: ClassVar[HookEvent] = HookEvent.POST_COMPACT
    subject_field: ClassVar[str] = "trigger"

    trigger: str
    compact_summary: str
