"""Calls that fail again and again in one turn, with the same input and the same error.

A successful call resets the count: an attempt after a change is not a repetition. The model is reminded first; the turn
ends only where that did not help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, final

import attrs

from greenroom.core import PeerError, UsageError
from greenroom.core.texts import cut_text
from greenroom.models import ToolResultBlock, ToolUseBlock

NOTED_AFTER: Final = 3
ENDED_AFTER: Final = 10
_SHOWN: Final = 300


@final
class RepeatedCall(PeerError):
    """A call failed so often in the same way that its turn was ended.

    Attributes:
        tool: Name of the tool.
        times: How often it failed in the same way, with no success of any call in between.
    """

    def __init__(self, tool: str, times: int, error: str) -> None:
        super().__init__(
            f"the turn was ended because {tool} failed {times} times with the same input and the same error "
            f"(the setting limits.repeated_calls_end): {cut_text(error, _SHOWN)}"
        )
        self.tool = tool
        self.times = times


@final
@attrs.frozen(kw_only=True)
class RepetitionLimits:
    """Limits of repeated calls that fail in the same way.

    Attributes:
        noted_after: The model is reminded then, and each time that it fails again.
        ended_after: The turn is ended then; None for never.
    """

    noted_after: int = attrs.field(default=NOTED_AFTER)
    ended_after: int | None = attrs.field(default=ENDED_AFTER)

    @noted_after.validator
    @ended_after.validator
    def _positive(self, attribute: attrs.Attribute[Any], value: int | None) -> None:
        if value is not None and value < 1:
            raise UsageError(f"{attribute.name} must be at least 1, got {value!r}")


@final
class Repetition:
    """Counts the failures of one turn."""

    def __init__(self) -> None:
        self._failed: Counter[tuple[str, str, int]] = Counter()

    def note(
        self, calls: Sequence[ToolUseBlock], results: Sequence[ToolResultBlock], limits: RepetitionLimits
    ) -> tuple[str, RepeatedCall | None]:
        """Count the calls of a batch; return a reminder for the model, or nothing, and why the turn has to end, or None."""
        for result in results:
            if not result.is_error:
                self._failed.clear()
                break
        worst: tuple[int, ToolUseBlock, str] | None = None
        for call, result in zip(calls, results, strict=True):
            if not result.is_error:
                continue
            key = (call.name, repr(sorted(call.input.items())), hash(result.content))
            self._failed[key] += 1
            if worst is None or self._failed[key] > worst[0]:
                worst = (self._failed[key], call, result.content)
        if worst is None or worst[0] < limits.noted_after:
            return "", None
        times, call, error = worst
        if limits.ended_after is not None and times >= limits.ended_after:
            return "", RepeatedCall(call.name, times, error)
        end = "" if limits.ended_after is None else f" After {limits.ended_after} times the turn is ended."
        return (
            f"{call.name} has failed {times} times with the same input and the same error. Do not repeat the call: "
            f"change its input, take another way, or say what is missing.{end}"
        ), None
