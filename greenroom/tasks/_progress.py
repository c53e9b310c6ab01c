"""Progress of an agent in a run: tool calls, tokens, recent activities.

Input tokens are those of the latest request, because each request reads everything before it; output tokens add up.
While any of its calls waits for a permission, an agent does not work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

RECENT: Final = 5
"""Number of activities that are kept."""


@final
@attrs.define(eq=False)
class Progress:
    """The tracker of one run."""

    latest_input_tokens: int = 0
    cumulative_output_tokens: int = 0
    recent_activities: list[str] = attrs.field(factory=list[str])
    """Recent activities, the latest last: a tool and the subject of its call."""
    tool_uses: Counter[str] = attrs.field(factory=Counter[str])
    """Number of calls by tool."""
    models: dict[str, None] = attrs.field(factory=dict)
    """Models that have answered, in the order of their first answers."""
    last_request_tokens: int = 0
    """Tokens that the latest request read and wrote."""
    lines_added: int = 0
    """Lines added by the tools Edit and Write, according to their calls."""
    lines_removed: int = 0
    waiting: dict[str, str] = attrs.field(factory=dict)
    """Tools of calls that wait for a permission, by call id."""
    _waited_s: float = 0.0
    _waiting_since_s: float = 0.0
    summary: str = ""
    """Current activity in a few words of a model; empty if no summaries are requested."""

    @property
    def attention(self) -> str:
        """Required action of a person; empty if none."""
        return f"it waits for permission: {', '.join(self.waiting.values())}" if self.waiting else ""

    @property
    def tool_use_count(self) -> int:
        """Number of its calls."""
        return self.tool_uses.total()

    @property
    def token_count(self) -> int:
        """Latest input and cumulative output."""
        return self.latest_input_tokens + self.cumulative_output_tokens

    @property
    def last_activity(self) -> str:
        """The latest activity; empty at the beginning."""
        return self.recent_activities[-1] if self.recent_activities else ""

    def note_request(self, input_tokens: int, output_tokens: int, model: str = "") -> None:
        """Count a request that a model has answered."""
        if model:
            self.models[model] = None
        self.latest_input_tokens = input_tokens
        self.cumulative_output_tokens += output_tokens
        self.last_request_tokens = input_tokens + output_tokens

    def note_call(self, tool: str, summary: str) -> None:
        """Count a tool call."""
        self.tool_uses[tool] += 1
        self.recent_activities.append(f"{tool} {summary}".rstrip())
        del self.recent_activities[:-RECENT]

    def note_question(self, call: str, tool: str, now_s: float) -> None:
        """Record that a call waits for a permission from now on."""
        if not self.waiting:
            self._waiting_since_s = now_s
        self.waiting[call] = tool

    def note_answer(self, call: str, now_s: float) -> None:
        """Record that a call no longer waits, if it did."""
        if self.waiting.pop(call, None) is not None and not self.waiting:
            self._waited_s += now_s - self._waiting_since_s

    def waited_ms(self, now_s: float) -> int:
        """Return the time that it has waited for permissions; simultaneous waits count once."""
        return round((self._waited_s + (now_s - self._waiting_since_s if self.waiting else 0.0)) * 1000)

    def note_change(self, values: Mapping[str, Any]) -> None:
        """Count the lines of a call that has changed a file: written and replaced ones."""
        written = values.get("new_string", values.get("content", ""))
        self.lines_added += len(str(written).splitlines())
        self.lines_removed += len(str(values.get("old_string", "")).splitlines())
