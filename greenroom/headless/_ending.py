"""The ending of a turn in the words of its `result`, and the exit code that follows.

The first row of the table that fits decides. The exit code is 0 for a success and 1 for any error; signals have their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents import TOOL_UNAVAILABLE, Answer, NoStructuredAnswer, OutOfTurns, PromptBlocked, StoppedByHook
from greenroom.agents.compaction import Compacted
from greenroom.core import GreenroomError, ProviderError, TurnFailed, TurnKilled
from greenroom.models import ToolUseBlock, error_category
from greenroom.models.budgets import BudgetExceeded
from greenroom.terminal import explained

SUCCESS: Final = "success"
MAX_TURNS: Final = "error_max_turns"
MAX_BUDGET: Final = "error_max_budget_usd"
MAX_RETRIES: Final = "error_max_structured_output_retries"
FAILED: Final = "error_during_execution"

INTERRUPTED: Final = "[Request interrupted by user]"
"""The text in `errors` of an interrupted turn; other programs look for it."""

REASONS: Final[Mapping[str, str]] = {
    "too_large": "prompt_too_long",
    "refused": "model_error",
    "truncated": "model_error",
    "incomplete": "model_error",
}
"""The `terminal_reason` of a `ProviderError` by its kind; `api_error` for all others."""


@final
@attrs.frozen(kw_only=True)
class Ending:
    """The ending of a turn."""

    subtype: str
    text: str = ""
    """The last text of the agent; after an error, the text so far."""
    error: str = ""
    """Why it ended, for people; empty after a success."""
    reason: str = ""
    """The `terminal_reason`; empty where none of them fits."""
    stop_reason: str | None = None
    """The provider's."""
    api_status: int | None = None
    """The HTTP status of the provider's error."""
    structured: Mapping[str, Any] | None = None
    """The answer in the form that was asked for; None where none was."""
    deferred: ToolUseBlock | None = None
    """The call that a hook has put off."""
    category: str = ""
    """Of the provider's error."""

    @property
    def is_empty(self) -> bool:
        """True if the agent came to its end and said nothing."""
        is_answered = self.structured is not None or self.deferred is not None
        return not self.is_error and not self.text.strip() and not is_answered

    @property
    def is_error(self) -> bool:
        """True if the run failed."""
        return self.subtype != SUCCESS

    @property
    def exit_code(self) -> int:
        """The exit code, if no signal decides it."""
        return int(self.is_error)


def ended_well(answer: Answer) -> Ending:
    """Return how a turn ended that was answered."""
    if answer.stop_reason == TOOL_UNAVAILABLE and answer.deferred is not None:
        why = f"the tool {answer.deferred.name}, whose call was put off, is not there; the call stays open"
        return Ending(
            subtype=FAILED, text=answer.text, error=why, stop_reason=TOOL_UNAVAILABLE, deferred=answer.deferred
        )
    return Ending(
        deferred=answer.deferred,
        subtype=SUCCESS,
        text=answer.text,
        reason="completed",
        stop_reason=answer.stop_reason or None,
        structured=answer.structured,
    )


def compacted(done: Compacted) -> Ending:
    """Return how a turn ended that put a summary in the place of the conversation."""
    text = f"The conversation was compacted: about {done.post_tokens:,} tokens in place of {done.pre_tokens:,}."
    return Ending(subtype=SUCCESS, text=text, reason="completed")


def folder_added(folder: Path) -> Ending:
    """Return how a turn ended that added a folder in which agents may work."""
    return Ending(subtype=SUCCESS, text=f"Agents may work in {folder} until the session ends.", reason="completed")


def ended_badly(
    error: TurnFailed | TurnKilled, *, was_in_tools: bool = False, stop_reason: str | None = None
) -> Ending:
    """Return how a turn ended that was not answered.

    Args:
        error: What `session.run` raised.
        was_in_tools: Whether its calls ran when it was ended.
        stop_reason: Why the model stopped last; None if its last answer did not come to its end.
    """
    if isinstance(error, TurnKilled):
        reason = "aborted_tools" if was_in_tools else "aborted_streaming"
        return Ending(subtype=FAILED, text=error.partial, error=INTERRUPTED, reason=reason)
    cause = error.__cause__
    match cause:
        case OutOfTurns():
            why = f"Reached maximum number of turns ({cause.limit})"
            return Ending(subtype=MAX_TURNS, text=error.partial, error=why, reason="max_turns")
        case NoStructuredAnswer():
            reason = "structured_output_retry_exhausted"
            return Ending(subtype=MAX_RETRIES, text=error.partial, error=str(cause), reason=reason)
        case BudgetExceeded():
            subtype = MAX_BUDGET if cause.limit == "usd" else FAILED
            return Ending(subtype=subtype, text=error.partial, error=str(cause), reason="budget_exhausted")
        case ProviderError():
            return Ending(
                subtype=FAILED,
                text=error.partial,
                error=explained(cause),
                reason=REASONS.get(cause.kind, "api_error"),
                stop_reason=stop_reason if cause.kind in REASONS else None,
                api_status=cause.status,
                category=error_category(cause.kind),
            )
        case StoppedByHook() | PromptBlocked():
            return Ending(subtype=FAILED, text=error.partial, error=str(cause), reason="hook_stopped")
        case GreenroomError():
            return Ending(subtype=FAILED, text=error.partial, error=str(cause))
    return Ending(subtype=FAILED, text=error.partial, error=error.why)
