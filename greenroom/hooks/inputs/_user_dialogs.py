"""Inputs of the events of what a person is shown or asked: messages and questions of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

import attrs

from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput


@final
@attrs.frozen(kw_only=True)
class MessageDisplayInput(HookInput):
    """A message of the main agent is about to be shown; once per message with text, when it is complete."""

    event: ClassVar[HookEvent] = HookEvent.MESSAGE_DISPLAY

    turn_id: str
    """A UUID, the same for all messages of a turn."""
    message_id: str
    """A UUID of this message; that of its line in the transcript, if one is kept."""
    index: int = 0
    """Index of this part of the message, from 0."""
    final: bool = True
    """True for the last part."""
    delta: str
    """The text."""


@final
@attrs.frozen(kw_only=True)
class ElicitationInput(HookInput):
    """An MCP server asks a question; the hook may answer in place of a person."""

    event: ClassVar[HookEvent] = HookEvent.ELICITATION
    subject_field: ClassVar[str] = "mcp_server_name"

    mcp_server_name: str
    message: str
    mode: str | None = None
    """`form` or `url`."""
    url: str | None = None
    """The URL for the person to open, in mode `url`."""
    elicitation_id: str | None = None
    requested_schema: Mapping[str, Any] | None = None
    """The fields of the form, in mode `form`."""


@final
@attrs.frozen(kw_only=True)
class ElicitationResultInput(HookInput):
    """A person has answered an MCP server; the hook may change the answer before it is sent."""

    event: ClassVar[HookEvent] = HookEvent.ELICITATION_RESULT
    subject_field: ClassVar[str] = "mcp_server_name"

    mcp_server_name: str
    action: str
    """`accept`, `decline` or `cancel`."""
    mode: str | None = None
    elicitation_id: str | None = None
    content: Mapping[str, Any] | None = None
    """The fields of the form, if it was accepted."""
