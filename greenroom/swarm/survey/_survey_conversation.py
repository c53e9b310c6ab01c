"""The conversation of a playbook agent, parsed into calls with results and incoming messages: all that the playbook knows.

Nothing else is remembered, so the same conversation always gets the same answer. A call that was interrupted was not made:
what it did, if anything, has to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from greenroom.agents import INTERRUPTED, LOST_RESULT
from greenroom.models import Message, TextBlock, ToolResultBlock, ToolUseBlock


@attrs.frozen
class ToolCall:
    """A tool call, and its result if there is one yet."""

    at: int
    """Place in the conversation; texts and calls are counted together."""
    name: str
    input: Mapping[str, Any]
    result: str | None
    is_error: bool


@attrs.frozen
class Received:
    """An incoming text: the task, an item of the board, or a message of a teammate."""

    at: int
    text: str


@attrs.frozen
class SurveyConversation:
    """All calls and all texts so far, in order."""

    calls: tuple[ToolCall, ...]
    received: tuple[Received, ...]
    cut_at: int = -1
    """Place of the last call that was interrupted."""

    def calls_of(self, name: str, *, since: int = -1) -> tuple[ToolCall, ...]:
        """Return the calls of one tool that came after a place."""
        return tuple(call for call in self.calls if call.name == name and call.at > since)


def read_conversation(messages: Iterable[Message]) -> SurveyConversation:
    """Sort a conversation into what was called and what came in."""
    uses: list[tuple[int, ToolUseBlock]] = []
    results: dict[str, ToolResultBlock] = {}
    received = []
    for at, (role, block) in enumerate((message.role, block) for message in messages for block in message.content):
        match block:
            case ToolUseBlock():
                uses.append((at, block))
            case ToolResultBlock():
                results[block.tool_use_id] = block
            case TextBlock(text) if role == "user":
                received.append(Received(at, text))
    calls, cut_at = [], -1
    for at, use in uses:
        result = results.get(use.id)
        if result is not None and result.is_error and result.content in (INTERRUPTED, LOST_RESULT):
            cut_at = at
            continue
        content = None if result is None else result.content
        calls.append(ToolCall(at, use.name, use.input, content, result is not None and result.is_error))
    return SurveyConversation(tuple(calls), tuple(received), cut_at)
