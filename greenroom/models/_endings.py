"""Ends of answers and their consequences: one table for every stop reason and every content.

Rule 1: the table is total: unknown stop reasons, and none at all, have a row. Rule 2: only a complete answer is a
success; an incomplete one continues, or is an error with the reason. Rule 3: no call of a refused answer is run.

Must not know: conversations, Trio, how often a request is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from greenroom.core import ProviderError
from greenroom.models._failure_kinds import failure
from greenroom.models._types import ModelResponse, ToolUseBlock


class HeldContent(StrEnum):
    """The content of an answer that may be appended to a conversation.

    Blank text, thinking at the end, calls with incomplete input and blocks of the provider's own tools are left out of
    a response, so an answer with only these holds nothing.
    """

    NOTHING = "nothing"
    TEXT = "text"
    CALLS = "calls"


class Next(StrEnum):
    """The step of a turn after an answer."""

    FINISH = "finish"
    """The answer is complete: the turn may end."""
    RUN_CALLS = "run calls"
    """Its calls are run, and their results are the next message."""
    CONTINUE = "continue"
    """It was cut at its length limit: the rest is requested."""
    RESUME = "resume"
    """The provider paused it: the rest is requested."""
    REMIND = "remind"
    """It ended without content: the model is asked for an answer once; after that, the turn ends."""
    SHRINK = "shrink"
    """The model's window is full: the conversation is compacted, and the model asked again."""
    REFUSE = "refuse"
    """The model declined: an error."""
    FAIL = "fail"
    """It is incomplete, and cannot be completed: an error."""


def _row(nothing: Next, text: Next, calls: Next) -> Mapping[HeldContent, Next]:
    return {HeldContent.NOTHING: nothing, HeldContent.TEXT: text, HeldContent.CALLS: calls}


_CALLS: Final = HeldContent.CALLS
"""Read for nearly every answer: reading a member from its class costs 90 ns before Python 3.12."""
_OVER: Final = _row(Next.REMIND, Next.FINISH, Next.RUN_CALLS)
_UNKNOWN: Final = _row(Next.FAIL, Next.FAIL, Next.FAIL)
_ROWS: Final[Mapping[str, Mapping[HeldContent, Next]]] = {
    "end_turn": _OVER,
    "stop_sequence": _OVER,
    "tool_use": _row(Next.FAIL, Next.FAIL, Next.RUN_CALLS),
    # Complete calls are run, and their results continue the answer.
    "max_tokens": _row(Next.CONTINUE, Next.CONTINUE, Next.RUN_CALLS),
    "pause_turn": _row(Next.RESUME, Next.RESUME, Next.RUN_CALLS),
    "model_context_window_exceeded": _row(Next.SHRINK, Next.SHRINK, Next.RUN_CALLS),
    "refusal": _row(Next.REFUSE, Next.REFUSE, Next.REFUSE),
}


def next_after(response: ModelResponse) -> Next:
    """Return the step of a turn after an answer."""
    row = _ROWS.get(response.stop_reason or "", _UNKNOWN)
    for block in response.content:
        if isinstance(block, ToolUseBlock):
            return row[_CALLS]
    return row[HeldContent.TEXT if response.text.strip() else HeldContent.NOTHING]


def fault_of(response: ModelResponse) -> ProviderError:
    """Return the error of an answer that is incomplete and not continued any further."""
    reason = response.stop_reason
    match next_after(response):
        case Next.REFUSE:
            return failure("refused", "the model refused to answer; change the prompt or start a new conversation")
        case Next.SHRINK:
            return failure("too_large", "the conversation fills the model's context window")
        case Next.CONTINUE:
            return failure("truncated", "the answer was cut off at its length limit")
        case Next.RESUME:
            return failure("incomplete", "the provider paused the answer repeatedly and never completed it")
    if reason is None:
        return failure("incomplete", "the answer ended without a stop reason, so it may not be complete")
    if reason == "tool_use":
        return failure("incomplete", "the model stopped to call a tool, but its answer has no call")
    return failure(
        "incomplete", f"the answer ended with the unknown stop reason {reason[:60]!r}, so it may not be complete"
    )
