"""How far an agent has come in a run: tool calls, tokens, what it did last.

Rule 1: input tokens are the latest request's, because each request reads all that came before; output tokens add up (agents
6.80). Rule 2: while any of its calls waits for somebody's permission, an agent does not work. Must not know: clock, who looks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

RECENT: Final = 5
"""Activities that are kept."""


@final
@attrs.define(eq=False)
class Progress:
    """The tracker of one run."""

    latest_input_tokens: int = 0
    cumulative_output_tokens: int = 0
    recent_activities: list[str] = attrs.field(factory=list[str])
    """What it did last, the latest at the end: a tool and what the call was about."""
    tool_uses: Counter[str] = attrs.field(factory=Counter[str])
    """Calls by tool."""
    models: dict[str, None] = attrs.field(factory=dict)
    """Those that have answered, in the order in which they did first."""
    last_request_tokens: int = 0
    """What the latest request read and wrote."""
    lines_added: int = 0
    """By the tools Edit and Write, as their calls say it."""
    lines_removed: int = 0
    waiting: dict[str, str] = attrs.field(factory=dict)
    """The tools of its calls that wait until somebody allows or refuses them, by the calls' ids."""
    _waited_s: float = 0.0
    _waiting_since_s: float = 0.0
    summary: str = ""
    """What it is about now, in a few words of a model; empty where nobody asks for such."""

    @property
    def attention(self) -> str:
        """What somebody has to do for it to go on; empty while it needs nobody."""
        return f"it waits for permission: {', '.join(self.waiting.values())}" if self.waiting else ""

    @property
    def tool_use_count(self) -> int:
        """How many calls it has made."""
        return self.tool_uses.total()

    @property
    def token_count(self) -> int:
        """Latest input and cumulative output."""
        return self.latest_input_tokens + self.cumulative_output_tokens

    @property
    def last_activity(self) -> str:
        """What it did last; empty at the beginning."""
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
        """A call waits from now on until somebody allows or refuses it."""
        if not self.waiting:
            self._waiting_since_s = now_s
        self.waiting[call] = tool

    def note_answer(self, call: str, now_s: float) -> None:
        """A call does not wait any more, if it did."""
        if self.waiting.pop(call, None) is not None and not self.waiting:
            self._waited_s += now_s - self._waiting_since_s

    def waited_ms(self, now_s: float) -> int:
        """Return for how long it has waited for permissions; where several calls waited at once, that time counts once."""
        return round((self._waited_s + (now_s - self._waiting_since_s if self.waiting else 0.0)) * 1000)

    def note_change(self, values: Mapping[str, Any]) -> None:
        """Count the lines of a call that has changed a file: what it wrote, and what it put that in the place of."""
        written = values.get("new_string", values.get("content", ""))
        self.lines_added += len(str(written).splitlines())
        self.lines_removed += len(str(values.get("old_string", "")).splitlines())
