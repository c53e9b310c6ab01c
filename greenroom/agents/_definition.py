"""What kind of agent it is: a frozen definition."""

from __future__ import annotations

from typing import Any, Final, final

import attrs

from greenroom.core import UsageError

MAX_TURNS: Final = 200
"""Model requests in one turn unless the definition says otherwise: a loop that never ends costs money."""


@final
@attrs.frozen(kw_only=True)
class AgentDefinition:
    """A kind of agent."""

    name: str = attrs.field()
    system_prompt: str = ""
    tools: tuple[str, ...] | None = None
    """Names of the tools it may use; None for all that the session has."""
    max_turns: int = attrs.field(default=MAX_TURNS)
    """Model requests in one turn (the field's name for it); the turn fails when they are used up."""
    max_tokens: int = 8_192
    """The most that the model may write in one answer."""

    @name.validator
    def _check_name(self, _: Any, value: str) -> None:
        if not value or "/" in value:
            raise UsageError(f"an agent's name is not empty and holds no '/': {value!r}")

    @max_turns.validator
    def _check_max_turns(self, _: Any, value: int) -> None:
        if value < 1:
            raise UsageError(f"max_turns has to be at least 1, not {value!r}")
