"""What hooks are told of what passes between a session and a person: questions of MCP servers, and what is shown.

Must not know: who reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

import attrs

from greenroom.hooks._catalog import HookEvent
from greenroom.hooks._inputs import HookInput


@final
@attrs.frozen(kw_only=True)
class MessageDisplayInput(HookInput):
    """What the main agent said is about to be shown; once for each message that holds text, when that is complete."""

    event: ClassVar[HookEvent] = HookEvent.MESSAGE_DISPLAY

    turn_id: str
    """A UUID, the same for all messages of a turn."""
    message_id: str
    """A UUID of this message; that of its line in the transcript, where one is kept."""
    index: int = 0
    """Which part of the message it is, from 0."""
    final: bool = True
    """Whether it is the last part."""
    delta: str
    """The text."""


@final
@attrs.frozen(kw_only=True)
class ElicitationInput(HookInput):
    """An MCP server asks something; the hook may answer in the place of a person."""

    event: ClassVar[HookEvent] = HookEvent.ELICITATION
    subject_field: ClassVar[str] = "mcp_server_name"

    mcp_server_name: str
    message: str
    mode: str | None = None
    """`form` or `url`."""
    url: str | None = None
    """What a person is to open, of the mode `url`."""
    elicitation_id: str | None = None
    requested_schema: Mapping[str, Any] | None = None
    """What the fields of the form are, of the mode `form`."""


@final
@attrs.frozen(kw_only=True)
class ElicitationResultInput(HookInput):
    """A person has answered an MCP server; the hook may answer otherwise before the server hears it."""

    event: ClassVar[HookEvent] = HookEvent.ELICITATION_RESULT
    subject_field: ClassVar[str] = "mcp_server_name"

    mcp_server_name: str
    action: str
    """`accept`, `decline` or `cancel`."""
    mode: str | None = None
    elicitation_id: str | None = None
    content: Mapping[str, Any] | None = None
    """The fields of the form, where it was accepted."""
