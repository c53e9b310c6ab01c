"""How an answer ended, and what follows from it: one table for every stop reason and everything that an answer can hold.

Rule 1: the table is total: stop reasons that nobody knows, and none at all, have a row. Rule 2: only a whole answer is a
success; what is not whole goes on, or is an error that says why. Rule 3: no call of a refused answer is run.
Must not know: conversations, Trio, how often something is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from greenroom.core import ProviderError
from greenroom.models._failures import failure
from greenroom.models._types import ModelResponse


class Held(StrEnum):
    """The content of an answer that may stand in a conversation.

    Blank text, thinking at the end, calls without their whole input and blocks of the provider's own tools are left out of
    a response, so an answer that has only these holds nothing.
    """

    NOTHING = "nothing"
    TEXT = "text"
    CALLS = "calls"


class Next(StrEnum):
    """What a turn does after an answer."""

    FINISH = "finish"
    """The answer is whole: the turn may end."""
    RUN_CALLS = "run calls"
    """Its calls are run, and their results are the next message."""
    CONTINUE = "continue"
    """It was cut at the limit of its length: the rest is asked for."""
    RESUME = "resume"
    """The provider paused it: the rest is asked for."""
    REMIND = "remind"
    """It is over and says nothing: the model is asked for an answer once; after that, it is over."""
    SHRINK = "shrink"
    """The model's window is full: the conversation is compacted, and the model asked anew."""
    REFUSE = "refuse"
    """The model declined: an error."""
    FAIL = "fail"
    """It is not whole, and nothing is known that would make it so: an error."""


def _row(nothing: Next, text: Next, calls: Next) -> Mapping[Held, Next]:
    return {Held.NOTHING: nothing, Held.TEXT: text, Held.CALLS: calls}


_OVER: Final = _row(Next.REMIND, Next.FINISH, Next.RUN_CALLS)
_UNKNOWN: Final = _row(Next.FAIL, Next.FAIL, Next.FAIL)
_ROWS: Final[Mapping[str, Mapping[Held, Next]]] = {
    "end_turn": _OVER,
    "stop_sequence": _OVER,
    "tool_use": _row(Next.FAIL, Next.FAIL, Next.RUN_CALLS),
    # Calls that came whole are run, and their results continue the answer.
    "max_tokens": _row(Next.CONTINUE, Next.CONTINUE, Next.RUN_CALLS),
    "pause_turn": _row(Next.RESUME, Next.RESUME, Next.RUN_CALLS),
    "model_context_window_exceeded": _row(Next.SHRINK, Next.SHRINK, Next.RUN_CALLS),
    "refusal": _row(Next.REFUSE, Next.REFUSE, Next.REFUSE),
}


def held_by(response: ModelResponse) -> Held:
    """Return what an answer holds."""
    if response.tool_uses:
        return Held.CALLS
    return Held.TEXT if response.text.strip() else Held.NOTHING


def next_after(response: ModelResponse) -> Next:
    """Return what a turn does after an answer."""
    return _ROWS.get(response.stop_reason or "", _UNKNOWN)[held_by(response)]


def fault_of(response: ModelResponse) -> ProviderError:
    """Return the error of an answer that is not whole, and that is not continued any more."""
    reason = response.stop_reason
    match next_after(response):
        case Next.REFUSE:
            return failure("refused", "the model refused to answer; change the prompt, or begin a new conversation")
        case Next.SHRINK:
            return failure("too_large", "the conversation fills the model's context window")
        case Next.CONTINUE:
            return failure("truncated", "the answer was cut off at the limit of its length")
        case Next.RESUME:
            return failure("incomplete", "the provider paused the answer again and again, and never completed it")
    if reason is None:
        return failure("incomplete", "the answer ended without a stop reason, so it may not be complete")
    if reason == "tool_use":
        return failure("incomplete", "the model stopped to call a tool, but its answer holds no call")
    return failure(
        "incomplete", f"the answer ended with the unknown stop reason {reason[:60]!r}, so it may not be complete"
    )
